// Package triggers begins runs of deployed pipelines as files arrive: it looks where they arrive, puts on record what has come and which run takes what, and begins
// these runs. The record decides all of that: any number of processes may do it, and one at a time does it for a trigger.
package triggers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"waymark/activities/recompute"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// Watcher looks after the triggers of a landscape, whenever somebody asks it to. It is not safe for concurrent use.
type Watcher struct {
	Client   client.Client
	Queue    string      // of the workflows that it starts
	Files    string      // name of the files that the process sees
	Alone    bool        // no other process can look after the triggers
	Leads    func() bool // reports whether this process is the one that looks after all triggers, but for those that it cannot see; nil if it is Alone
	Log      *landscape.Log
	Payloads *payload.Store
	Planner  recompute.Planner
	Logger   log.Logger
	Tell     func(trigger string, waiting int64, oldest time.Time) // is called with the backlog of each trigger now and then; may be nil

	seen    map[string]int64    // by environment and pipeline, the deployment whose triggers are recorded
	watched map[string]*watched // by trigger
	led     bool                // this process looked after all triggers at its last look

	read   time.Time           // when the record was read last, of which what follows is
	rows   []landscape.Trigger // all of them; nil if this process is to look after none
	posted bool                // something may be delivered to one of them
	head   int64               // the last position of the outbox; 0 if no trigger is after another pipeline
}

const (
	// atLeast is how often the record is looked at, whatever happens: somebody may have deployed or ended something.
	// Where others may be delivered to it is once a second, and in a process that is alone as often as in between.
	atLeast = beat
	alone   = 2 * time.Second
	posted  = time.Second
	// betweenRuns is how soon what waits gets a run when one has ended.
	betweenRuns = 100 * time.Millisecond
	// beat is how often at least a process moves the turn of a trigger that it looks after instead of the one that
	// looks after all; lease is for how long the turn stands still before another process takes it.
	beat  = 5 * time.Second
	lease = 3 * beat
	// rest is how often a look is recorded that found nothing.
	rest = 15 * time.Minute
)

// All does what is to be done for all triggers, and returns how long it is at most until there may be more to do.
func (w *Watcher) All(ctx context.Context) (time.Duration, error) {
	if w.seen == nil {
		w.seen, w.watched = map[string]int64{}, map[string]*watched{}
	}
	if !w.leads() && w.led { // another process does
		for _, of := range w.watched {
			of.lose()
		}
	}
	w.led = w.leads()
	wait := min(w.every(), atLeast) // it may lead by then
	if time.Since(w.read) >= w.every() {
		more, err := w.look(ctx)
		if err != nil {
			return atLeast, err
		}
		if more {
			wait = 0
		}
		w.read = time.Now()
	}
	if w.rows == nil {
		return atLeast, nil
	}
	next, err := w.turns(ctx)
	return min(wait, next), err
}

// every is how often the record is looked at.
func (w *Watcher) every() time.Duration {
	switch {
	case !w.led && w.rows == nil:
		return lease
	case w.posted:
		return posted
	case w.Alone:
		return alone
	}
	return atLeast
}

// look reads of the record what is about all triggers, as far as this process may look after one. It reports whether
// there is more to do at once.
func (w *Watcher) look(ctx context.Context) (more bool, err error) {
	watches, err := w.Log.Watches(ctx)
	if err != nil {
		return false, err
	}
	for id, at := range watches {
		w.of(id).see(at)
	}
	w.rows = nil
	if !w.led && !w.needed() {
		return false, nil
	}
	if w.led {
		if more, err = w.reconcile(ctx); err != nil {
			return false, err
		}
	}
	open, err := w.Log.OpenArrivals(ctx)
	if err != nil {
		return false, err
	}
	rows, err := w.Log.Triggers(ctx)
	if err != nil {
		return false, err
	}
	after := false
	w.posted = false
	for _, row := range rows {
		of := w.of(row.ID)
		of.has = open[row.ID]
		after = after || of.declared.After != nil
		w.posted = w.posted || of.declared.HTTP != nil && !row.Removed()
	}
	if after {
		head, err := w.Log.OutboxHead(ctx)
		if err != nil {
			return false, err
		}
		w.head = head.Size
	}
	w.rows = rows
	return more, nil
}

// leads reports whether this process looks after all triggers.
func (w *Watcher) leads() bool { return w.Alone || w.Leads() }

// needed reports whether this process is to look after a trigger though another one looks after all.
func (w *Watcher) needed() bool {
	for _, of := range w.watched {
		if of.free() {
			return true
		}
	}
	return false
}

// turns does what is to be done for each trigger.
func (w *Watcher) turns(ctx context.Context) (time.Duration, error) {
	wait := atLeast
	var failed []error
	for _, row := range w.rows {
		next := atLeast
		err := defect.Catch("triggers", func() (err error) { // one of them keeps no other from its turn
			next, err = w.of(row.ID).turn(ctx, row)
			return err
		})
		if _, torn := errors.AsType[*defect.Error](err); torn {
			delete(w.watched, row.ID) // it is read again
		}
		wait = min(wait, next)
		if errors.Is(err, landscape.ErrTurnLost) {
			err = nil // as it should be, of several processes
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("trigger %s: %w", row.ID, err))
		}
	}
	return wait, errors.Join(failed...)
}

