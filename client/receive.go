package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"waymark/client/signature"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin/webhook"
)

// A Receipt says that a delivery is recorded.
type Receipt struct {
	Receipt string `json:"receipt"` // the same if it is sent again
	Trigger string `json:"-"`       // at which it came
	New     bool   `json:"-"`       // it was not recorded before
	Other   bool   `json:"-"`       // it was, with another body: that one stays
	Unused  error  `json:"-"`       // why previous, the secret of before, can verify nothing; nil if it can, or if there is none
}

// Post is what somebody posted to a trigger.
type Post struct {
	Trigger string // ENVIRONMENT/PIPELINE/NAME
	Local   bool   // by a process on this machine, for certain: only from there a delivery need not be signed
	Header  http.Header
	// Body returns what was posted. It is called once, and only for a trigger that there is, with headers that could be
	// those of a signature: a stranger sends nothing that has to be held.
	Body func() ([]byte, error)
}

// Receive stores what was posted to a trigger, and records that it came: it is in exactly one complete run then. When it returns, nothing of that is lost, whatever happens. What
// was posted before is not stored again: the receipt is that of the first time. So it may be repeated.
//
// The error is a *signature.RefusedError if the trigger takes no such thing, an *Error of kind Unavailable if it may be
// taken later, and else that of Body.
func (c *Client) Receive(ctx context.Context, p Post) (r Receipt, err error) {
	defer c.edge(ctx, &err)
	row, declared, err := c.httpTrigger(ctx, p.Trigger)
	if err != nil {
		return r, err
	}
	if declared.Verify == pipeline.VerifyNone && !p.Local {
		return r, &signature.RefusedError{Why: "verify: none is for services on this machine: the request came from another one, or through a proxy, or the API listens for others"}
	}
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return r, err
	}
	secrets, unused, err := secretsOf(row.Pipeline, declared, deposit.Planner.Bound)
	if err != nil {
		return r, notReady(err)
	}
	if err := signature.Expect(declared, p.Header, time.Now()); err != nil {
		return r, err
	}
	body, err := p.Body()
	if err != nil {
		return r, err
	}
	key, err := signature.Verify(declared, secrets, signature.Delivery{Header: p.Header, Body: body}, time.Now())
	if _, is := errors.AsType[*signature.RefusedError](err); is && unused != nil {
		err = notReady(unused) // it may be signed with that one
	} else if err != nil && !is {
		err = notReady(err)
	}
	if err != nil {
		return r, err
	}
	if err := readable(p.Header, body); err != nil {
		return r, err
	}
	r = Receipt{Trigger: row.ID, Unused: unused}
	for range 2 { // another process may record the first delivery of the body at this moment
		id, err := c.nameDelivery(ctx, declared, key, &r)
		if err != nil {
			return r, err
		}
		if err := c.receive(ctx, deposit, row, &r, body, id); err != nil || id == "" {
			return r, err
		}
		if first, err := c.log.ArrivalAt(ctx, row.ID, webhook.Scheme+r.Receipt, 0); err != nil {
			return r, err
		} else if is, err := first.DeliveryID(); err != nil || is == id {
			return r, err
		}
	}
	return r, fmt.Errorf("delivery %s to trigger %s: another one took its place twice", r.Receipt, row.ID)
}

