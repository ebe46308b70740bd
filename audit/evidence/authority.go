package evidence

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/digitorus/pkcs7"
	"github.com/digitorus/timestamp"

	"waymark/landscape"
)

// Authority is an anchor that keeps nothing: a time-stamping authority (RFC 3161) signs the hash of a head and the time. The landscape keeps the stamps.
// A stamp covers all entries before its head, so a new one renews the evidence of every run.
type Authority struct {
	url, roots string        // where it answers; the file with the certificates that count, as PEM
	every      time.Duration // the shortest time between two stamps
}

const (
	authorityScheme = "tsa:"
	hourly          = time.Hour
	maxStamp        = 64 << 10
)

// errNotDue says that a place wants no head yet.
var errNotDue = errors.New("the last one is not old enough")

// parseAuthority returns the anchor with this text, tsa:URL?roots=FILE or tsa:URL?roots=FILE&every=1h.
func parseAuthority(anchor string) (Authority, error) {
	address, query, _ := strings.Cut(strings.TrimPrefix(anchor, authorityScheme), "?")
	a := Authority{url: address, every: hourly}
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, fmt.Errorf("%s: %w", anchor, err)
	}
	for name := range values {
		switch name {
		case "roots":
			a.roots = values.Get(name)
		case "every":
			if a.every, err = time.ParseDuration(values.Get(name)); err != nil || a.every < 0 {
				return a, fmt.Errorf("%s: every=%s is not a length of time, such as 1h, or 0s for each head", a, values.Get(name))
			}
		default:
			return a, fmt.Errorf("%s: unknown parameter %q: roots and every are all", a, name)
		}
	}
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.Fragment != "":
		return a, fmt.Errorf("%q is not the URL of a time-stamping authority: write tsa:https://HOST/PATH?roots=FILE", address)
	case a.roots == "":
		return a, fmt.Errorf("%s: ?roots=FILE says whose stamps count: a file with certificates of authorities, as PEM", a)
	}
	return a, nil
}

// String is the URL without the parameters.
func (a Authority) String() string { return authorityScheme + a.url }

// whole returns the text with the whole path of the certificates.
func (a Authority) whole() (string, error) {
	path, err := filepath.Abs(a.roots)
	return a.String() + "?" + url.Values{"roots": {path}, "every": {a.every.String()}}.Encode(), err
}

// pool returns the certificates that count.
func (a Authority) pool() (*x509.CertPool, error) {
	text, err := os.ReadFile(a.roots)
	if err != nil {
		return nil, fmt.Errorf("%s: roots: %w", a, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %s has no certificates in the form PEM", a, a.roots)
	}
	return pool, nil
}

// Begun returns ErrCannotSay.
func (a Authority) Begun(context.Context) (bool, error) { return false, ErrCannotSay }

// agrees has nothing to compare: an authority remembers nothing.
func (a Authority) agrees(context.Context, here) error { return nil }

// bring has a head stamped. The receipt is the stamp, a TimeStampToken of RFC 3161, in base64. The error is errNotDue if the last stamp is too young.
func (a Authority) bring(ctx context.Context, log *landscape.Reader, by LogKeys, head Head) (receipt string, err error) {
	kept, err := landscape.Select[landscape.Anchored](ctx, log, a.String())
	if err != nil {
		return "", err
	}
	for _, k := range kept {
		there := k.Size >= head.Size
		if !there && time.Since(k.At.Time()) >= a.every {
			continue
		}
		stamped, err := a.stamped(ctx, log, by, k)
		switch {
		case err != nil:
			return "", err
		case !stamped && k.Size == head.Size: // a forged receipt has the place of this size: the next head gets the stamp
			return "", errNotDue
		case !stamped:
		case there:
			return "", nil
		default:
			return "", errNotDue
		}
	}
	stamp, err := a.stamp(ctx, head)
	if err != nil {
		return "", &UnreachableError{a.String(), err}
	}
	return base64.StdEncoding.EncodeToString(stamp), nil
}

// stamped reports whether what is noted as a stamp under a head is one.
func (a Authority) stamped(ctx context.Context, log *landscape.Reader, by LogKeys, k landscape.Anchored) (bool, error) {
	roots, err := a.pool()
	if err != nil {
		return false, err
	}
	head, err := signedHead(ctx, log, by, k.Size)
	if err != nil || head.Size == 0 {
		return false, err
	}
	token, wrong := base64.StdEncoding.DecodeString(k.Receipt)
	if wrong == nil {
		_, wrong = openStamp(token, head, roots)
	}
	return wrong == nil, nil
}

// stamp asks for the stamp of a head, and returns it if it is good.
func (a Authority) stamp(ctx context.Context, head Head) ([]byte, error) {
	roots, err := a.pool()
	if err != nil {
		return nil, err
	}
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(head.Note))
	query, err := (&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: digest[:], Certificates: true, Nonce: nonce}).Marshal()
	if err != nil {
		return nil, err
	}
	reply, err := a.post(ctx, query)
	if err != nil {
		return nil, err
	}
	answered, err := parseStamp(func() (*timestamp.Timestamp, error) { return timestamp.ParseResponse(reply) })
	if err != nil {
		return nil, fmt.Errorf("its answer: %w", err)
	}
	if answered.Nonce == nil || answered.Nonce.Cmp(nonce) != 0 {
		return nil, errors.New("its answer is one to another question")
	}
	_, err = openStamp(answered.RawToken, head, roots)
	return answered.RawToken, err
}

