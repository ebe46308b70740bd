package landscape

import (
	"context"
	"fmt"
	"slices"

	"waymark/pipeline"
)

// Graph is what a run is made of, besides its own record. Log sets the run id of everything in it.
type Graph struct {
	Nodes   []Node
	Edges   []Edge
	Sources []Source // the sources, and every barrier
	Lanes   []Lane   // by number, from 0; every origin has a root lane
	Tables  []LookupTable
}

// BeginRun records a run with its graph, what its sources held and what its lookups read, and reserves the publication of
// every sink, all in one transaction. It sets the run's start and status.
//
// Repeating it with equal content changes nothing, whatever the run's status is by now; other content is a
// *DivergedError.
func (l *Log) BeginRun(ctx context.Context, run Run, graph Graph) error {
	now := l.now()
	run.Started, run.Status, run.Finished, run.Reason = now, pipeline.Running, 0, ""
	err := lanes(graph.Lanes).check(graph.Sources)
	if err == nil {
		err = l.driver.Commit(ctx, Batch{Insert: graph.records(run, now)})
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
	for _, n := range g.Nodes {
		if n.Kind == SinkNode {
			insert = append(insert, Effect{EffectKey: PublishKey(run.ID, n.Node), Kind: PublishEffect, State: Reserved, Changed: now})
		}
	}
	return insert
}

// ResumeRun moves a failed or interrupted run back to running; a running one stays as it is. Any other run is refused.
func (l *Log) ResumeRun(ctx context.Context, run string) error {
	return l.moveRun(ctx, run, pipeline.Running, "", pipeline.Failed, pipeline.Interrupted)
}

// Conclude returns the status that a run has if it ends now with everything in balance: Empty if its sources held no
// record, CompletedWithFailures if a token was refused, of whatever lane, else Completed.
func (l *Log) Conclude(ctx context.Context, run string) (pipeline.RunStatus, error) {
	progress, err := l.Progress(ctx, run)
	switch {
	case err != nil:
		return "", err
	case progress.Rows == 0:
		return pipeline.Empty, nil
	case progress.Failed > 0:
		return pipeline.CompletedWithFailures, nil
	default:
		return pipeline.Completed, nil
	}
}

// FinishRun ends a running run. For the statuses that Conclude returns, the status must be that one, and the sweep's
// counts must balance in the same transaction: else the error is an *ImbalanceError that names node and chunk, and the
// run goes on. Repeating it with the same status changes nothing; a run that ended otherwise is refused.
func (l *Log) FinishRun(ctx context.Context, run string, status pipeline.RunStatus, reason string) error {
	if complete(status) {
		concluded, err := l.Conclude(ctx, run)
		if err != nil {
			return fmt.Errorf("finish run %s: %w", run, err)
		}
		if concluded != status {
			return fmt.Errorf("finish run %s: its rows make it %s, not %s", run, concluded, status)
		}
	}
	return l.moveRun(ctx, run, status, reason, pipeline.Running)
}

// InterruptRun ends a running run that was stopped from outside; ResumeRun takes it up again.
func (l *Log) InterruptRun(ctx context.Context, run, reason string) error {
	return l.FinishRun(ctx, run, pipeline.Interrupted, reason)
}

// complete reports whether a run with this status accounts for every row.
func complete(status pipeline.RunStatus) bool {
	return status == pipeline.Completed || status == pipeline.CompletedWithFailures || status == pipeline.Empty
}

// moveRun moves a run to a status from one of those given.
func (l *Log) moveRun(ctx context.Context, run string, to pipeline.RunStatus, reason string, from ...pipeline.RunStatus) error {
	return settle("", func() error {
		old, err := get[RunHead](ctx, l.driver, run)
		switch {
		case err != nil:
			return err
		case old.Status == to:
			return nil
		case !slices.Contains(from, old.Status):
			return fmt.Errorf("run %s is %s and cannot become %s", run, old.Status, to)
		}
		next := old
		next.Status, next.Reason, next.Finished = to, reason, 0
		if to != pipeline.Running {
			next.Finished = l.now()
		}
		batch := Batch{Move: []Move{{From: old, To: next}}}
		if complete(to) {
			batch.Check = run
		}
		return l.driver.Commit(ctx, batch)
	})
}

// RecordAction records what a person, or something that acts for one, did to a run.
func (l *Log) RecordAction(ctx context.Context, run, verb, actor, why string) error {
	now := l.now()
	return settle("actions", func() error {
		before, err := l.Actions(ctx, run)
		if err != nil {
			return err
		}
		return l.insert(ctx, Action{Run: run, Seq: int64(len(before)), Verb: verb, Actor: actor, Why: why, At: now})
	})
}

// RecordEvent records what happened to a run as a whole.
func (l *Log) RecordEvent(ctx context.Context, run, event, detail string) error {
	now := l.now()
	return settle("run_events", func() error {
		before, err := l.Events(ctx, run)
		if err != nil {
			return err
		}
		return l.insert(ctx, RunEvent{Run: run, Seq: int64(len(before)), Event: event, Detail: detail, At: now})
	})
}

// RecordHeal records that a poisoned payload was replaced by good bytes.
func (l *Log) RecordHeal(ctx context.Context, digest, reason, setAside string) error {
	return l.insert(ctx, Heal{Digest: digest, At: l.now(), Reason: reason, SetAside: setAside})
}

// insert commits records without more.
func (l *Log) insert(ctx context.Context, insert ...Record) error {
	return l.driver.Commit(ctx, Batch{Insert: insert})
}
