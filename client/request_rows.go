package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/plugin"
	"waymark/plugin/webhook"
)

// What may come with the request for a run, in all sources together.
const (
	MostRows     = 10_000
	MostRowBytes = 8 << 20
)

// ParseRows returns the rows in a text, for StartRequest.Rows: one JSON value, the elements of a JSON array, or a value on each line. The error is an *Error of kind Invalid that names the
// line which is no JSON.
func ParseRows(text []byte) ([]json.RawMessage, error) {
	rows, err := webhook.Rows(text)
	if err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidRequest, Message: "the rows cannot be read: " + err.Error() + ": give a JSON array of objects, or an object on each line", Err: err}
	}
	return rows, nil
}

// checkRows refuses more rows than may come with a request, and what is no JSON.
func checkRows(of map[string][]json.RawMessage) error {
	count, bytes := 0, 0
	for _, source := range slices.Sorted(maps.Keys(of)) {
		for i, row := range of[source] {
			if !json.Valid(row) {
				return invalid(fmt.Sprintf("row %d of source %s is no JSON", i+1, source))
			}
			bytes += len(row)
		}
		count += len(of[source])
	}
	if count > MostRows || bytes > MostRowBytes {
		return TooLarge(fmt.Sprintf("%d rows of %d bytes", count, bytes))
	}
	return nil
}

// TooLarge is the error for more rows than may come with a request: what says how many there are.
func TooLarge(what string) *Error {
	return &Error{Kind: Invalid, Code: RowsTooLarge, Message: fmt.Sprintf(
		"%s are too many for a request: at most %d rows of %d bytes may come with one. Put them into a bucket, or a file, and let a source of the document read that", what, MostRows, MostRowBytes)}
}

// checkSources refuses rows for sources that take none, and a request with rows that leaves out some, as far as the document is known here: workers check what they compile.
func (s *Session) checkSources(ctx context.Context, r *StartRequest) error {
	if r.Rows == nil {
		return nil
	}
	takes, err := s.sourcesOf(ctx, r)
	if err != nil || takes == nil {
		return err
	}
	for _, source := range slices.Sorted(maps.Keys(r.Rows)) {
		takesRows, is := takes[source]
		switch {
		case !is:
			return invalid(fmt.Sprintf("there is no source %.64q for the rows: the sources are %v", source, slices.Sorted(maps.Keys(takes))))
		case !takesRows:
			return invalid(fmt.Sprintf("source %s takes no rows with a request, which only sources of the format webhook do", source))
		}
	}
	for _, source := range slices.Sorted(maps.Keys(takes)) {
		if _, given := r.Rows[source]; takes[source] && !given {
			return invalid(fmt.Sprintf("no rows are given for source %s, which reads what comes with the request: give an empty array if there are none", source))
		}
	}
	return nil
}

// sourcesOf returns which sources the document of a request has, and whether each takes rows; nil if that is not known here.
func (s *Session) sourcesOf(ctx context.Context, r *StartRequest) (map[string]bool, error) {
	takes := map[string]bool{}
	switch {
	case r.Document != nil && r.Document.Plan != nil:
		for _, i := range r.Document.Plan.Sources() {
			node := &r.Document.Plan.Nodes[i]
			_, takes[node.Name] = node.Source.(plugin.Requestable)
		}
		return takes, nil
	case r.Pipeline == "" || !s.served() && r.Environment == "": // the workers know in which environment they are
		return nil, nil
	}
	name, version, err := landscape.ParseVersion(r.Pipeline)
	if err != nil {
		return nil, nil //nolint:nilerr // the workers may have a file of this name, or say what is wrong
	}
	environment, err := environmentNamed(r.Environment)
	if err != nil {
		return nil, err
	}
	found, err := s.Log.Startable(ctx, environment, name, version)
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	made, err := s.bundleOf(ctx, found.Pipeline, found.Version)
	if err != nil {
		return nil, err
	}
	document := anywhere(made, r.Params)
	if document == nil {
		return nil, nil
	}
	for _, source := range document.Pipeline.Sources {
		takes[source.Name] = source.Value.Webhook != nil
	}
	return takes, nil
}

// keepRows stores the rows of a request. Until all of them are durable, nobody asked for the run. It may be repeated: as long as the request is the same, so is what is stored.
func (s *Session) keepRows(ctx context.Context, r *StartRequest) error {
	if r.Rows == nil {
		return nil
	}
	n, err := s.nextStart(ctx, r.Run)
	if err != nil {
		return err
	}
	payloads, err := s.Payloads(ctx)
	if err != nil {
		return err
	}
	for _, source := range slices.Sorted(maps.Keys(r.Rows)) {
		text := webhook.JoinRows(r.Rows[source])
		digest, err := payloads.Put(ctx, webhook.PackRows(r.Run, source, n, text))
		if err == nil {
			err = failpoint.Hit("request.stored")
		}
		if err != nil {
			return err
		}
		r.kept = append(r.kept, plugin.RequestRows{Source: source, Payload: string(digest), SHA256: sumOf(text), Rows: int64(len(r.Rows[source])), Bytes: int64(len(text))})
	}
	return nil
}

// nextStart returns the number of the start of a run that is open, or would be the next.
func (s *Session) nextStart(ctx context.Context, run string) (int64, error) {
	last, err := s.Log.LastStart(ctx, run)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return 0, nil
	case err == nil && last.Decided != 0:
		return last.Seq + 1, nil
	}
	return last.Seq, err
}

// sumOf returns the SHA-256 of bytes, in lower-case hex.
func sumOf(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}