// post sends a question to the authority, and returns the answer.
func (a Authority) post(ctx context.Context, query []byte) ([]byte, error) {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(query))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/timestamp-query")
	response, err := direct.Do(request)
	if err != nil {
		return nil, err
	}
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxStamp))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || kind != "application/timestamp-reply" {
		return nil, fmt.Errorf("it answered %d with %.120q, which is no stamp", response.StatusCode, kind)
	}
	return reply, nil
}

// openStamp returns the time in a stamp of a head, if one of the roots answers for who signed it.
func openStamp(token []byte, head Head, roots *x509.CertPool) (at time.Time, err error) {
	stamp, err := parseStamp(func() (*timestamp.Timestamp, error) { return timestamp.Parse(token) })
	if err != nil {
		return at, err
	}
	digest := sha256.Sum256([]byte(head.Note))
	if stamp.HashAlgorithm != crypto.SHA256 || !bytes.Equal(stamp.HashedMessage, digest[:]) {
		return at, errors.New("it is the stamp of something else")
	}
	signed, err := pkcs7.Parse(token)
	if err != nil {
		return at, err
	}
	others := x509.NewCertPool()
	for _, certificate := range signed.Certificates {
		others.AddCert(certificate)
	}
	err = signed.VerifyWithOpts(x509.VerifyOptions{
		Roots: roots, Intermediates: others, CurrentTime: stamp.Time, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	})
	return stamp.Time, err
}

// parseStamp reads what a stranger may have made. The library that does so is not proof against all of it.
func parseStamp(parse func() (*timestamp.Timestamp, error)) (stamp *timestamp.Timestamp, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = errors.New("it is not a stamp")
		}
	}()
	return parse()
}

// check verifies the stamps that the landscape keeps.
func (a Authority) check(ctx context.Context, c *checker, said int64) error {
	kept, err := landscape.Select[landscape.Anchored](ctx, c.log, a.String())
	if err != nil {
		return err
	}
	roots, err := a.pool()
	if err != nil {
		return err
	}
	anchor := Anchor{Anchor: a.String()}
	for _, k := range kept {
		if !c.heads[k.Size] { // compareSaid says so
			continue
		}
		head, err := signedHead(ctx, c.log, c.ring.log, k.Size)
		if err != nil {
			return err
		}
		token, wrong := base64.StdEncoding.DecodeString(k.Receipt)
		var at time.Time
		if wrong == nil {
			at, wrong = openStamp(token, head, roots)
		}
		switch {
		case wrong != nil:
			c.problem("log_anchors", "the stamp of %s under the head of %d entries does not verify: %v",
				a, k.Size, wrong)
		case k.Size > anchor.Entries:
			anchor.Entries, anchor.Stamped = k.Size, at.UTC()
		}
	}
	c.Anchors = append(c.Anchors, anchor)
	return nil
}

// grace is how long entries wait at an anchor as a matter of course.
func grace(at Place) time.Duration {
	if a, ok := at.(Authority); ok {
		return a.every
	}
	return 0
}
