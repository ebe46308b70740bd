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
	Queue    string // of the workflows that it starts
	Files    string // name of the files that the process sees
	Alone    bool   // no other process can look after the triggers
	Log      *landscape.Log
	Payloads *payload.Store
	Planner  recompute.Planner
	Logger   log.Logger
	Tell     func(trigger string, waiting int64, oldest time.Time) // is called with the backlog of each trigger now and then; may be nil

	seen    map[string]int64    // by environment and pipeline, the deployment whose triggers are recorded
	watched map[string]*watched // by trigger
}

const (
	// atLeast is how often the record is looked at, whatever happens: somebody may have deployed or ended something.
	atLeast = 2 * time.Second
	// betweenRuns is how soon what waits gets a run when one has ended.
	betweenRuns = 100 * time.Millisecond
	// beat is how often at least a process moves the turn of a trigger that it looks after; lease is for how long the turn stands still before another process takes it.
	beat  = 5 * time.Second
	lease = 3 * beat
)

// All does what is to be done for all triggers, and returns how long it is at most until there may be more to do.
func (w *Watcher) All(ctx context.Context) (time.Duration, error) {
	if w.seen == nil {
		w.seen, w.watched = map[string]int64{}, map[string]*watched{}
	}
	if err := w.reconcile(ctx); err != nil {
		return atLeast, err
	}
	rows, err := w.Log.Triggers(ctx)
	if err != nil {
		return atLeast, err
	}
	wait := atLeast
	var failed []error
	for _, row := range rows {
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
		w.watched[id] = &watched{Watcher: w, begun: map[string]time.Time{}, tries: map[string]tried{}}
	}
	return w.watched[id]
}

// watched is what a process knows of a trigger. Nothing in it is needed: it is read again when another process did something.
type watched struct {
	*Watcher
	at    landscape.Watch // how far the trigger was looked after, when this process looked last
	since time.Time       // when it saw that first
	owns  bool            // it left it so itself

	row      landscape.Trigger
	declared pipeline.ArrivalTrigger

	found found                // what there was at the last look
	told  time.Time            // when this process told of the backlog last
	begun map[string]time.Time // by run, when this process asked Temporal for it
	tries map[string]tried     // by run, whose start was refused
}

// turn does what is to be done for the trigger, if the process may, and returns how long it is until there may be more to do.
func (w *watched) turn(ctx context.Context, row landscape.Trigger) (time.Duration, error) {
	free, err := w.free(ctx, row.ID)
	if err != nil || !free {
		return atLeast, err
	}
	if w.row = row; !row.Removed() {
		if w.declared, err = row.Declared(); err != nil {
			return atLeast, err
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
	if w.owns && !w.Alone && time.Since(w.since) >= beat {
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
	waiting, oldest, err := w.Log.ArrivalBacklog(ctx, w.row.ID)
	if err == nil {
		w.Tell(w.row.ID, waiting, oldest.Time())
	}
	return err
}

// free reports whether this process may look after the trigger: it did so last, or who did has moved nothing for so long that it is gone.
func (w *watched) free(ctx context.Context, id string) (bool, error) {
	now, err := w.Log.Watch(ctx, id)
	if err != nil {
		return false, err
	}
	if now != w.at || w.since.IsZero() { // or this is the first time
		w.at, w.since, w.owns, w.found = now, time.Now(), false, found{}
	}
	return w.Alone || w.owns || time.Since(w.since) >= lease, nil
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
		w.Logger.Info("arrival", "trigger", to.Trigger, "item", to.Item, "revision", to.Revision, "state", to.State, "run", to.Run, "reason", to.Reason)
	}
}
