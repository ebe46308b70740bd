// Package spent tells from the record what a run's time was spent on, so that it can be said what the run waited for.
package spent

import (
	"cmp"
	"context"
	"slices"

	"waymark/landscape"
)

// Time is what the time of a run that has ended was spent on. The shares are parts of 1 of it. What happened at once
// counts where it stands first.
type Time struct {
	Seconds float64 `json:"seconds"` // from the run's beginning to its end
	Steps   float64 `json:"steps"`   // chunks went through the steps, or their records were stored
	Writing float64 `json:"writing"` // parts were written to their targets, and published
	Reading float64 `json:"reading"` // nothing of that, and sources were not read to their ends
	Other   float64 `json:"other"`   // nothing of that: barriers, places, pauses, the end of the run
	Workers float64 `json:"workers"` // that sent chunks through the steps at once, on average, while any did
}

// Of returns what the time of a run was spent on; nil if the run has not ended, or no chunk went through its steps. It
// reads a few values for each chunk and part, and no rows. The times are those of the clocks of the processes that did
// the work.
func Of(ctx context.Context, log *landscape.Reader, run landscape.RunHead) (*Time, error) {
	if run.Finished <= run.Started {
		return nil, nil
	}
	moments, err := log.Moments(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	events, err := log.EffectEvents(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	return of(run, moments, events), nil
}

// kind is what a change is about.
type kind int

const (
	steps kind = iota
	writing
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

func of(run landscape.RunHead, moments []landscape.Moment, events []landscape.EffectEvent) *Time {
	changes, passed := changesOf(run, moments, events)
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
		doing := steps
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
	return &Time{
		Seconds: all / 1e6, Steps: float64(took[steps]) / all, Writing: float64(took[writing]) / all,
		Reading: float64(took[reading]) / all, Other: float64(took[other]) / all,
		Workers: float64(workers) / float64(max(took[steps], 1)),
	}
}

// changesOf returns when what began and ended, and whether a chunk went through the steps.
func changesOf(
	run landscape.RunHead, moments []landscape.Moment, events []landscape.EffectEvent,
) (changes []change, passed bool) {
	span := func(k kind, from, to landscape.Micros, worker string) {
		changes = append(changes, change{from, k, 1, worker}, change{max(from, to), k, -1, worker})
	}
	lastRead := run.Started
	for _, m := range moments {
		lastRead = max(lastRead, m.Read)
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
	for _, e := range events {
		if e.Event == landscape.EffectBegan {
			began[attempt{e.EffectKey, e.Fence}] = e.At
		}
	}
	for _, e := range events {
		at, known := began[attempt{e.EffectKey, e.Fence}]
		if known && (e.Event == landscape.EffectFinalized || e.Event == landscape.EffectFailed) {
			span(writing, at, e.At, "")
		}
	}
	return changes, passed
}
