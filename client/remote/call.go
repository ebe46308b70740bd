package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"waymark/client"
)

// mostAnswer is how many bytes an answer may have.
const mostAnswer = 1 << 30

// mostProblem is how many bytes of a problem are read.
const mostProblem = 1 << 20

// How long is waited before a request is sent again.
const (
	firstPause = 100 * time.Millisecond
	mostPause  = 2 * time.Second
)

// A request is one thing that is asked of the server.
type request struct {
	method string
	path   string // below the address of the server, escaped
	query  url.Values
	header http.Header
	body   any    // nil for none
	again  bool   // it may be sent again although the server may have obeyed it
	run    string // that it is about, for what is said when it fails; empty for none

	took func(http.Header) // is called with the header of the answer; may be nil
}

// get is a request that reads.
func get(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, query: query, again: true}
}

// post is a request that changes something.
func post(path, run string, body any, again bool) request {
	return request{method: http.MethodPost, path: path, body: body, again: again, run: run}
}

// path joins escaped words to a path of the API.
func path(words ...string) string {
	escaped := "/v1"
	for _, word := range words {
		escaped += "/" + url.PathEscape(word)
	}
	return escaped
}

// ask sends a request and decodes the answer.
func ask[T any](ctx context.Context, c *Client, r request) (answer T, err error) {
	err = c.persist(ctx, &r, func(response *http.Response) error {
		if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" {
			return notOurs(c)
		}
		text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
		if err != nil {
			return &cutError{error: err}
		}
		if r.took != nil {
			r.took(response.Header)
		}
		answer = *new(T)
		if json.Unmarshal(text, &answer) != nil {
			return notOurs(c)
		}
		return nil
	})
	return answer, err
}

// notOurs is the error for an answer that no server of this program gives.
func notOurs(c *Client) error {
	return &client.Error{Kind: client.Failed, Code: client.ForeignAnswer, Message: fmt.Sprintf("%s does not answer as the API of waymark serve does: is the address right?", c)}
}

// cutError says that a connection broke while an answer came.
type cutError struct {
	error
	heard bool // a line of a stream had come: the server is there
	alive bool // an event of a stream had come
}

// persist sends a request until take has taken its answer, as often as that may be done, and no longer than the Client is patient.
func (c *Client) persist(ctx context.Context, r *request, take func(*http.Response) error) error {
	until := time.Now().Add(c.patience)
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		again, after, err := c.once(ctx, r, take)
		if err == nil || ctx.Err() != nil {
			return stopped(ctx, err)
		}
		if cut, ok := errors.AsType[*cutError](err); ok && cut.heard {
			until = time.Now().Add(c.patience)
			if cut.alive {
				pause = firstPause
			}
		}
		wait := max(after, pause/2+rand.N(pause)/2) //nolint:gosec // it keeps clients from coming at once, and no secret
		if !again || time.Now().Add(wait).After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return stopped(ctx, err)
		case <-time.After(wait):
		}
	}
}

// stopped returns err, unless ctx has ended before the server said anything: then the error is of kind Interrupted.
func stopped(ctx context.Context, err error) error {
	if _, answered := errors.AsType[*Problem](err); err == nil || answered {
		return err
	}
	return client.UnlessStopped(ctx, errors.Join(ctx.Err(), err))
}

