package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// heartbeat is how often a stream says that it is alive.
const heartbeat = 15 * time.Second

// slowest is how long a client may take for what is sent to it.
const slowest = 30 * time.Second

// An eventStream sends events to a client, as server-sent events.
type eventStream struct {
	call    *call
	control *http.ResponseController
	last    time.Time // when something was sent
}

// stream begins an answer that is a stream.
func (c *call) stream() *eventStream {
	header := c.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	c.sent, c.status = true, http.StatusOK
	c.server.streams.Add(1)
	context.AfterFunc(c.Context(), func() { c.server.streams.Add(-1) })
	s := &eventStream{call: c, control: http.NewResponseController(c.w), last: time.Now()}
	_ = s.control.SetReadDeadline(time.Time{}) // nothing more is read
	_, _ = fmt.Fprint(c.w, "retry: 1000\n\n")
	return s
}

// send sends one event. id is empty for one after which no stream continues.
func (s *eventStream) send(id, event string, data any) error {
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
	_ = s.control.SetWriteDeadline(time.Now().Add(slowest))
	if _, err := fmt.Fprint(s.call.w, text); err != nil {
		return err
	}
	s.last = time.Now()
	return s.control.Flush()
}

// pause waits a moment, and says that the stream is alive. more is false when it has to end: the client has gone, or the process is about to end, which the
// client is told.
func (s *eventStream) pause(wait time.Duration) (more bool, err error) {
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
