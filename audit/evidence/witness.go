package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence/cosign"
	"waymark/audit/evidence/trust"
	"waymark/landscape"
)

// Witness is an anchor that somebody else runs: it remembers the size and the root of the last head, and cosigns a head that continues that one
// (https://c2sp.org/tlog-witness). The landscape keeps the cosignatures. The text is a URL with the witness's public key: https://HOST/PATH?key=KEY.
type Witness string

// keyParameter is before the key, which is the rest of the URL: a key has a + and may have a /.
const keyParameter = "?key="

func isWitness(anchor string) bool {
	return strings.HasPrefix(anchor, "https://") || strings.HasPrefix(anchor, "http://")
}

// String is the URL, without the key.
func (w Witness) String() string {
	name, _, _ := strings.Cut(string(w), keyParameter)
	return strings.TrimSuffix(name, "/")
}

// Key returns the witness's public key, as name+hash+base64; empty if the text has none.
func (w Witness) Key() string {
	_, key, _ := strings.Cut(string(w), keyParameter)
	if plain, err := url.PathUnescape(key); err == nil {
		return plain
	}
	return key
}

// Trust returns what a policy says of the witness: its name is that of its key.
func (w Witness) Trust() trust.Witness {
	name, _, _ := strings.Cut(w.Key(), "+")
	return trust.Witness{Name: name, Key: w.Key(), URL: w.String()}
}

// parse reads the key, and says what is wrong with the text.
func (w Witness) parse() (*cosign.Verifier, error) {
	at, err := url.Parse(w.String())
	switch {
	case err != nil || at.Host == "" || at.RawQuery != "" || at.Fragment != "" || at.User != nil:
		return nil, fmt.Errorf("%q is not the URL of a witness: write https://HOST/PATH?key=KEY", w.String())
	case at.Scheme == "http" && !local(at.Hostname()):
		return nil, fmt.Errorf("%q: anybody on the way could answer for the witness and stop your runs: write https", w.String())
	}
	by, err := cosign.NewVerifier(w.Key())
	if err != nil {
		return nil, fmt.Errorf("%s: its ?key= says whose cosignatures count, and %.120q: %w", w, w.Key(), err)
	}
	return by, nil
}

// local reports whether a host is this machine.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Begun returns ErrCannotSay.
func (w Witness) Begun(context.Context) (bool, error) { return false, ErrCannotSay }

// direct sends requests to witnesses and authorities. A redirection is an answer as any other that is not what was asked for.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// maxAnswer is how long the answer of a witness may be.
const maxAnswer = 16 << 10

// otherSizeError says which size the last head has that a witness cosigned.
type otherSizeError struct{ size int64 }

func (e *otherSizeError) Error() string { return fmt.Sprintf("its last head has %d entries", e.size) }

// errNoProof says that a witness has a head which a proof does not continue.
var errNoProof = errors.New("the witness has another tree")

// errUnknownKey says that a witness does not know who signed a head.
var errUnknownKey = errors.New("it does not know the key of this head")

// send shows a witness a head, with the proof that it continues the head with the old size, and returns the line of its cosignature. The error is an
// *otherSizeError if its last head does not have that many entries, or is another one of this size; errNoProof if the proof does not convince it; else an
// *UnreachableError.
func (w Witness) send(ctx context.Context, old int64, proof tlog.TreeProof, head Head) (string, error) {
	status, kind, body, err := w.post(ctx, old, proof, head)
	away := func(format string, args ...any) error {
		return &UnreachableError{w.String(), fmt.Errorf(format, args...)}
	}
	switch {
	case err != nil:
		return "", away("%w", err)
	case status == http.StatusOK:
		line, err := w.cosignature(body, head)
		if err != nil {
			return "", away("%w", err)
		}
		return line, nil
	case status == http.StatusConflict && kind == "text/x.tlog.size":
		size, err := cosign.ParseSize(strings.TrimSuffix(body, "\n"))
		if err != nil {
			return "", away("it answered %d: %w", status, err)
		}
		return "", &otherSizeError{size}
	case status == http.StatusUnprocessableEntity, status == http.StatusConflict && old == head.Size: // which need not say the size then
		return "", errNoProof
	case status == http.StatusNotFound:
		return "", away("it does not know this log: its operator needs the line `log` that waymark keys policy prints (%d %.120q)", status, body)
	case status == http.StatusForbidden:
		return "", away("%w: if the log's key was rotated, its operator needs the line `log` that waymark keys policy prints now (%d %.120q)", errUnknownKey, status, body)
	}
	return "", away("it answered %d %.120q", status, body)
}

