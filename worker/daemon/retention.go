package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"waymark/activities"
	"waymark/audit/retain"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin/file"
	"waymark/worker/storage"
)

const (
	// retainLook is the time between two looks whether a turn to delete what is due has come.
	retainLook = 10 * time.Second
	// retainEvery is the time between two turns, whichever processes have them. A turn reads a little of every run, so
	// the pause after one that takes long is longer.
	retainEvery = time.Hour
	retainRests = 50 // times as long as the turn took
)

// watchRetention deletes what is due by the periods of the settings, until ctx ends. Every worker does so; one of them
// at a time. Runs do not wait for it.
func (d *process) watchRetention(ctx context.Context, opened *storage.Storage) {
	w := &retentionWatch{log: opened.Log, alone: d.Alone, keeper: d.retainer(opened)}
	told := ""
	for {
		done, err := w.look(ctx)
		if err != nil && ctx.Err() == nil {
			d.logger.Warn("cannot delete what is due", "error", err)
		}
		if done.Did() {
			d.logger.Info("deleted what was due", "payloads", done.Payloads,
				"bytes", done.Bytes, "events", done.Events, "staged", done.Staged, "left", done.Left)
		}
		if done.Problem != "" && done.Problem != told {
			d.logger.Warn("cannot delete all that is due", "problem", done.Problem)
		}
		if done.Actor != "" {
			told = done.Problem
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retainLook):
		}
	}
}

// retainer is what deletes what is due, as this process sees it.
func (d *process) retainer(opened *storage.Storage) *retain.Keeper {
	return &retain.Keeper{
		Log: opened.Log, Payloads: opened.Payloads, Periods: d.Retention,
		Actor: activities.Waymark + " at " + d.files(), MayPurge: opened.MayPurge,
		Staged: func(run landscape.Run) (bool, error) {
			if !d.Alone && run.Host != d.files() {
				return false, nil
			}
			return stagedFiles(run)
		},
		Discard: func(ctx context.Context, run string) error {
			return activities.Discard(ctx,
				activities.New(opened.Log, opened.Payloads, d.plannerOf(opened), d.Code), run)
		},
	}
}

// stagedFiles reports whether a run has staged files on this machine.
func stagedFiles(run landscape.Run) (bool, error) {
	var described plan.Description
	if err := json.Unmarshal([]byte(run.Plan), &described); err != nil {
		return false, err
	}
	for _, node := range described.Nodes {
		if node.Location == "" || strings.Contains(node.Location, "://") {
			continue
		}
		if _, _, there := file.Staged(node.Location, run.ID); there {
			return true, nil
		}
	}
	return false, nil
}

// retentionWatch is what a process knows that deletes what is due. Its time is that of the landscape's clock.
type retentionWatch struct {
	log    *landscape.Log
	alone  bool
	keeper *retain.Keeper

	seen  landscape.Turn // the turn when this process looked last
	since time.Time      // when it saw that first
	mine  bool           // this process left it so
	next  time.Time      // nothing is to be done before
}

// look deletes what is due, if the time has come and the turn is free. done is empty if nothing was tried.
func (w *retentionWatch) look(ctx context.Context) (done landscape.RetentionTurn, err error) {
	now := w.log.Now().Time()
	free, err := w.free(ctx, now)
	if err != nil || !free || now.Before(w.next) {
		return done, err
	}
	turn := &attestTurn{log: w.log, at: w.seen}
	if err := turn.move(ctx); err != nil {
		return done, unlessLost(err)
	}
	more := false
	err = turn.during(ctx, func(ctx context.Context) (err error) {
		done, more, err = w.keeper.Turn(ctx)
		return err
	})
	if errors.Is(err, landscape.ErrTurnLost) {
		return done, nil
	}
	w.seen, w.mine = turn.at, true
	ended := w.log.Now().Time()
	if w.next = ended.Add(max(retainEvery, retainRests*ended.Sub(now))); more && done.Problem == "" {
		w.next = ended.Add(retainLook)
	}
	return done, err
}

// free reports whether no process has the turn: it is where this process left it, or has stood still for so long that
// the one that had it is gone. Another process that had it puts off the next turn of this one.
func (w *retentionWatch) free(ctx context.Context, now time.Time) (bool, error) {
	turn, err := w.log.Turn(ctx, landscape.RetainTurns)
	if err != nil {
		return false, err
	}
	if turn != w.seen {
		if w.seen != (landscape.Turn{}) {
			w.next = now.Add(retainEvery)
		}
		w.seen, w.since, w.mine = turn, now, false
	}
	return w.alone || w.mine || now.Sub(w.since) >= attestLease, nil
}
