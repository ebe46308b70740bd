// Package signature verifies what other services post: who sent it, when, and which delivery it is; and signs as they
// do.
package signature

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"

	"waymark/pipeline"
)

// RefusedError says why a delivery does not count. The reason is for the receiver: the sender learns only that it was refused.
type RefusedError struct{ Why string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Why }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// A Delivery is what somebody posted.
type Delivery struct {
	Header http.Header
	Body   []byte
}

// A Key tells deliveries apart: two with the same key are one delivery that was sent twice.
type Key struct {
	Signed string // made of an id that the signature covers, or else of what was signed
	ID     string // that the signature does not cover; empty if there is none, or none that counts
}

// Verify returns the key of a delivery.
// The delivery must be signed with one of the secrets, and if its signature covers a time, that must be near now; else the error is a *RefusedError. Any other error says why
// a secret can verify nothing. Errors repeat nothing of a secret.
func Verify(t pipeline.HTTPTrigger, secrets []string, d Delivery, now time.Time) (key Key, err error) {
	for _, secret := range secrets {
		if err := t.CheckSecret(secret); err != nil {
			return Key{}, err
		}
	}
	c := check{t, secrets, d, now}
	if err := c.expected(); err != nil {
		return Key{}, err
	}
	switch t.Verify {
	case pipeline.VerifyStandard:
		key.Signed, err = c.standard()
	case pipeline.VerifyGitHub:
		key.Signed, err = c.github()
	case pipeline.VerifyStripe:
		key.Signed, err = c.stripe()
	case pipeline.VerifyHMAC:
		key.Signed, err = c.described()
	case pipeline.VerifyNone:
		key.Signed = unsigned(d.Header.Get(standardID), d.Body)
	default:
		err = fmt.Errorf("verify: %q is not known to this version", t.Verify)
	}
	if err != nil {
		return Key{}, err
	}
	key.ID = c.unsignedID()
	return key, nil
}

// unsignedID returns the id of the delivery that the signature does not cover.
func (c check) unsignedID() string {
	header, _ := c.Unsigned()
	return c.Header.Get(header)
}

// Expect refuses headers with which no body counts: without a signature, or from another time. It needs no secret. The
// error is a *RefusedError.
func Expect(t pipeline.HTTPTrigger, header http.Header, now time.Time) error {
	return check{HTTPTrigger: t, Delivery: Delivery{Header: header}, now: now}.expected()
}

// check is one delivery that is verified.
type check struct {
	pipeline.HTTPTrigger

	secrets []string
	Delivery
	now time.Time
}

// mostIDBytes is how long an id of a delivery may be.
const mostIDBytes = 256

// expected refuses headers with which no body counts.
func (c check) expected() error {
	var seconds string
	var there bool
	switch c.Verify {
	case pipeline.VerifyStandard: // what is signed is ID.TIME.BODY: an id with a dot could be cut elsewhere
		var id, signatures string
		id, seconds, signatures = c.standardHeaders()
		if id == "" || len(id) > mostIDBytes || strings.Contains(id, ".") {
			return refused("%s is missing, too long or has a dot", standardID)
		}
		there = signatures != ""
	case pipeline.VerifyStripe:
		var signatures [][]byte
		seconds, signatures = c.stripeParts()
		there = signatures != nil
	case pipeline.VerifyGitHub:
		return present(c.githubSignature())
	case pipeline.VerifyHMAC:
		if id := c.unsignedID(); c.HMAC.ID != "" && (id == "" || len(id) > mostIDBytes) {
			return refused("the header %s with the id of the delivery is missing, or has more than %d bytes",
				c.HMAC.ID, mostIDBytes)
		}
		if c.HMAC.Timestamp == "" {
			return present(c.describedSignature())
		}
		seconds, there = c.Header.Get(c.HMAC.Timestamp), c.describedSignature() != nil
	default:
		return nil
	}
	if err := c.near(seconds); err != nil || there {
		return err
	}
	return errUnsigned
}

// present refuses a delivery without a signature.
func present(signatures [][]byte) error {
	if signatures == nil {
		return errUnsigned
	}
	return nil
}

// standard verifies as Standard Webhooks say.
func (c check) standard() (string, error) {
	id, seconds, signatures := c.standardHeaders()
	for _, secret := range c.secrets {
		want, err := standardSignature(secret, id, seconds, c.Body)
		if err != nil {
			return "", err
		}
		for signature := range strings.SplitSeq(signatures, " ") {
			if hmac.Equal([]byte(signature), []byte(want)) {
				return "id:" + id, nil
			}
		}
	}
	return "", errUnsigned
}

// standardSignature returns the signature of a delivery by Standard Webhooks, version 1.
func standardSignature(secret, id, seconds string, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return "", err
	}
	signed := timed(id+"."+seconds, body)
	return "v1," + base64.StdEncoding.EncodeToString(sum(sha256.New, string(key), signed)), nil
}

// Headers of Standard Webhooks. The last one has signatures with a space between them.
const (
	standardID         = "webhook-id"
	standardTimestamp  = "webhook-timestamp"
	standardSignatures = "webhook-signature"
)

// standardHeaders returns what the headers of Standard Webhooks have, or those of the same scheme at Svix, from which the
// standard comes. Source: https://docs.svix.com/receiving/verifying-payloads/how-manual
func (c check) standardHeaders() (id, seconds, signatures string) {
	if c.Header.Get(standardID) == "" {
		return c.Header.Get("svix-id"), c.Header.Get("svix-timestamp"), c.Header.Get("svix-signature")
	}
	return c.Header.Get(standardID), c.Header.Get(standardTimestamp), c.Header.Get(standardSignatures)
}