// of returns what the process knows of a trigger.
func (w *Watcher) of(id string) *watched {
	if w.watched[id] == nil {
		w.watched[id] = &watched{Watcher: w, at: landscape.Watch{Trigger: id}, since: time.Now(), begun: map[string]time.Time{}, tries: map[string]tried{}}
	}
	return w.watched[id]
}

// watched is what a process knows of a trigger. Nothing in it is needed: it is read again when another process did something.
type watched struct {
	*Watcher
	at    landscape.Watch // how far the trigger was looked after, when this process looked last
	since time.Time       // when it saw that first
	owns  bool            // it left it so itself

	has      landscape.OpenArrivals // as far as this process knows
	row      landscape.Trigger
	declared pipeline.ArrivalTrigger

	found found                // what there was at the last look
	told  time.Time            // when this process told of the backlog last
	begun map[string]time.Time // by run, when this process asked Temporal for it
	tries map[string]tried     // by run, whose start was refused
}

// turn does what is to be done for the trigger, if the process may, and returns how long it is until there may be more to do.
func (w *watched) turn(ctx context.Context, row landscape.Trigger) (_ time.Duration, err error) {
	if !w.free() || row.Removed() && !w.has.Taken {
		return atLeast, nil
	}
	if w.row != row {
		if w.row = row; !row.Removed() {
			if w.declared, err = row.Declared(); err != nil {
				w.row = landscape.Trigger{}
				return atLeast, err
			}
		}
	}
	going, err := w.settle(ctx)
	if err == nil && !row.Removed() {
		going, err = w.lookAndTake(ctx, going)
	}
	if err != nil {
		w.found = found{} // nobody can tell whether what was recorded last is stored
		return atLeast, err
	}
	if going > 0 {
		return betweenRuns, nil
	}
	if row.Removed() {
		return atLeast, nil
	}
	return max(time.Until(w.found.next), 0), nil
}

// lookAndTake puts on record what arrived, and gives runs to it. It returns how many runs go on.
func (w *watched) lookAndTake(ctx context.Context, going int) (int, error) {
	if err := w.look(ctx); err != nil {
		return going, err
	}
	canLook := w.at.Error == w.found.left || w.declared.Rows != nil // which are stored
	if canLook && !w.row.Paused {
		var err error
		if going, err = w.take(ctx, going); err != nil {
			return going, err
		}
	}
	if w.owns && !w.led && time.Since(w.since) >= beat {
		if err := w.record(ctx, w.at, nil); err != nil {
			return going, err
		}
	}
	return going, w.tell(ctx)
}

// tell tells of the backlog, now and then: to count it takes longer the more waits.
func (w *watched) tell(ctx context.Context) error {
	if w.Tell == nil || time.Since(w.told) < beat {
		return nil
	}
	w.told = time.Now()
	waiting, oldest, err := int64(0), landscape.Micros(0), error(nil)
	if w.has.Ready {
		waiting, oldest, err = w.Log.ArrivalBacklog(ctx, w.row.ID)
	}
	if err == nil {
		w.Tell(w.row.ID, waiting, oldest.Time())
	}
	return err
}

// see takes note of how far the trigger was looked after.
func (w *watched) see(now landscape.Watch) {
	if now != w.at {
		w.lose()
		w.at = now
	}
}

// lose takes note that another process looks after the trigger.
func (w *watched) lose() { w.since, w.owns, w.found = time.Now(), false, found{} }

// free reports whether this process may look after the trigger. The one that looks after all may unless somebody else
// moved it lately; another one may if that one cannot see it, and if nobody else does either.
func (w *watched) free() bool {
	switch still := time.Since(w.since) >= lease; {
	case w.Alone || w.owns:
		return true
	case w.led:
		return still || w.at.Turn == 0
	default:
		return still && w.at.Error != ""
	}
}

// record puts changes of arrivals on record, some at a time, and that the process looks after the trigger. The position in next is recorded with the last of them: what
// was found before it is recorded then.
func (w *watched) record(ctx context.Context, next landscape.Watch, changes []landscape.ArrivalChange) (err error) {
	for first := true; first || len(changes) > 0; first = false {
		some := changes[:min(len(changes), mostAtOnce)]
		changes = changes[len(some):]
		now := next
		if len(changes) > 0 {
			now.Position = w.at.Position
		}
		if w.at, err = w.Log.ChangeArrivals(ctx, w.at, now, some); err != nil {
			return err
		}
		w.owned()
		w.keep(some)
	}
	return nil
}

// mostAtOnce is how many changes of arrivals are recorded in one transaction.
const mostAtOnce = 1000

// owned notes that the turn is where this process left it.
func (w *watched) owned() { w.since, w.owns = time.Now(), true }

// note keeps what is recorded of an arrival now, if it is the last revision.
func (w *watched) note(a landscape.Arrival) {
	if last, is := w.found.known[a.Item]; w.found.known != nil && (!is || a.Revision >= last.Revision) {
		w.found.known[a.Item] = a
	}
}

// keep notes what is recorded of arrivals now, and says so.
func (w *watched) keep(changes []landscape.ArrivalChange) {
	for _, change := range changes {
		to := change.To
		w.note(to)
		w.has.Ready = w.has.Ready || to.State == landscape.ArrivalReady
		w.Logger.Info("arrival", "trigger", to.Trigger, "item", to.Item, "revision", to.Revision, "state", to.State, "run", to.Run, "reason", to.Reason)
	}
}
