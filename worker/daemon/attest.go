package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"waymark/activities"
	"waymark/audit"
	"waymark/audit/evidence"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/worker/storage"
)

const (
	// attestLook is the longest time between two looks for runs whose outputs are to be attested again. A look reads a little of every complete run, so the pause after one
	// that takes long is longer.
	attestLook  = 10 * time.Second
	attestRests = 50 // times as long as the look took
	// attestBeat is how often a process that attests moves the turn on; attestLease is how long the turn stands still before another process takes it.
	attestBeat  = 10 * time.Second
	attestLease = 3 * attestBeat
	// attestRetry is how long a run is left alone that could not be attested.
	attestRetry = 10 * time.Minute
)

// watchOutputs attests the outputs of runs again whose documents ask for that, one run after the other, until ctx ends. Every worker that signs what it finds does so; one of them
// at a time attests. It only reads targets, and runs do not wait for it.
func (d *process) watchOutputs(ctx context.Context, opened *storage.Storage) {
	planner := d.plannerOf(opened)
	planner.AllowWrite = planner.Allow // they are written already, perhaps by somebody in a process of his own
	w := &outputsWatch{
		process: d, log: opened.Log, schedule: audit.NewAttestSchedule(opened.Log.Reader),
		auditor: audit.New(opened.Log.Reader, opened.Payloads, planner), failed: map[string]time.Time{},
	}
	for {
		pause, err := w.look(ctx)
		if err != nil && ctx.Err() == nil {
			d.logger.Warn("cannot attest the outputs of runs", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// outputsWatch is what a process knows that attests on schedule.
type outputsWatch struct {
	*process
	log      *landscape.Log
	schedule *audit.AttestSchedule
	auditor  *audit.Auditor

	seen  landscape.Turn // the turn when this process looked last
	since time.Time      // when it saw that first

	failed map[string]time.Time // when runs were tried last that could not be attested
}

// look attests what is due, if the turn is free, and returns how long nobody needs to look again.
func (w *outputsWatch) look(ctx context.Context) (pause time.Duration, err error) {
	begun, now := time.Now(), w.log.Now()
	found, err := w.schedule.Look(ctx, now)
	if err != nil {
		return attestLook, err
	}
	w.telemetry.Attestations(found.Scheduled, found.Overdue(now))
	rest := attestRests * time.Since(begun)
	attested, err := w.attestAll(ctx, found.Due)
	pause = attestLook
	switch {
	case err != nil:
	case attested:
		pause = 0
	case found.Next != 0:
		pause = min(pause, found.Next.Time().Sub(w.log.Now().Time()))
	}
	return max(pause, rest), err
}

// attestAll attests runs that are due, one after the other, as far as this process can and no other does.
func (w *outputsWatch) attestAll(ctx context.Context, due []audit.DueRun) (attested bool, err error) {
	due = slices.DeleteFunc(due, func(run audit.DueRun) bool { return !w.sees(run) || time.Since(w.failed[run.Run]) < attestRetry })
	free, err := w.free(ctx)
	if err != nil || !free || len(due) == 0 {
		return false, err
	}
	turn := &attestTurn{log: w.log, at: w.seen}
	if err := turn.move(ctx); err != nil {
		return false, unlessLost(err)
	}
	for _, run := range due {
		err := w.attest(ctx, turn, run.Run)
		if errors.Is(err, landscape.ErrTurnLost) || ctx.Err() != nil {
			return false, unlessLost(err)
		}
		delete(w.failed, run.Run)
		if err != nil {
			w.failed[run.Run] = time.Now()
			w.logger.Error("the outputs of a run cannot be attested", "run", run.Run, "error", err)
		}
	}
	w.seen, w.since = turn.at, time.Time{} // it is free again
	return true, nil
}

// sees reports whether this process sees the outputs of a run.
func (w *outputsWatch) sees(run audit.DueRun) bool {
	return w.Alone || !run.Local || run.Host == w.files()
}

// free reports whether no process attests: the turn is where this process left it, or has stood still for so long that the one that had it is gone.
func (w *outputsWatch) free(ctx context.Context) (bool, error) {
	turn, err := w.log.Turn(ctx, landscape.AttestTurns)
	if err != nil {
		return false, err
	}
	if turn != w.seen {
		w.seen, w.since = turn, time.Now()
	}
	return w.Alone || time.Since(w.since) >= attestLease, nil
}

// attest reads the outputs of a run that is still due, and records what it finds. What it cannot look at is recorded as unknown. The error says that the record could not be
// read, or does not fit its seals, and so says nothing of what was written.
func (w *outputsWatch) attest(ctx context.Context, turn *attestTurn, id string) error {
	due, err := w.schedule.Due(ctx, id, w.log.Now())
	if err != nil || !due {
		return err
	}
	run, err := w.log.Run(ctx, id)
	if err != nil {
		return err
	}
	var found []landscape.Attestation
	err = turn.during(ctx, func(ctx context.Context) (err error) {
		if _, _, err := evidence.CheckedRecord(ctx, w.log.Reader, id); err != nil && !errors.Is(err, landscape.ErrUnsealed) {
			return err
		}
		found, err = w.auditor.Attest(ctx, run, audit.AttestOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return w.record(ctx, turn, run, found)
}

// record records what was found of the outputs of a run, and says what is not as it was written.
func (w *outputsWatch) record(ctx context.Context, turn *attestTurn, run landscape.Run, found []landscape.Attestation) error {
	for i := range found {
		found[i].Actor = activities.Waymark
	}
	found, err := turn.record(ctx, found)
	if err != nil {
		return err
	}
	for _, a := range found {
		say := w.logger.Info
		if a.Altered() {
			say = w.logger.Warn
		}
		say("attested", "run", run.ID, "pipeline", run.Pipeline, "sink", a.Sink, "result", a.Result, "attestation", a.Seq)
	}
	return nil
}

// attestTurn is the turn of this process.
type attestTurn struct {
	log *landscape.Log
	at  landscape.Turn
}

func (t *attestTurn) move(ctx context.Context) (err error) {
	t.at, err = t.log.MoveTurn(ctx, t.at)
	return err
}

func (t *attestTurn) record(ctx context.Context, found []landscape.Attestation) (recorded []landscape.Attestation, err error) {
	recorded, t.at, err = t.log.RecordInTurn(ctx, t.at, found)
	return recorded, err
}

// during does something that may take long, and lets others see meanwhile that this process is alive. If another process takes the turn nevertheless, it is broken off.
func (t *attestTurn) during(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go defect.Guard("attestation", func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(attestBeat):
			}
			if err := t.move(context.WithoutCancel(ctx)); errors.Is(err, landscape.ErrTurnLost) {
				stop(err)
			}
		}
	})()
	err := defect.Catch("attestation", func() error { return do(ctx) })
	lost := context.Cause(ctx)
	stop(nil)
	<-ended
	if errors.Is(lost, landscape.ErrTurnLost) {
		return lost
	}
	return err
}

// unlessLost returns an error, nil if it says that another process attests: that is as it should be.
func unlessLost(err error) error {
	if errors.Is(err, landscape.ErrTurnLost) {
		return nil
	}
	return err
}
