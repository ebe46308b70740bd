package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"waymark/internal/defect"
	"waymark/landscape"
)

// Ping is the kind of the event with which an endpoint is tested. No event of the outbox has it.
const Ping landscape.EventKind = "ping"

// waits are how long a delivery waits after each attempt that failed; the last attempt is the one after them.
var waits = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour,
	12 * time.Hour, 24 * time.Hour,
}

const (
	// failingTime is how long an endpoint may take nothing, after a delivery to it is dead, before it is disabled.
	failingTime = 3 * 24 * time.Hour
	// dueAtOnce is how many deliveries are read at once.
	dueAtOnce = 20
	// noneFor is how long nobody looks for endpoints when there is none.
	noneFor = 5 * time.Second
	// releaseTimeout is how long a process that ends tries to let others deliver at once.
	releaseTimeout = 2 * time.Second
)

// Deliverer delivers what is due. Several processes may each have one: an endpoint has one process at a time.
type Deliverer struct {
	log    *landscape.Log
	sender *Sender
	logger *slog.Logger
	holder string

	none time.Time // there was no endpoint then; zero if there was one at the last look

	mu   sync.Mutex
	busy map[string]bool // endpoints to which this process delivers now
}

// Alone is the holder that a process is by which alone events of a landscape are delivered: the one after it continues at once.
const Alone = "alone"

// New returns a Deliverer. holder names this process as it names no other; empty for a name of its own. The time is that of the
// landscape's clock.
func New(log *landscape.Log, sender *Sender, logger *slog.Logger, holder string) *Deliverer {
	return &Deliverer{log: log, sender: sender, logger: logger, holder: cmp.Or(holder, uuid.NewString()), busy: map[string]bool{}}
}

// All begins to deliver what is due, to every endpoint that is not disabled, each in a goroutine of its own of group: a slow endpoint holds up no other. It does not
// wait for them.
func (d *Deliverer) All(ctx context.Context, group *sync.WaitGroup) error {
	if time.Since(d.none) < noneFor {
		return nil
	}
	endpoints, err := d.log.Endpoints(ctx)
	d.none = time.Time{}
	if err == nil && len(endpoints) == 0 {
		d.none = time.Now()
	}
	for _, e := range endpoints {
		if e.Disabled || !d.begin(e.Name) {
			continue
		}
		group.Go(defect.Guard("delivery", func() {
			defer d.end(e.Name)
			if err := d.Deliver(ctx, e); err != nil && ctx.Err() == nil {
				d.logger.Warn("cannot deliver events", "endpoint", e.Name, "error", err)
			}
		}))
	}
	return err
}

// begin reports whether this process does not deliver to the endpoint yet, and does from now on.
func (d *Deliverer) begin(endpoint string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	free := !d.busy[endpoint]
	d.busy[endpoint] = true
	return free
}

func (d *Deliverer) end(endpoint string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.busy, endpoint)
}

// Deliver delivers what is due to an endpoint now, unless another process does.
func (d *Deliverer) Deliver(ctx context.Context, e landscape.Endpoint) error {
	some, err := d.some(ctx, e)
	if err != nil || !some {
		return err
	}
	held, ours, err := d.log.HoldEndpoint(ctx, e.Name, d.holder)
	if err != nil || !ours {
		return err
	}
	w := &work{Deliverer: d, endpoint: e, held: held}
	defer w.release(ctx)
	err = w.deliver(ctx)
	if errors.Is(err, landscape.ErrStale) {
		return nil // another process has the endpoint, or a person changed something: the next look sees it
	}
	return err
}

// some reports whether there is something to do for an endpoint. It only reads.
func (d *Deliverer) some(ctx context.Context, e landscape.Endpoint) (bool, error) {
	state, err := d.log.EndpointState(ctx, e.Name)
	if err != nil {
		return false, err
	}
	head, err := d.log.OutboxHead(ctx)
	if err != nil || head.Size > state.Cursor || d.failed(state) {
		return true, err
	}
	due, err := d.log.Deliveries(ctx, e.Name, landscape.DeliveryDue, 0, 0)
	for _, delivery := range due {
		if delivery.Next <= d.now() {
			return true, err
		}
	}
	return false, err
}

