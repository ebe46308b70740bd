package landscape

import (
	"context"
	"fmt"
	"slices"

	"waymark/landscape/seal"
	"waymark/pipeline"
)

// Graph is what a run is made of, besides its own record. Log sets the run id of everything in it.
type Graph struct {
	Nodes    []Node
	Edges    []Edge
	Sources  []Source // the sources, and every barrier
	Lanes    []Lane   // by number, from 0; every origin has a root lane
	Tables   []LookupTable
	Policies []PolicyRecord // in document order
	Retried  []RetriedRow   // of a run with a RetryLink: records of its parent that it retries
	Slot     string         // of time, that the run is about; recorded with its start; empty if none is known
	By       []Execution    // the one that begins the run; nil if it is not a workflow
	Key      []byte         // 16 random bytes from which the salts of its seals follow

	Admission *Admission // on which terms the run may begin; nil if it needs no place
}

// BeginRun records a run with its graph, who begins it, what its sources held and what its lookups read, and reserves the
// publication of every sink, all in one transaction, in which the open start of the run becomes the one that it came of, and the entry of
// the Sealer is appended to the log. It sets the run's start, epoch and status.
//
// Repeating it with equal content changes nothing, whatever the run's status is by now; other content is a
// *DivergedError, and so is a record in graph.Retried that another run retries. If graph.Admission does not let the run begin, the error is
// what Admit returns.
func (l *Log) BeginRun(ctx context.Context, run Run, graph Graph) error {
	run.Status, run.Finished, run.Reason, run.Epoch, run.Final = pipeline.Running, 0, "", 0, false
	err := lanes(graph.Lanes).check(graph.Sources)
	if len(graph.Key) != seal.KeyBytes {
		err = fmt.Errorf("the key of its salts has %d bytes, not %d", len(graph.Key), seal.KeyBytes)
	}
	if err == nil {
		err = settle("", func() error {
			permit, err := l.admits(ctx, run.ID, graph.Admission)
			if err != nil {
				return err
			}
			now := l.now() // after those whose places it takes have ended
			run.Started = now
			start, err := l.begins(ctx, run.ID, graph.Slot, graph.Admission, permit.start, now)
			if err != nil {
				return err
			}
			entries, err := l.began(ctx, run)
			if err != nil {
				return err
			}
			insert := append(graph.records(run, now), permit.turns.Insert...)
			insert = append(insert, runEvent(RunStarted, run.RunHead, stepBegun, "", now, eventData{Trigger: eventText(run.Trigger), Slot: eventText(graph.Slot)}))
			return l.driver.Commit(ctx, Tx{Insert: insert, Move: append(start, permit.turns.Move...), Append: entries})
		})
	}
	if err != nil {
		return fmt.Errorf("begin run %s: %w", run.ID, err)
	}
	return nil
}

// records returns the records of a run that begins.
func (g Graph) records(run Run, now Micros) []Record {
	insert := []Record{run}
	for _, n := range g.Nodes {
		n.Run = run.ID
		insert = append(insert, n)
	}
	for _, e := range g.Edges {
		e.Run = run.ID
		insert = append(insert, e)
	}
	for _, s := range g.Sources {
		s.Run = run.ID
		insert = append(insert, s)
	}
	for _, lane := range g.Lanes {
		lane.Run = run.ID
		insert = append(insert, lane)
	}
	for _, t := range g.Tables {
		t.Run = run.ID
		insert = append(insert, t)
	}
	for i, p := range g.Policies {
		p.Run, p.Seq = run.ID, int64(i)
		insert = append(insert, p)
	}
	for _, r := range g.Retried {
		r.Parent, r.Run = run.Parent, run.ID
		insert = append(insert, r)
	}
	for _, e := range g.By {
		e.Run, e.Epoch, e.At = run.ID, 0, now
		insert = append(insert, e)
	}
	insert = append(insert, Salts{Run: run.ID, Chunk: rootOfSalts, Keys: g.Key})
	for _, n := range g.Nodes {
		if n.Kind == SinkNode {
			insert = append(insert, Effect{EffectKey: PublishKey(run.ID, n.Node), Kind: PublishEffect, State: Reserved, Changed: now})
		}
	}
	return insert
}

// Conclude returns the status that a run has if it ends now with everything in balance: Empty if its sources held no
// record, CompletedWithFailures if a token was refused, of whatever lane, else Completed.
func (r *Reader) Conclude(ctx context.Context, run string) (pipeline.RunStatus, error) {
	progress, err := r.Progress(ctx, run)
	if err != nil {
		return "", err
	}
	return progress.conclude(), nil
}