// nameDelivery sets the receipt of a delivery. Where the signature does not cover its id, the first delivery of a
// body has the body's receipt, and its id is recorded with it: id is the digest of that. One of the same body under
// another id has a receipt of its own, and is refused if it comes later than the window after the first one.
func (c *Client) nameDelivery(
	ctx context.Context, t pipeline.HTTPTrigger, key signature.Key, r *Receipt,
) (id string, err error) {
	r.Receipt = receiptOf(r.Trigger, key.Signed)
	if key.ID == "" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(key.ID))
	id = hex.EncodeToString(sum[:])
	first, err := c.log.ArrivalAt(ctx, r.Trigger, webhook.Scheme+r.Receipt, 0)
	if errors.Is(err, landscape.ErrNotFound) {
		return id, nil
	}
	if err != nil {
		return "", err
	}
	if is, err := first.DeliveryID(); err != nil || is == id {
		return id, err
	}
	r.Receipt = receiptOf(r.Trigger, key.Signed+"\n"+key.ID)
	if _, err := c.log.ArrivalAt(ctx, r.Trigger, webhook.Scheme+r.Receipt, 0); !errors.Is(err, landscape.ErrNotFound) {
		return "", err
	}
	header, window := t.Unsigned()
	if since := time.Since(first.At.Time()); window > 0 && since > window {
		return "", &signature.RefusedError{Why: fmt.Sprintf("the same body came first %v ago, more than the window "+
			"of %v, and nothing signs its %s: it may be an old delivery that somebody sends again",
			since.Round(time.Second), window, header)}
	}
	return "", nil
}

// readable refuses a delivery of which a run could read nothing: compressed, a form, or in another encoding than UTF-8.
func readable(header http.Header, body []byte) error {
	refuse := func(format string, args ...any) error {
		return &Error{Kind: Invalid, Code: BodyUnreadable, Message: fmt.Sprintf(format, args...)}
	}
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return refuse("the body has the Content-Encoding %.40q, and is read as it is: send it without", encoding)
	}
	kind, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		kind, parameters = "", nil // who names no type sends JSON
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") &&
		!strings.EqualFold(charset, "us-ascii") {
		return refuse("the body is in the charset %.40q: send UTF-8", charset)
	}
	switch {
	case bytes.HasPrefix(body, []byte("\x1f\x8b")):
		return refuse("the body is compressed by gzip, and is read as it is: send it without")
	case !utf8.Valid(body) || bytes.IndexByte(body[:min(2, len(body))], 0) >= 0: // UTF-16 of JSON begins with a 0, or has one next
		return refuse("the body is not in UTF-8: send UTF-8")
	}
	begins := bytes.TrimLeft(body, "\ufeff \t\r\n")
	isJSON := len(begins) == 0 || begins[0] == '{' || begins[0] == '[' // curl calls all that it posts a form
	if form := kind == "application/x-www-form-urlencoded" || strings.HasPrefix(kind, "multipart/"); form && !isJSON {
		return refuse("the body is a form: have it sent as application/json; at GitHub that is the webhook's " +
			"Content type")
	}
	return nil
}

// receive stores a delivery and records it, unless that is recorded, and notes in its receipt which. id is as
// nameDelivery returns it.
func (c *Client) receive(
	ctx context.Context, deposit *Deposit, trigger landscape.Trigger, r *Receipt, body []byte, id string,
) error {
	last, err := c.log.LastArrival(ctx, r.Trigger, webhook.Scheme+r.Receipt)
	if err == nil {
		before, err := last.File()
		r.Other = before.Version != webhook.Delivery(r.Receipt, last.Payload, body).Version
		return err
	}
	if !errors.Is(err, landscape.ErrNotFound) {
		return err
	}
	if err := c.bounded(ctx, trigger, body); err != nil {
		return err
	}
	digest, err := deposit.Payloads.Put(ctx, webhook.Pack(r.Receipt, body))
	if err == nil {
		err = failpoint.Hit("webhook.stored")
	}
	if err != nil {
		return err
	}
	arrival := landscape.NewDelivery(r.Trigger, webhook.Delivery(r.Receipt, string(digest), body), string(digest), id)
	if err = c.log.Receive(ctx, arrival); err == nil {
		err = failpoint.Hit("webhook.recorded")
	}
	r.New = err == nil
	return err
}