// Headers of those who do not follow Standard Webhooks, and what a signature of GitHub begins with.
const (
	githubSignature = "X-Hub-Signature-256"
	githubPrefix    = "sha256="
	githubDelivery  = "X-GitHub-Delivery"
	stripeSignature = "Stripe-Signature"
)

// errUnsigned is of a delivery that nobody signed who knows a secret.
var errUnsigned = refused("no signature is made with a secret of the trigger")

// farSeconds is a time, in seconds since 1970, that is in the year 5138; in milliseconds it was in 1973.
const farSeconds = 1e11

// near refuses a time, in seconds since 1970, that is too far from now.
func (c check) near(seconds string) error {
	number, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != seconds {
		return refused("the time of the delivery is missing, or no number of seconds")
	}
	if number > farSeconds {
		return refused("the time of the delivery is thousands of years from now: it must be in seconds, not in milliseconds")
	}
	if off := c.now.Sub(time.Unix(number, 0)).Abs(); off > c.Within() {
		return refused("the time of the delivery is %v from now, more than %v", off.Round(time.Second), c.Within())
	}
	return nil
}

// github verifies the header X-Hub-Signature-256. The id of a delivery is in a header that nothing signs.
func (c check) github() (string, error) {
	if !c.signed(sha256.New, c.Body, c.githubSignature()) {
		return "", errUnsigned
	}
	return unsigned("", c.Body), nil
}

func (c check) githubSignature() [][]byte {
	return c.decoded(c.Header.Get(githubSignature), githubPrefix, "hex")
}

// stripeParts returns what the header Stripe-Signature has: a time and signatures.
func (c check) stripeParts() (seconds string, signatures [][]byte) {
	for part := range strings.SplitSeq(c.Header.Get(stripeSignature), ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "t":
			seconds = value
		case "v1":
			signatures = append(signatures, c.decoded(value, "", "hex")...)
		}
	}
	return seconds, signatures
}

// stripe verifies the header Stripe-Signature. Events have ids in their bodies.
func (c check) stripe() (string, error) {
	seconds, signatures := c.stripeParts()
	if !c.signed(sha256.New, timed(seconds, c.Body), signatures) {
		return "", errUnsigned
	}
	if id := eventID(c.Body); id != "" && len(id) <= mostIDBytes {
		return "event:" + id, nil
	}
	return unsigned("", timed(seconds, c.Body)), nil
}

// eventID returns the id of an event; empty if it has none. One that is no text stands behind a character that no text of an id begins with, so that 7 and "7" are two.
func eventID(body []byte) string {
	body = bytes.TrimPrefix(body, []byte("\ufeff")) // a byte order mark, which the run skips too
	var event struct{ ID any }
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if !json.Valid(body) || decoder.Decode(&event) != nil || event.ID == nil {
		return ""
	}
	if id, is := event.ID.(string); is {
		return id
	}
	id, err := json.Marshal(event.ID)
	if err != nil {
		return ""
	}
	return "\x00" + string(id)
}

// described verifies a signature as the document describes it.
func (c check) described() (string, error) {
	rule, signed := c.HMAC, c.Body
	if rule.Timestamp != "" {
		signed = timed(c.Header.Get(rule.Timestamp), c.Body)
	}
	if !c.signed(algorithms[cmp.Or(rule.Algorithm, "sha256")], signed, c.describedSignature()) {
		return "", errUnsigned
	}
	if rule.ID != "" {
		signed = c.Body // a sender that tries again signs another time
	}
	return unsigned("", signed), nil
}

func (c check) describedSignature() [][]byte {
	return c.decoded(c.Header.Get(c.HMAC.Header), c.HMAC.Prefix, cmp.Or(c.HMAC.Encoding, "hex"))
}

// algorithms are those that a document may name.
var algorithms = map[string]func() hash.Hash{"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}

// timed is what is signed of a body and its time.
func timed(seconds string, body []byte) []byte {
	return bytes.Join([][]byte{[]byte(seconds), body}, []byte("."))
}

// decoded returns the signature in a header; nil if there is none that could be one.
func (check) decoded(value, prefix, encoding string) [][]byte {
	text, has := strings.CutPrefix(value, prefix)
	decode := hex.DecodeString
	if encoding == "base64" {
		decode = base64.StdEncoding.DecodeString
	}
	signature, err := decode(text)
	if !has || err != nil || len(signature) == 0 {
		return nil
	}
	return [][]byte{signature}
}

// signed reports whether one of the signatures is that of the text, with one of the secrets.
func (c check) signed(algorithm func() hash.Hash, text []byte, signatures [][]byte) (is bool) {
	for _, secret := range c.secrets {
		want := sum(algorithm, secret, text)
		for _, signature := range signatures {
			is = hmac.Equal(signature, want) || is
		}
	}
	return is
}

// unsigned is the key of a delivery whose signature covers no id: its hash, with the id that it has otherwise.
func unsigned(id string, signed []byte) string {
	if len(id) > mostIDBytes {
		id = ""
	}
	sum := sha256.Sum256(signed)
	return "sha256:" + hex.EncodeToString(sum[:]) + ":" + id
}
