package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/worker/storage"
)

// notaryEvery is how often new entries of the log are signed.
const notaryEvery = 2 * time.Second

// openLog compares the landscape's log with the heads that were signed, before anything is written, and lets what becomes of runs be logged.
func (d *process) openLog(ctx context.Context, opened *storage.Storage) (*evidence.Evidence, error) {
	o := evidence.Options{Keys: d.Keys, Make: d.MakeKeys, Host: d.files()}
	for _, anchor := range d.LogAnchors {
		anchor = evidence.Whole(anchor)
		if _, folder := evidence.PlaceOf(anchor).(evidence.Folder); folder && d.MakeKeys {
			if err := os.MkdirAll(anchor, 0o700); err != nil {
				return nil, err
			}
		}
		if err := evidence.CheckAnchor(anchor); err != nil {
			return nil, &UsageError{fmt.Errorf("--log-anchor: %w", err)}
		}
		o.Anchors = append(o.Anchors, anchor)
	}
	d.LogAnchors = o.Anchors
	e, err := evidence.Open(ctx, opened.Log, o)
	if err != nil {
		err = fmt.Errorf("the log: %w", err)
		if _, unusable := errors.AsType[*evidence.UnusableKeyError](err); unusable {
			err = &UsageError{err}
		}
		return nil, err
	}
	switch {
	case e.Revoked && d.MakeKeys: // beside the log's own key, somebody can give it one that counts
		return nil, &UsageError{fmt.Errorf("runs would have no entries in the log: %s", e.Unsealed)}
	case e.Unsealed != "":
		d.logger.Warn("runs have no entries in the log", "why", e.Unsealed)
	}
	if e.Replaced != nil {
		d.logger.Warn("this process does not sign the log", "why", e.Replaced)
	}
	for _, away := range e.Away {
		d.logger.Warn("signed heads of the log wait", "why", away)
	}
	for _, silent := range e.Silent {
		d.logger.Warn("heads of the log lack a signature", "why", silent)
	}
	opened.Log = e.Log
	return e, nil
}

// watchLog signs what is new in the log until ctx ends, if this process has the key, and tells how far it is.
func (d *process) watchLog(ctx context.Context, log *landscape.Log, notary *evidence.Notary) {
	tell := func() {
		if b, err := evidence.BacklogOf(context.WithoutCancel(ctx), log.Reader, d.LogAnchors); err == nil {
			d.telemetry.Log(b)
		}
	}
	if notary == nil {
		return
	}
	notary.Work(ctx, notaryEvery, d.logger, tell)
}

// sealsEvery is how often runs are looked for that ended and are not sealed: that reads a little of every run.
const sealsEvery = time.Minute

// watchSeals counts until ctx ends the runs that ended longer than evidence.SealPatience ago and are not sealed. They
// are no reason to stop anything.
func (d *process) watchSeals(ctx context.Context, log *landscape.Reader) {
	for {
		unsealed, err := log.UnsealedRuns(ctx, landscape.MicrosOf(time.Now().Add(-evidence.SealPatience)))
		switch {
		case err == nil:
			d.telemetry.Unsealed(len(unsealed))
		case ctx.Err() == nil:
			d.logger.Warn("cannot look for runs that are not sealed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sealsEvery):
		}
	}
}