// conclude is the status of a run that ends with these counts.
func (p Progress) conclude() pipeline.RunStatus {
	switch {
	case p.Rows == 0:
		return pipeline.Empty
	case p.Failed > 0:
		return pipeline.CompletedWithFailures
	default:
		return pipeline.Completed
	}
}

// RecordAction records what a person, or something that acts for one, did to a run.
func (l *Log) RecordAction(ctx context.Context, run, verb, actor, why string) error {
	return settle("actions", func() error {
		action, err := l.nextAction(ctx, run, verb, actor, why)
		if err != nil {
			return err
		}
		return l.recordAction(ctx, action)
	})
}

// RecordOrder is RecordAction for an order that came at a moment: one that is recorded since then is not recorded again, also if
// several attempts at recording it come at the same time. The error is a *NeedsOrderError if one person may not cancel the run permanently.
func (l *Log) RecordOrder(ctx context.Context, run, verb, actor, why string, since Micros) error {
	return settle("actions", func() error {
		before, err := l.Actions(ctx, run)
		if err != nil {
			return err
		}
		for _, a := range before {
			if a.Verb == verb && a.Actor == actor && a.Why == why && a.At >= since {
				return nil
			}
		}
		if verb == VerbCancelFinal {
			if err := l.MayOrder(ctx, OrderCancel); err != nil {
				return err
			}
		}
		return l.recordAction(ctx, Action{Run: run, Seq: int64(len(before)), Verb: verb, Actor: actor, Why: why, At: l.now()})
	})
}

// recordAction records an action, with its event.
func (l *Log) recordAction(ctx context.Context, action Action) error {
	events, err := l.orderEvents(ctx, action)
	if err != nil {
		return err
	}
	return l.recordOf(ctx, action.Run, Tx{Insert: append([]Record{action}, events...)})
}

// RecordEvent records what happened to a run as a whole.
func (l *Log) RecordEvent(ctx context.Context, run, event, detail string) error {
	now := l.now()
	return settle("run_events", func() error {
		before, err := Select[RunEvent](ctx, l, run)
		if err != nil {
			return err
		}
		happened := RunEvent{Run: run, Seq: int64(len(before)), Event: event, Detail: detail, At: now}
		return l.recordOf(ctx, run, Tx{Insert: []Record{happened}})
	})
}

// valuesDiffer is the event of a run that began with other values than the last one of its version. Stored; never rename.
const valuesDiffer = "values_differ"

// RecordValues records in which values a run differs from the last one of its version. Once is enough.
func (l *Log) RecordValues(ctx context.Context, run, text string) error {
	if said, err := l.OtherValues(ctx, run); err != nil || said != "" {
		return err
	}
	return l.RecordEvent(ctx, run, valuesDiffer, text)
}

// OtherValues returns what RecordValues recorded of a run; "" if nothing.
func (r *Reader) OtherValues(ctx context.Context, run string) (text string, err error) {
	events, err := Select[RunEvent](ctx, r, run)
	for _, e := range events {
		if e.Event == valuesDiffer {
			text = e.Detail
		}
	}
	return text, err
}

// RecordLogged records what processes logged about a run until it ended; what they logged afterwards is none of it. It may be called again with the same lines.
// The error wraps ErrNotFound if there is no such run.
func (l *Log) RecordLogged(ctx context.Context, run string, lines []RunEvent) error {
	return settle("run_events", func() error {
		head, err := get[RunHead](ctx, l, run)
		if err != nil {
			return err
		}
		before, err := Select[RunEvent](ctx, l, run)
		if err != nil {
			return err
		}
		var insert []Record
		for _, line := range lines {
			again := func(e RunEvent) bool {
				return e.Event == line.Event && e.Detail == PortableText(line.Detail) && e.At == line.At
			}
			if head.Finished > 0 && line.At > head.Finished || slices.ContainsFunc(before, again) {
				continue
			}
			line.Run, line.Seq = run, int64(len(before)+len(insert))
			insert = append(insert, line)
		}
		if insert == nil {
			return nil
		}
		return l.recordOf(ctx, run, Tx{Insert: insert})
	})
}

// RecordHeal records that a poisoned payload was replaced by good bytes.
func (l *Log) RecordHeal(ctx context.Context, digest, reason, setAside string) error {
	return l.insert(ctx, Heal{Digest: digest, At: l.now(), Reason: reason, SetAside: setAside})
}

// insert commits records without more.
func (l *Log) insert(ctx context.Context, insert ...Record) error {
	err := l.driver.Commit(ctx, Tx{Insert: insert})
	l.recent.note(insert, err)
	return err
}