// bounded refuses a delivery of more rows than may come with a request: a few bytes can be a row, and each costs much
// more. The document, which says where the rows are, is only read if there can be as many.
func (c *Client) bounded(ctx context.Context, trigger landscape.Trigger, body []byte) error {
	if webhook.AtMost(body) <= MostRows {
		return nil
	}
	declared, err := trigger.Declared()
	if err != nil {
		return err
	}
	b, _, err := c.timetableOf(ctx, trigger.Pipeline, trigger.Version)
	if err != nil {
		return err
	}
	rows := webhook.AtMost(body)
	if doc := anywhere(b, nil); doc != nil {
		if source, there := doc.Pipeline.Sources.Get(declared.Source); there && source.Webhook != nil {
			rows = webhook.Records(body, source.Webhook.Records)
		}
	}
	if rows > MostRows {
		return &Error{Kind: Invalid, Code: RowsTooLarge, Message: fmt.Sprintf(
			"%d rows are too many for a delivery: at most %d may come with one. Send them in several", rows, MostRows)}
	}
	return nil
}

// SignDelivery returns how a body is posted to a trigger: the path, and headers with a signature that is made now, with the trigger's secret. It posts nothing. The delivery is a new one each
// time, if the signature covers an id, or each second if it covers a time.
func (c *Client) SignDelivery(ctx context.Context, trigger string, body []byte) (path string, header http.Header, err error) {
	defer c.edge(ctx, &err)
	row, declared, err := c.httpTrigger(ctx, trigger)
	if refused, is := errors.AsType[*signature.RefusedError](err); is {
		err = &Error{Kind: NotFound, Code: TriggerNotFound, Message: fmt.Sprintf("nobody can post to trigger %s: %s", trigger, refused.Why), Cure: ListTriggers, Err: err}
	}
	if err != nil {
		return "", nil, err
	}
	secret := ""
	if names := declared.Secrets(); len(names) > 0 {
		deposit, err := c.host.Deposit(ctx, false)
		if err != nil {
			return "", nil, err
		}
		if secret, err = deposit.Planner.Bound(row.Pipeline, names[0]); err != nil {
			return "", nil, &Error{Kind: Unavailable, Code: SecretMissing, Message: fmt.Sprintf("secret %s: %v", names[0], err), Err: err}
		}
	}
	header, err = signature.Sign(declared, secret, "msg_"+rand.Text(), body, time.Now())
	return "/in/" + row.ID, header, err
}

// httpTrigger returns a trigger to which others post.
func (c *Client) httpTrigger(ctx context.Context, id string) (row landscape.Trigger, h pipeline.HTTPTrigger, err error) {
	row, err = c.log.Trigger(ctx, id)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && row.Removed() {
		return row, h, &signature.RefusedError{Why: "no deployed pipeline has such a trigger"}
	}
	if err != nil {
		return row, h, err
	}
	declared, err := row.Declared()
	if err == nil && declared.HTTP == nil {
		err = &signature.RefusedError{Why: "nobody posts to the trigger: it has no http"}
	}
	if err != nil {
		return row, h, err
	}
	return row, *declared.HTTP, nil
}

// secretsOf returns the secrets with which a trigger of a pipeline verifies, the current one first. unused says why the
// one of before is not among them; nil if it is, or if there is none.
func secretsOf(
	of string, t pipeline.HTTPTrigger, read func(pipeline, name string) (string, error),
) (secrets []string, unused, err error) {
	for i, name := range t.Secrets() {
		secret, err := read(of, name)
		if err == nil {
			err = t.CheckSecret(secret)
		}
		switch {
		case err == nil:
			secrets = append(secrets, secret)
		case i == 0:
			return nil, nil, fmt.Errorf("secret %s: %w", name, err)
		default:
			unused = fmt.Errorf("secret %s (previous): %w", name, err)
		}
	}
	return secrets, unused, nil
}

// notReady is the error of a trigger that can take nothing until somebody mends it. The sender learns no more: Err is for the log.
func notReady(err error) error {
	return &Error{Kind: Unavailable, Code: SecretMissing, Message: "deliveries cannot be verified at present: the log of the server says why. Send it again later", Err: err}
}

// receiptDigits is how much of a hash is in a receipt: 130 bits.
const receiptDigits = 26

// receiptOf names a delivery. Stored; never change it.
func receiptOf(trigger, key string) string {
	sum := sha256.Sum256([]byte("waymark-receipt-v1\n" + trigger + "\n" + key))
	return "rc_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:receiptDigits]
}
