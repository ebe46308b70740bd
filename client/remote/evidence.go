package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"waymark/audit"
	"waymark/client"
	"waymark/landscape/history"
)

// Disclosures returns who was shown values of rows, the last first, at most limit of them; 0 for all.
func (c *Client) Disclosures(ctx context.Context, limit int) iter.Seq2[client.Disclosure, error] {
	return list[client.Disclosure](ctx, c, "/v1/disclosures", nil, limit)
}

// watchInterval is how often is asked how far a verification is.
const watchInterval = 300 * time.Millisecond

// Verify lets the server compute everything again that is recorded of a run, and returns what it found. progress, if not nil, is called with how far that is. If a verification
// of the run is under way, Verify joins it. If ctx ends, the verification continues at the server.
func (c *Client) Verify(ctx context.Context, run string, progress func(done, total int64)) (*audit.Report, error) {
	at := path("runs", run, "verification")
	v, err := ask[Verification](ctx, c, post(at, run, nil, true))
	for ; err == nil && !v.Ended(); v, err = ask[Verification](ctx, c, get(at, nil)) {
		if progress != nil {
			progress(v.Done, v.Total)
		}
		select {
		case <-ctx.Done():
			return nil, client.UnlessStopped(ctx, ctx.Err())
		case <-time.After(watchInterval):
		}
	}
	if err != nil {
		return nil, err
	}
	if v.State == NotVerified {
		return nil, &client.Error{Kind: client.Failed, Code: client.NotVerified, Run: run, Message: v.Failure}
	}
	return v.Report, nil
}

// Events returns what happened in a run, from its start to its end. It is for the role auditor, and recorded. The error is of code client.EventChainBroken if an event does not follow the one before it.
func (c *Client) Events(ctx context.Context, run string) (events []history.Event, err error) {
	r := get(path("runs", run, "events"), nil)
	err = c.persist(ctx, &r, func(response *http.Response) error {
		text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
		if err != nil {
			return &cutError{error: err}
		}
		read, torn, err := history.Read(bytes.NewReader(text))
		if err == nil && torn {
			err = history.ErrBroken
		}
		if err != nil {
			return &client.Error{Kind: client.Conflict, Code: client.EventChainBroken, Message: fmt.Sprintf("the events of run %s do not follow each other: %v", run, err), Err: err}
		}
		events = read
		return nil
	})
	return events, err
}

// BundleFilter says what is in a bundle of evidence.
type BundleFilter struct {
	Payloads  string   // none, refused, source or all; empty for none
	Artifacts bool     // with the outputs, as they were published
	Redact    []string // SOURCE or SOURCE.FIELD whose values are left out
}

// Bundle writes the bundle of evidence about a run to a writer. What was written is complete only if the error is nil. It is not asked for again when the connection is cut.
func (c *Client) Bundle(ctx context.Context, run string, f BundleFilter, to io.Writer) error {
	query := words("payloads", f.Payloads)
	query["redact"] = f.Redact
	if f.Artifacts {
		query.Set("artifacts", "true")
	}
	return c.download(ctx, path("runs", run, "bundle"), query, to)
}

// Proof writes the proof of one row, without values, to a writer. It is for the role auditor, and recorded.
func (c *Client) Proof(ctx context.Context, run, source string, row int64, to io.Writer) error {
	return c.download(ctx, path("runs", run, "proof"), words("source", source, "row", number(row)), to)
}

// Dossier writes what happened to the row that a question means, with its values and its proof, as one file in HTML, to a writer. It is for the role auditor, and recorded. All and Limit of
// the question do not travel: the error is of kind Invalid if one is set.
func (c *Client) Dossier(ctx context.Context, q audit.Question, to io.Writer) error {
	query, err := questionOf(q)
	if err != nil {
		return err
	}
	return c.download(ctx, path("runs", q.Run, "dossier"), query, to)
}

// WriteReport writes what happened in a run, with its proof, as one file in HTML, to a writer. It is for the role auditor, and recorded.
func (c *Client) WriteReport(ctx context.Context, run string, to io.Writer) error {
	return c.download(ctx, path("runs", run, "report"), nil, to)
}

// Payload writes the bytes of a payload that a run needs to a writer. It is for the role auditor, and recorded.
func (c *Client) Payload(ctx context.Context, run, digest string, to io.Writer) error {
	return c.download(ctx, path("runs", run, "payloads", digest), nil, to)
}

// Output writes the file that a sink of a run published to a writer, and compares it with the digest that the server names.
func (c *Client) Output(ctx context.Context, run, sink string, to io.Writer) error {
	return c.download(ctx, path("runs", run, "outputs", sink), nil, to)
}

// errOtherBytes says that what came is not what was sent.
var errOtherBytes = errors.New("its bytes are not those of the digest that the server named")

// download copies a file to a writer, and compares it with its SHA-256 if the server names that.
func (c *Client) download(ctx context.Context, path string, query url.Values, to io.Writer) error {
	r := get(path, query)
	written := false
	err := c.persist(ctx, &r, func(response *http.Response) error {
		written, r.again = true, false // what is written cannot be taken back
		hash := sha256.New()
		if _, err := io.Copy(io.MultiWriter(to, hash), response.Body); err != nil {
			return fmt.Errorf("%s: the file did not come whole: %w", c, err)
		}
		want, named := strings.CutPrefix(response.Header.Get("ETag"), `"`)
		if want = strings.TrimSuffix(want, `"`); named && len(want) == 2*sha256.Size && want != hex.EncodeToString(hash.Sum(nil)) {
			return fmt.Errorf("%s: %w", c, errOtherBytes)
		}
		return nil
	})
	if _, known := errors.AsType[*client.Error](err); err != nil && written && !known {
		return &client.Error{Kind: client.Unavailable, Code: client.ServerUnavailable, Message: err.Error(), Err: err}
	}
	return err
}