// once sends a request once. again says that it may be sent again, not before the time after.
func (c *Client) once(ctx context.Context, r *request, take func(*http.Response) error) (again bool, after time.Duration, err error) {
	response, err := c.send(ctx, r)
	if err != nil {
		return !lasting(err) && (r.again || unsent(err)), 0, c.lost(r, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		after, err := c.refusal(response)
		return c.mayRepeat(r, err, after), after, err
	}
	err = take(response)
	if cut, ok := errors.AsType[*cutError](err); ok {
		return r.again, 0, c.lost(r, cut)
	}
	return false, 0, err
}

// send sends a request and returns the beginning of its answer.
func (c *Client) send(ctx context.Context, r *request) (*http.Response, error) {
	address := c.base.String() + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		text, err := encode(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		sent.Header[name] = values
	}
	sent.Header.Set("Authorization", "Bearer "+c.token)
	if r.body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(sent)
}

// encode returns the JSON of a body. Rows stay the bytes that they are, which encoding/json would change.
func encode(body any) ([]byte, error) {
	start, is := body.(StartRequest)
	if !is || start.Rows == nil {
		return json.Marshal(body)
	}
	rows := start.Rows
	start.Rows = nil
	text, err := json.Marshal(start)
	if err != nil {
		return nil, err
	}
	text = append(text[:len(text)-1], `,"rows":{`...)
	for i, source := range slices.Sorted(maps.Keys(rows)) {
		name, err := json.Marshal(source)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, name...), ":["...)
		text = append(append(text, bytes.Join(raws(rows[source]), []byte{','})...), ']')
	}
	return append(text, "}}"...), nil
}

func raws(rows []json.RawMessage) [][]byte {
	texts := make([][]byte, len(rows))
	for i, row := range rows {
		texts[i] = row
	}
	return texts
}

// unsent reports whether the server cannot have got a request.
func unsent(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// lasting reports whether no later request gets further.
func lasting(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted || errors.Is(err, errNotHere) || errors.Is(err, http.ErrSchemeMismatch)
}

// lost is the error for a request that has no answer.
func (c *Client) lost(r *request, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address, which has what was asked
	}
	switch {
	case errors.Is(err, errNotHere):
		return invalid("%s: %v: write https://", c, errNotHere)
	case lasting(err):
		return &client.Error{Kind: client.Unavailable, Code: client.ServerUnavailable, Message: fmt.Sprintf("%s cannot be asked: %v", c, err), Err: err}
	case r.again || unsent(err):
		return &client.Error{Kind: client.Unavailable, Code: client.ServerUnavailable, Message: fmt.Sprintf("%s does not answer: %v", c, err), Err: err}
	}
	lost := &client.Error{
		Kind: client.Unavailable, Code: client.AnswerLost, Run: r.run, Err: err,
		Message: fmt.Sprintf("the answer of %s was lost (%v), and nobody knows here whether it did what was asked", c, err),
	}
	if r.run != "" {
		lost.Cure = client.ShowStatus
	}
	return lost
}

// mayRepeat reports whether a request that was refused may be sent again. One that waits for a run to begin, which may take hours, is not.
func (c *Client) mayRepeat(r *request, err error, after time.Duration) bool {
	known, _ := errors.AsType[*client.Error](err)
	problem, _ := errors.AsType[*Problem](err)
	switch {
	case known == nil || problem == nil || known.Code == client.RunWaiting:
		return false
	case known.Kind == client.NotFound: // a cluster has a run on record when a worker comes for it
		_, fresh := c.fresh.Load(r.run)
		return fresh && r.method == http.MethodGet
	case problem.Status == http.StatusTooManyRequests: // nothing was done
		return true
	case known.Kind == client.Busy: // somebody is about to record the run that is asked for
		return r.again && r.body != nil && after > 0
	}
	return r.again && known.Kind == client.Unavailable
}

// refusal reads an answer that says why something was not done, and before when it makes no sense to ask again.
func (c *Client) refusal(response *http.Response) (time.Duration, error) {
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	after := time.Duration(max(seconds, 0)) * time.Second
	if response.StatusCode < http.StatusBadRequest {
		return after, invalid("%s sends requests on to %.200q: name the address of the server itself", c, response.Header.Get("Location"))
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostProblem))
	problem := &Problem{}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case kind == "application/problem+json" && json.Unmarshal(text, problem) == nil && problem.Code != "":
		problem.Status, problem.After = response.StatusCode, seconds
		return after, problem.failure()
	case KindOf(response.StatusCode) == client.Unavailable: // a proxy in front of it
		message := fmt.Sprintf("%s does not answer: %s", c, response.Status)
		return after, &client.Error{Kind: client.Unavailable, Code: client.ServerUnavailable, Message: message, Err: &Problem{Status: response.StatusCode}}
	}
	return after, notOurs(c)
}
