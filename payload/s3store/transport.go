package s3store

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"waymark/internal/defect"
)

const (
	// maxSilence is how long a server may neither take nor give a byte.
	maxSilence = time.Minute

	idleConnections = 64
	bufferBytes     = 64 << 10
)

// errSilent says that the server stopped answering in the middle of a request.
var errSilent = errors.New("the server neither took nor gave a byte for a minute")

// transport is the HTTP client under the SDK. It gives up requests on which nothing moves, however long the others take.
type transport struct {
	base    http.RoundTripper
	silence time.Duration
	close   func() // closes idle connections
}

// way lets a test stand between a Store and its server. The zero value changes nothing.
type way func(http.RoundTripper) http.RoundTripper

func newTransport(base *http.Transport, way way) *transport {
	base.MaxIdleConnsPerHost = idleConnections
	base.WriteBufferSize, base.ReadBufferSize = bufferBytes, bufferBytes
	t := &transport{base: base, silence: maxSilence, close: base.CloseIdleConnections}
	if way != nil {
		t.base = way(base)
	}
	return t
}

// Do sends a request. It does not follow redirects: where a bucket is said to be elsewhere, a person must look.
func (t *transport) Do(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	w := &watch{ctx: ctx, cancel: cancel, silence: t.silence}
	w.timer = time.AfterFunc(t.silence, defect.Guard("payloads", func() { cancel(errSilent) }))
	request = request.Clone(ctx)
	if request.Body != nil && request.Body != http.NoBody {
		request.Body = &watched{ReadCloser: request.Body, watch: w}
	}
	response, err := t.base.RoundTrip(request)
	if err != nil {
		defer w.end()
		return nil, w.explain(err)
	}
	response.Body = &watched{ReadCloser: response.Body, watch: w, last: true}
	return response, nil
}

// watch ends a request on which nothing moves.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
}

// explain puts the reason for which the watch ended a request in the place of what the request ended with.
func (w *watch) explain(err error) error {
	if err != nil && errors.Is(context.Cause(w.ctx), errSilent) {
		return errSilent
	}
	return err
}

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// watched is a body that tells the watch when it moves. The last one of a request ends the watch when it is closed.
type watched struct {
	io.ReadCloser
	watch *watch
	last  bool
}

func (b *watched) Read(p []byte) (int, error) {
	b.watch.timer.Reset(b.watch.silence)
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *watched) Close() error {
	if b.last {
		defer b.watch.end()
	}
	return b.ReadCloser.Close()
}
