package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"waymark/internal/defect"
)

// heartbeat is how often a stream says that it is alive.
const heartbeat = 15 * time.Second

// streamWait is after how many seconds a client that has too many streams may ask for another one.
const streamWait = 5

// An eventStream sends events to a client, as server-sent events.
type eventStream struct {
	call    *call
	control *http.ResponseController
	last    time.Time // when something was sent
}

// mostStreams is how many streams a caller may have open: each costs questions to the record as long as it lasts.
const mostStreams = 50

// following counts the open streams of each caller.
type following struct {
	mu sync.Mutex
	of map[string]int
}

// begin counts one more stream, unless the caller has as many as it may.
func (f *following) begin(caller string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[caller] >= mostStreams {
		return false
	}
	if f.of == nil {
		f.of = map[string]int{}
	}
	f.of[caller]++
	return true
}

func (f *following) end(caller string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[caller]--; f.of[caller] == 0 {
		delete(f.of, caller)
	}
}

// stream begins an answer that is a stream, unless the caller has too many of them.
func (c *call) stream() (*eventStream, error) {
	caller := callerOf(c.token)
	if !c.server.following.begin(caller) {
		return nil, tooFast(streamWait, fmt.Sprintf(
			"%d streams are open with this access token, as many as it may have: end one first", mostStreams))
	}
	context.AfterFunc(c.Context(), defect.Guard("stream", func() { c.server.following.end(caller) }))
	header := c.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	c.sent, c.status = true, http.StatusOK
	c.server.streams.Add(1)
	context.AfterFunc(c.Context(), defect.Guard("stream", func() { c.server.streams.Add(-1) }))
	s := &eventStream{call: c, control: http.NewResponseController(c.w), last: time.Now()}
	_ = s.control.SetReadDeadline(time.Time{}) // nothing more is read
	_, _ = fmt.Fprint(c.w, "retry: 1000\n\n")
	return s, nil
}

// send sends one event, as long as the caller's token counts. id is empty for one after which no stream continues.
func (s *eventStream) send(id, event string, data any) error {
	if err := s.call.counts(); err != nil {
		return err
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return s.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, event, text))
}

func (s *eventStream) write(text string) error {
	if _, err := fmt.Fprint(s.call.w, text); err != nil {
		return err
	}
	s.last = time.Now()
	return s.control.Flush()
}

// pause waits a moment, and says that the stream is alive. more is false when it has to end: the client has gone, its
// token does not count any more, or the process is about to end, which the client is told.
func (s *eventStream) pause(wait time.Duration) (more bool, err error) {
	if s.call.Method == http.MethodHead { // it has all that it asked for
		return false, nil
	}
	if err := s.call.counts(); err != nil {
		return false, err
	}
	if time.Since(s.last) > heartbeat {
		if err := s.write(": alive\n\n"); err != nil {
			return false, err
		}
	} else if err := s.control.Flush(); err != nil {
		return false, err
	}
	select {
	case <-s.call.Context().Done():
		return false, nil
	case <-s.call.server.drained:
		return false, s.send("", "reconnect", struct{}{})
	case <-time.After(wait):
		return true, nil
	}
}
