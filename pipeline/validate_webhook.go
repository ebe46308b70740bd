package pipeline

import (
	"slices"
	"strings"
)

// checkHTTPTrigger reports what is wrong with how deliveries are verified, and keys that only triggers of files have.
func (l *loader) checkHTTPTrigger(path string, t ArrivalTrigger) {
	if t.HTTP == nil {
		return
	}
	l.refuse(path, map[string]bool{"quiet": t.Quiet != 0, "changed": t.Changed != ""},
		"belongs to triggers of files: what is posted is complete, and does not change; delete it")
	at := Key(path, "http")
	h := *t.HTTP
	signed := slices.Contains([]string{VerifyStandard, VerifyGitHub, VerifyStripe, VerifyHMAC}, h.Verify)
	switch {
	case signed && h.Secret == "" && l.sound(Key(at, "secret")):
		l.report(at, "nobody could tell who posts: add secret: \"${secret:NAME}\"")
	case h.Verify == VerifyNone && (h.Secret != "" || h.Previous != ""):
		l.report(at, "verify: none looks at no signature: delete the secret, or say how deliveries are signed")
	case h.Previous != "" && h.Previous == h.Secret:
		l.report(Key(at, "previous"), "is the secret itself: name the one that it replaces, or delete the key")
	}
	if h.Tolerance != 0 && !h.timed() && l.sound(Key(at, "verify")) {
		l.report(Key(at, "tolerance"), "belongs to signatures that cover a time, which those of verify: %s do not: delete it", h.Verify)
	}
	l.checkHMACRule(at, h)
	l.checkWindow(at, h)
}

// checkWindow reports an id that could be another one each time that a stranger sends a delivery again, and a window
// of nothing.
func (l *loader) checkWindow(at string, t HTTPTrigger) {
	header, _ := t.Unsigned()
	switch {
	case t.Window != 0 && header == "" && l.sound(Key(at, "verify")):
		l.report(Key(at, "window"), "belongs to an id that the signature does not cover: name its header with "+
			"hmac: {id: …}, or delete it")
	case t.Window == 0 && t.Verify == VerifyHMAC && header != "" && !t.timed():
		l.report(at, "the signature covers no id and no time: who gets hold of a delivery could send it again for "+
			"ever, under another %s. "+
			"Add window: 24h, after which its body is not taken again, or hmac: {timestamp: …}", header)
	}
}

// timed reports whether the signatures cover a time.
func (t HTTPTrigger) timed() bool {
	return t.Verify == VerifyStandard || t.Verify == VerifyStripe || t.HMAC != nil && t.HMAC.Timestamp != ""
}

// checkHMACRule reports a description of signatures that is missing, superfluous or names no header.
func (l *loader) checkHMACRule(at string, t HTTPTrigger) {
	switch {
	case t.HMAC == nil && t.Verify == VerifyHMAC && l.sound(Key(at, "hmac")):
		l.report(at, "verify: hmac needs to know where the signature is: add hmac: {header: X-Signature}")
	case t.HMAC != nil && t.Verify != VerifyHMAC && l.sound(Key(at, "verify")):
		l.report(Key(at, "hmac"), "belongs to verify: hmac: delete one of the two")
	}
	if t.HMAC == nil {
		return
	}
	for key, header := range map[string]string{"header": t.HMAC.Header, "timestamp": t.HMAC.Timestamp,
		"id": t.HMAC.ID} {
		if header != "" && !headerName.MatchString(header) {
			l.report(Key(Key(at, "hmac"), key), "%s is not the name of a header", quote(header))
		}
	}
}

// checkWebhookSource reports a path to the records that leads nowhere.
func (l *loader) checkWebhookSource(at string, source WebhookSource) {
	if source.Records != "" && slices.Contains(strings.Split(source.Records, "."), "") {
		l.report(Key(at, "records"), "has an empty key: write the keys with one dot between them, as in data.items")
	}
}
