// Package spent tells from the record what a run's time was spent on, so that it can be said what the run waited for.
package spent

import (
	"cmp"
	"context"
	"slices"

	"waymark/landscape"
	"waymark/pipeline"
)

// Time is what the time of a run that has ended was spent on. The shares are parts of 1 of it. What happened at once
// counts where it stands first.
type Time struct {
	Seconds float64 `json:"seconds"` // from the run's beginning to its end

	// NoProcess is from what a process recorded last before the run was resumed until then. What the process did after
	// that, and before it ended, is not recorded, and counts here as well.
	NoProcess float64 `json:"no_process"`

	Steps   float64 `json:"steps"`   // chunks went through the steps, or their records were stored
	Writing float64 `json:"writing"` // parts were written to their targets, and published
	Paused  float64 `json:"paused"`  // nothing of that, since a person paused the run
	Reading float64 `json:"reading"` // nothing of that, and sources were not read to their ends
	Other   float64 `json:"other"`   // nothing of that: barriers, places, the end of the run
	Workers float64 `json:"workers"` // that sent chunks through the steps at once, on average, while any did
}

// Of returns what the time of a run was spent on; nil if the run has not ended, or no chunk went through its steps. It
// reads a few values for each chunk and part, and no rows. The times are those of the clocks of the processes that did
// the work.
func Of(ctx context.Context, log *landscape.Reader, run landscape.RunHead) (*Time, error) {
	if run.Finished <= run.Started {
		return nil, nil
	}
	var of record
	var err error
	for _, read := range []func() error{
		func() error { of.moments, err = log.Moments(ctx, run.ID); return err },
		func() error { of.effects, err = log.EffectEvents(ctx, run.ID); return err },
		func() error { of.events, err = landscape.Select[landscape.RunEvent](ctx, log, run.ID); return err },
		func() error { of.actions, err = log.Actions(ctx, run.ID); return err },
		func() error { of.resumed, err = log.Resumptions(ctx, run.ID); return err },
		func() error { of.ended, err = log.Ends(ctx, run.ID); return err },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return of.time(run), nil
}

// record is what is recorded of when things happened in a run.
type record struct {
	moments []landscape.Moment
	effects []landscape.EffectEvent
	events  []landscape.RunEvent
	actions []landscape.Action
	resumed []landscape.Resumption
	ended   map[int64]landscape.Micros // by epoch
}

// kind is what a change is about.
type kind int

const (
	noProcess kind = iota
	steps
	writing
	paused
	reading
	other
	kinds
)

// change is that something begins (1) or ends (-1).
type change struct {
	at     landscape.Micros
	kind   kind
	by     int
	worker string
}

// time returns what the time of the run was spent on; nil if no chunk went through its steps.
func (r *record) time(run landscape.RunHead) *Time {
	changes, passed := r.changes(run)
	if !passed {
		return nil
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var active [kinds]int
	var took [kinds]landscape.Micros
	busy, workers := map[string]int{}, landscape.Micros(0)
	last := run.Started
	until := func(at landscape.Micros) {
		at = min(max(at, last), run.Finished)
		doing := noProcess
		for doing < other && active[doing] == 0 {
			doing++
		}
		took[doing] += at - last
		if doing == steps {
			workers += (at - last) * landscape.Micros(len(busy))
		}
		last = at
	}
	for _, c := range changes {
		until(c.at)
		active[c.kind] += c.by
		if c.kind == steps {
			if busy[c.worker] += c.by; busy[c.worker] == 0 {
				delete(busy, c.worker)
			}
		}
	}
	until(run.Finished)
	all := float64(run.Finished - run.Started)
	share := func(of kind) float64 { return float64(took[of]) / all }
	return &Time{
		Seconds: all / 1e6, NoProcess: share(noProcess), Steps: share(steps), Writing: share(writing),
		Paused: share(paused), Reading: share(reading), Other: share(other),
		Workers: float64(workers) / float64(max(took[steps], 1)),
	}
}

// changes returns when what began and ended, and whether a chunk went through the steps.
func (r *record) changes(run landscape.RunHead) (changes []change, passed bool) {
	span := func(k kind, from, to landscape.Micros, worker string) {
		changes = append(changes, change{from, k, 1, worker}, change{max(from, to), k, -1, worker})
	}
	lastRead := run.Started
	for _, m := range r.moments {
		if !m.Made {
			lastRead = max(lastRead, m.Read)
		}
		if m.Finished > 0 {
			passed = true
			span(steps, m.Started, m.Finished, m.Worker)
		}
	}
	span(reading, run.Started, lastRead, "")
	type attempt struct {
		landscape.EffectKey
		fence int64
	}
	began := map[attempt]landscape.Micros{}
	for _, e := range r.effects {
		if e.Event == landscape.EffectBegan {
			began[attempt{e.EffectKey, e.Fence}] = e.At
		}
	}
	for _, e := range r.effects {
		at, known := began[attempt{e.EffectKey, e.Fence}]
		if known && (e.Event == landscape.EffectFinalized || e.Event == landscape.EffectFailed) {
			span(writing, at, e.At, "")
		}
	}
	r.eachPause(run, func(from, to landscape.Micros) { span(paused, from, to, "") })
	signs := r.signs(run)
	for _, resumed := range r.resumed {
		span(noProcess, r.lastSign(signs, resumed), resumed.At, "")
	}
	return changes, passed
}

// eachPause calls yield with each time in which the run was paused: a resumption ends a pause as well.
func (r *record) eachPause(run landscape.RunHead, yield func(from, to landscape.Micros)) {
	for i, a := range r.actions {
		if a.Verb != landscape.VerbPause {
			continue
		}
		until := run.Finished
		for _, next := range r.actions[i+1:] {
			if next.Verb == landscape.VerbContinue {
				until = next.At
				break
			}
		}
		for _, resumed := range r.resumed {
			if resumed.At >= a.At {
				until = min(until, resumed.At)
			}
		}
		yield(a.At, until)
	}
}

// signs returns the moments at which processes that worked for the run recorded something, in order.
func (r *record) signs(run landscape.RunHead) []landscape.Micros {
	signs := []landscape.Micros{run.Started}
	for _, m := range r.moments {
		signs = append(signs, m.Read, m.Started, m.Finished)
	}
	for _, e := range r.effects {
		if e.Event != landscape.EffectResolved { // a person says that, while the run is stopped
			signs = append(signs, e.At)
		}
	}
	for _, e := range r.events {
		signs = append(signs, e.At)
	}
	for _, a := range r.actions {
		switch a.Verb {
		case landscape.VerbPause, landscape.VerbContinue, landscape.VerbInterrupt:
			signs = append(signs, a.At)
		}
	}
	slices.Sort(signs)
	return signs
}

// lastSign returns the last moment before the run was resumed at which a process worked for it. That it was interrupted
// or cancelled may have been recorded by another one, long after its own had died.
func (r *record) lastSign(signs []landscape.Micros, resumed landscape.Resumption) landscape.Micros {
	after, _ := slices.BinarySearch(signs, resumed.At)
	last := signs[max(after-1, 0)]
	if resumed.Was == pipeline.Failed || resumed.Was == pipeline.Blocked {
		last = max(last, r.ended[resumed.Epoch-1])
	}
	for _, before := range r.resumed {
		if before.Epoch < resumed.Epoch {
			last = max(last, before.At)
		}
	}
	return last
}
