package pipeline

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// WebhookSource reads the deliveries that an http trigger took: the body of each is one JSON object, an array of objects, or a line for each object. It also reads rows that come with
// the request for a run.
type WebhookSource struct {
	Records string `yaml:"records,omitempty" json:",omitempty"` // where in a body the objects are: the keys that lead to them, with dots between them, as in data.items; default: the body is one, or an array of them
}

// HTTPTrigger says who may post to a trigger: those who know a secret sign what they send with it.
type HTTPTrigger struct {
	Verify    string    `yaml:"verify" words:"standard github stripe hmac none"`     // how deliveries are signed: as Standard Webhooks say, as GitHub or Stripe do, or as hmac describes; none: not at all, for services on this machine
	Secret    string    `yaml:"secret,omitempty" json:",omitempty" text:"secret"`    // ${secret:NAME}, with which they are signed; it is looked up for each delivery
	Previous  string    `yaml:"previous,omitempty" json:",omitempty" text:"secret"`  // ${secret:NAME} of another secret that counts as well, while the sender changes from one to the other
	Tolerance Duration  `yaml:"tolerance,omitempty" json:",omitempty" range:"1s 1h"` // how far the signed time of a delivery may be from now; default 5m
	HMAC      *HMACRule `yaml:"hmac,omitempty" json:",omitempty"`                    // of verify: hmac, how the signature is made and where it is

	// of an id that the signature does not cover: how long after a body came first it is taken again under another id;
	// default of verify: github 72h
	Window Duration `yaml:"window,omitempty" json:",omitempty" range:"1s 8784h"`
}

// HMACRule describes a signature: the HMAC of the body, or of the time and the body.
type HMACRule struct {
	Header    string `yaml:"header"`                                                             // the header with the signature
	Prefix    string `yaml:"prefix,omitempty" json:",omitempty" text:"exact"`                    // what stands in the header before it, such as sha256=
	Algorithm string `yaml:"algorithm,omitempty" json:",omitempty" words:"sha256 sha384 sha512"` // default sha256
	Encoding  string `yaml:"encoding,omitempty" json:",omitempty" words:"hex base64"`            // default hex
	Timestamp string `yaml:"timestamp,omitempty" json:",omitempty"`                              // the header with the time, in seconds since 1970: then TIME.BODY is signed, and a delivery whose time is too far from now does not count

	// the header with the id of the delivery, which nothing signs: deliveries of one body under two ids are two;
	// without timestamp it needs window
	ID string `yaml:"id,omitempty" json:",omitempty"`
}

// How deliveries are verified. They stand in documents: never rename one.
const (
	VerifyStandard = "standard"
	VerifyGitHub   = "github"
	VerifyStripe   = "stripe"
	VerifyHMAC     = "hmac"
	VerifyNone     = "none"
)

// DefaultTolerance is how far the signed time of a delivery may be from now.
const DefaultTolerance = 5 * time.Minute

// Within returns how far the signed time of a delivery may be from now.
func (t HTTPTrigger) Within() time.Duration {
	return cmp.Or(time.Duration(t.Tolerance), DefaultTolerance)
}

// githubWindow is how long GitHub sends a delivery again.
const githubWindow = 72 * time.Hour

// Unsigned returns the header with the id of a delivery, if there is one and the signature does not cover it; and how
// long after a body came first it is taken again under another id: 0 for always, where the signature covers a time.
func (t HTTPTrigger) Unsigned() (header string, window time.Duration) {
	switch {
	case t.Verify == VerifyGitHub:
		return "X-GitHub-Delivery", cmp.Or(time.Duration(t.Window), githubWindow)
	case t.Verify == VerifyHMAC && t.HMAC != nil && t.HMAC.ID != "":
		return t.HMAC.ID, time.Duration(t.Window)
	}
	return "", 0
}

// LeavesOpen says how deliveries could be doubled or lost, as they are signed; empty if they could not.
func (t HTTPTrigger) LeavesOpen() string {
	header, window := t.Unsigned()
	const twice = "nothing signs the id of a delivery, %s: who gets hold of one can send it again under " +
		"another id, %s, and its rows come twice"
	switch {
	case header != "" && window == 0:
		return fmt.Sprintf(twice, header, "as long as its time counts")
	case header != "":
		return fmt.Sprintf(twice+"; prefer a signature that covers a time", header,
			fmt.Sprintf("for %v after its body came first", window))
	case t.Verify == VerifyHMAC && !t.timed():
		return "nothing tells two deliveries with the same body apart, and the second one is not taken, " +
			"however much later it comes: " +
			"name the header with the id of a delivery, with hmac: {id: …} and window: 24h, or have a time signed"
	}
	return ""
}

// Lengths of the key in a secret. Source: Standard Webhooks, "Signature scheme".
const (
	leastHookKey = 24
	mostHookKey  = 64
)

// CheckSecret says why a secret can verify nothing that is posted to the trigger. The error repeats nothing of it.
func (t HTTPTrigger) CheckSecret(secret string) error {
	if secret == "" {
		return errors.New("the secret is empty")
	}
	if t.Verify != VerifyStandard {
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < leastHookKey || len(key) > mostHookKey {
		return fmt.Errorf("a secret of Standard Webhooks is whsec_ and base64 of %d to %d bytes", leastHookKey, mostHookKey)
	}
	return nil
}

// Secrets returns the names of the secrets that count, at most two.
func (t HTTPTrigger) Secrets() (names []string) {
	for _, reference := range []string{t.Secret, t.Previous} {
		if reference != "" {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(reference, "${secret:"), "}"))
		}
	}
	return names
}