func (d *Deliverer) now() landscape.Micros { return d.log.Now() }

// failed reports whether an endpoint has taken nothing for too long.
func (d *Deliverer) failed(state landscape.EndpointState) bool {
	return state.Failing != 0 && d.now().Time().Sub(state.Failing.Time()) > failingTime
}

// work is an endpoint to which this process delivers.
type work struct {
	*Deliverer
	endpoint landscape.Endpoint
	held     landscape.EndpointState
}

// release lets other processes deliver at once, also when this one ends.
func (w *work) release(ctx context.Context) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer done()
	if err := w.log.ReleaseEndpoint(ctx, w.held); err != nil {
		w.logger.Warn("another process delivers only after a while", "endpoint", w.endpoint.Name, "error", err)
	}
}

func (w *work) deliver(ctx context.Context) error {
	if w.failed(w.held) {
		why := fmt.Sprintf("it has taken nothing since %s", w.held.Failing.Time().UTC().Format(time.RFC3339))
		return w.log.DisableFailing(ctx, w.endpoint, why)
	}
	for more := true; more; {
		var err error
		if w.held, more, err = w.log.Enlist(ctx, w.endpoint, w.held); err != nil {
			return err
		}
	}
	for after := int64(0); ; {
		due, err := w.log.Deliveries(ctx, w.endpoint.Name, landscape.DeliveryDue, after, dueAtOnce)
		if err != nil || due == nil {
			return err
		}
		for _, delivery := range due {
			if goesOn, err := w.one(ctx, delivery); err != nil || !goesOn {
				return err
			}
			after = delivery.Position
		}
	}
}

// one tries a delivery, if its time has come. goesOn says that the next one may be tried.
func (w *work) one(ctx context.Context, was landscape.Delivery) (goesOn bool, err error) {
	strict := w.endpoint.Order == landscape.StrictOrder
	if strict {
		dead, err := w.log.Deliveries(ctx, w.endpoint.Name, landscape.DeliveryDead, 0, 1)
		if err != nil || dead != nil && dead[0].Position < was.Position {
			return false, err // it waits for a person
		}
	}
	if was.Next > w.now() {
		return !strict, nil
	}
	if w.held.Until-w.now() < landscape.Micros(2*attemptTimeout.Microseconds()) {
		held, ours, err := w.log.HoldEndpoint(ctx, w.endpoint.Name, w.holder)
		if err != nil || !ours {
			return false, err
		}
		w.held = held
	}
	events, err := w.log.Outbox(ctx, was.Position-1, 1)
	if err != nil || len(events) == 0 || events[0].Position != was.Position {
		return true, err // it was dropped
	}
	at := w.now()
	answer := w.sender.Post(ctx, w.endpoint, events[0], at.Time())
	if ctx.Err() != nil {
		return false, ctx.Err() // the process ends: that is no fault of the endpoint
	}
	becomes := w.after(was, answer)
	w.held, err = w.log.RecordAttempt(ctx, w.endpoint, w.held, was, becomes, landscape.DeliveryAttempt{
		At: at, Millis: answer.Took.Milliseconds(), Status: int64(answer.Status), Error: answer.Error, Answer: answer.Body,
	})
	return err == nil && (becomes.State == landscape.DeliveryOK || !strict), err
}

// after returns what becomes of a delivery after an attempt.
func (w *work) after(was landscape.Delivery, answer Answer) landscape.Delivery {
	next := was
	next.Status, next.Error = int64(answer.Status), answer.Error
	switch {
	case answer.Error == "":
		next.State = landscape.DeliveryOK
	case answer.Gone || was.Tries >= int64(len(waits)):
		next.State = landscape.DeliveryDead
	default:
		next.Next = landscape.MicrosOf(w.now().Time().Add(max(spread(waits[was.Tries]), answer.After)))
	}
	return next
}

// spread returns a time within a fifth of another, so that many deliveries do not come back at one moment.
func spread(wait time.Duration) time.Duration {
	return wait - wait/5 + rand.N(2*wait/5) //nolint:gosec // no secret
}
