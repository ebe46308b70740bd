package remote

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"waymark/client"
	"waymark/internal/defect"
	"waymark/landscape"
)

// silence is after how long a stream is taken for cut in which nothing comes: a server says every 15 seconds that it is alive.
const silence = 45 * time.Second

// mostLine is how many bytes a line of a stream may have.
const mostLine = 16 << 20

// An Event of a run that is followed.
type Event struct {
	Progress landscape.Progress // how far the run is
	Ended    *client.RunReport  // of the last event: how it ended, or why it did not begin; nil for all others
}

// Follow returns how far a run is, until it has ended or will never begin; the last event has Ended. If the connection is cut, it connects again and continues with how
// far the run is then. The error, which ends the sequence as well, is of kind Unavailable if the server is away for longer than the Client is patient, and of kind Interrupted if ctx
// ends; the run continues.
func (c *Client) Follow(ctx context.Context, run string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := get(path("runs", run, "follow"), nil)
		r.run = run
		err := c.stream(ctx, r, "", func(e event) (bool, error) {
			var told Event
			switch e.name {
			case "progress":
				if err := e.decode(c, &told.Progress); err != nil {
					return false, err
				}
			case "ended":
				if err := e.decode(c, &told.Ended); err != nil {
					return false, err
				}
			default:
				return true, nil
			}
			return yield(told, nil) && told.Ended == nil, nil
		})
		if err != nil {
			yield(Event{}, err)
		}
	}
}

// Outbox returns what happened in all runs, starts, slots and deployments, in the order of positions. With Follow it continues with what happens, until ctx ends: then the error is of kind Interrupted. If
// the connection is cut, it connects again and continues after the last event that came: none is missing, and none comes twice.
func (c *Client) Outbox(ctx context.Context, f client.OutboxFilter) iter.Seq2[client.OutboxEvent, error] {
	query := url.Values{}
	for _, kind := range f.Kinds {
		query.Add("type", string(kind))
	}
	if f.Follow {
		return c.followOutbox(ctx, query, f.After)
	}
	if f.After > 0 {
		query.Set("after", number(f.After))
	}
	return list[client.OutboxEvent](ctx, c, "/v1/events", query, 0)
}

func (c *Client) followOutbox(ctx context.Context, query url.Values, after int64) iter.Seq2[client.OutboxEvent, error] {
	return func(yield func(client.OutboxEvent, error) bool) {
		err := c.stream(ctx, get("/v1/events/stream", query), strconv.FormatInt(after, 10), func(e event) (bool, error) {
			if e.id == "" {
				return true, nil
			}
			var told client.OutboxEvent
			if err := e.decode(c, &told); err != nil {
				return false, err
			}
			return yield(told, nil), nil
		})
		if err != nil {
			yield(client.OutboxEvent{}, err)
		}
	}
}

// event is one that a server sent.
type event struct{ id, name, data string }

func (e *event) decode(c *Client, v any) error {
	if json.Unmarshal([]byte(e.data), v) != nil {
		return notOurs(c)
	}
	return nil
}

// stream reads events until take wants no more. When the connection is cut, it connects again, after the event with the
// last id, and gives up when not even a line came for as long as the Client is patient.
func (c *Client) stream(ctx context.Context, r request, last string, take func(event) (more bool, err error)) error {
	r.header = http.Header{"Accept": {"text/event-stream"}}
	if last != "" {
		r.header.Set(lastEventID, last)
	}
	return c.persist(ctx, &r, func(response *http.Response) error {
		if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" {
			return notOurs(c)
		}
		asleep := time.AfterFunc(silence, defect.Guard("stream", func() { _ = response.Body.Close() }))
		defer asleep.Stop()
		heard, alive := false, false
		for e, err := range events(response.Body, func() { asleep.Reset(silence); heard = true }) {
			if err != nil {
				return &cutError{error: err, heard: heard, alive: alive}
			}
			alive = true
			if e.id != "" {
				r.header.Set(lastEventID, e.id)
			}
			if more, err := take(e); err != nil || !more {
				return err
			}
		}
		return nil
	})
}

// lastEventID is the header that says after which event a stream is to continue.
const lastEventID = "Last-Event-Id"

// events reads events from a stream, and calls heard for each line. It ends with an error, as a stream has no other end.
func events(stream io.Reader, heard func()) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, mostLine)
		var e event
		for lines.Scan() {
			heard()
			name, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case lines.Text() == "" && e == event{}:
			case lines.Text() == "":
				if !yield(e, nil) {
					return
				}
				e = event{}
			case name == "id":
				e.id = value
			case name == "event":
				e.name = value
			case name == "data":
				e.data += value
			}
		}
		yield(event{}, cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
	}
}