// post sends a request of tlog-witness, and returns the answer.
func (w Witness) post(ctx context.Context, old int64, proof tlog.TreeProof, head Head) (status int, kind, body string, err error) {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	var b strings.Builder
	fmt.Fprintf(&b, "old %d\n", old)
	for _, hash := range proof {
		fmt.Fprintln(&b, hash)
	}
	b.WriteString("\n" + head.Note)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.String()+"/add-checkpoint", strings.NewReader(b.String()))
	if err != nil {
		return 0, "", "", err
	}
	response, err := direct.Do(request)
	if err != nil {
		return 0, "", "", err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	err = errors.Join(err, response.Body.Close())
	return response.StatusCode, response.Header.Get("Content-Type"), string(text), err
}

// cosignature returns the line of the witness's cosignature under a head among the lines that it answered.
func (w Witness) cosignature(lines string, head Head) (string, error) {
	by, err := w.parse()
	if err != nil {
		return "", err
	}
	n, err := note.Open([]byte(head.Note+lines), note.VerifierList(by))
	if err != nil {
		return "", fmt.Errorf("it answered no cosignature of the key %s: %w", short(w.Key()), err)
	}
	signature, _, _ := by.By(n) // else Open would have found none
	return cosign.Line(signature), nil
}

// ask returns how many entries the last head has that the witness cosigned, which changes nothing there: it shows it a head as if it had that one. The
// error is a *ForkedError if it has another head of this size, else an *UnreachableError.
func (w Witness) ask(ctx context.Context, head Head) (int64, error) {
	_, err := w.send(ctx, head.Size, nil, head)
	other, ok := errors.AsType[*otherSizeError](err)
	switch {
	case err == nil:
		return head.Size, nil
	case ok && other.size == head.Size, errors.Is(err, errNoProof):
		return 0, &ForkedError{head.Size, w.String()}
	case ok:
		return other.size, nil
	}
	return 0, err
}

// agrees compares the size of the witness's last head with the log, and its root if the landscape has the head. Without any signed head nothing can be asked.
func (w Witness) agrees(ctx context.Context, here here) error {
	head, err := lastHead(ctx, here.log, here.by)
	if err != nil || head.Size == 0 {
		return err
	}
	size, err := w.ask(ctx, head.Head)
	switch {
	case err != nil:
		return err
	case size > here.size:
		return here.lacks(ctx, size, w.String())
	}
	return w.askOlder(ctx, here, size, head.Size)
}

// askOlder shows the witness the head of the size that it says it has, if the landscape has it and it is older than the one that it was shown. A witness that
// knows the log's new key may have forgotten the one before: then the proof from that head, which comes with the next one, says whether it agrees.
func (w Witness) askOlder(ctx context.Context, here here, size, shown int64) error {
	if size >= shown {
		return nil
	}
	head, err := signedHead(ctx, here.log, here.by, size)
	if err != nil || head.Size == 0 {
		return err
	}
	_, err = w.ask(ctx, head)
	if errors.Is(err, errUnknownKey) && here.by.at(size).vkey != here.by.last().vkey {
		return nil
	}
	return err
}

// bring shows the witness a head, with the proof from the head that it has, until it cosigns it. The receipt is the line of the cosignature.
func (w Witness) bring(ctx context.Context, log *landscape.Reader, by LogKeys, head Head) (receipt string, err error) {
	old, err := lastAnchored(ctx, log, by, w.String())
	if err != nil || old >= head.Size {
		return "", err
	}
	const tries = 3 // a process whose key was copied may come between
	for range tries {
		var proof tlog.TreeProof
		if old > 0 && old < head.Size {
			if proof, err = (&tree{ctx: ctx, log: log}).proveTree(head, old); err != nil {
				return "", fmt.Errorf("prove that the log continues %d entries: %w", old, err)
			}
		}
		receipt, err = w.send(ctx, old, proof, head)
		other, ok := errors.AsType[*otherSizeError](err)
		switch {
		case errors.Is(err, errNoProof), ok && other.size == old && old == head.Size:
			return "", &ForkedError{old, w.String()}
		case !ok:
			return receipt, err
		case other.size > head.Size:
			return "", &RolledBackError{Here: head.Size, There: other.size, Place: w.String()}
		}
		old = other.size
	}
	return "", &UnreachableError{w.String(), errors.New("it names another size each time")}
}
