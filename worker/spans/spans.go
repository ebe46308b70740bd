// Package spans lets the spans of a process wait on disk while their collector is away. OpenTelemetry's exporters for Go keep them in memory, for a minute.
package spans

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"waymark/internal/defect"
)

const (
	// mostBytes is how much may wait. Then the oldest spans are dropped.
	mostBytes = 64 << 20
	// sendTimeout is how long the collector may take for a batch.
	sendTimeout = 5 * time.Second
	// firstPause and maxPause are how long it is until the next try, of which each takes twice as long as the one before.
	firstPause = time.Second
	maxPause   = time.Minute
)

// Client is a client of a collector that keeps what the collector does not take, and sends it later, oldest first.
type Client struct {
	otlptrace.Client
	folder Folder
	logger *slog.Logger

	mu   sync.Mutex
	away bool          // something waits: what comes waits as well
	wake chan struct{} // has something if something waits
	stop context.CancelFunc
	done chan struct{} // closed when nothing is sent any more
}

// New returns a client that sends with another one.
func New(sends otlptrace.Client, folder Folder, logger *slog.Logger) *Client {
	return &Client{Client: sends, folder: folder, logger: logger, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// Start connects, and begins to send what waits since before.
func (c *Client) Start(ctx context.Context) error {
	if err := c.Client.Start(ctx); err != nil {
		return err
	}
	waits, err := c.folder.Waiting()
	if err != nil {
		return err
	}
	if len(waits.files) > 0 {
		c.wait()
	}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	go defect.Guard("spans", func() { c.deliver(ctx) })()
	return nil
}

// Stop sends nothing more. What waits is sent by the next process.
func (c *Client) Stop(ctx context.Context) error {
	c.stop()
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	return c.Client.Stop(ctx)
}

// UploadTraces sends spans, or lets them wait if something waits, or the collector does not take them. An error says that they are dropped.
func (c *Client) UploadTraces(ctx context.Context, spans []*v1.ResourceSpans) error {
	c.mu.Lock()
	away := c.away
	c.mu.Unlock()
	if !away {
		err := c.send(ctx, spans)
		if err == nil {
			return nil
		}
		c.logger.Warn("spans wait for their collector", "error", err)
	}
	if err := c.keep(spans); err != nil {
		return errors.Join(err, c.folder.drop(count(spans)))
	}
	c.wait()
	return nil
}

// wait says that something waits.
func (c *Client) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = true
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// send sends spans. It leaves half of the time that there is to who then lets them wait.
func (c *Client) send(ctx context.Context, spans []*v1.ResourceSpans) error {
	limit := sendTimeout
	if until, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(until)/2)
	}
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	return c.Client.UploadTraces(ctx, spans)
}

func (c *Client) keep(spans []*v1.ResourceSpans) error {
	data, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: spans})
	if err != nil {
		return err
	}
	return c.folder.keep(data, count(spans))
}

func count(spans []*v1.ResourceSpans) (n int64) {
	for _, of := range spans {
		for _, scope := range of.GetScopeSpans() {
			n += int64(len(scope.GetSpans()))
		}
	}
	return n
}

// deliver sends what waits until ctx ends.
func (c *Client) deliver(ctx context.Context) {
	defer close(c.done)
	pause := firstPause
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		for !c.sendAll(ctx) {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			pause = min(2*pause, maxPause)
		}
		pause = firstPause
	}
}

// sendAll sends what waits, and reports whether nothing waits any more. What the collector does not take although it takes what came later is dropped:
// it would not take it tomorrow.
func (c *Client) sendAll(ctx context.Context) bool {
	waits, err := c.folder.Waiting()
	if err != nil {
		c.logger.Warn("spans that wait cannot be read", "error", err)
		return false
	}
	var refused *file
	for _, f := range waits.files {
		switch err := c.sendFile(ctx, f); {
		case err != nil && (refused != nil || ctx.Err() != nil):
			return false // it is away
		case err != nil:
			refused = &f
		case refused != nil:
			c.logger.Warn("spans are dropped: the collector does not take them", "spans", refused.spans)
			_ = c.folder.lose(*refused)
			refused = nil
		}
	}
	if refused != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if again, err := c.folder.Waiting(); err != nil || len(again.files) > 0 {
		return false
	}
	c.away = false
	return true
}

// sendFile sends the spans of a file, and removes it.
func (c *Client) sendFile(ctx context.Context, f file) error {
	data, err := c.folder.read(f)
	if err != nil {
		return err
	}
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		return c.folder.lose(f) // it was written in part
	}
	if err := c.send(ctx, request.GetResourceSpans()); err != nil {
		return err
	}
	return c.folder.remove(f)
}
