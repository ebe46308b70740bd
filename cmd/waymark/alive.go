package main

import (
	"context"
	"path/filepath"

	"waymark/embedded"
	"waymark/landscape"
	"waymark/pipeline"
)

// attendance tells whether somebody works for a run that is running on record; nil if that cannot be told.
type attendance func(run string) *bool

// attendance returns what tells who works for runs, and what ends it. In a state folder a process works for one of them at a time. On
// a cluster every run has a workflow, and one that has none, or whose workflow ended, has nobody.
func (a *app) attendance(ctx context.Context) (attendance, func()) {
	if !a.onCluster() {
		alive := a.attended()
		return func(string) *bool { return alive }, func() {}
	}
	var p *post
	var failed error
	ask := func(run string) *bool {
		if p == nil && failed == nil { // only if a run is running
			if p, failed = a.dialCluster(ctx); failed != nil {
				a.note("whether somebody works for runs cannot be told: %v", failed)
			}
		}
		if failed != nil {
			return nil
		}
		open, err := p.open(ctx, run)
		if err != nil {
			return nil
		}
		return &open
	}
	return ask, func() {
		if p != nil {
			p.client.Close()
		}
	}
}

// attended reports whether a process works with the state folder; nil if that says nothing about the runs on record: the
// record is not the state folder's own, or the lock cannot be looked at.
func (a *app) attended() *bool {
	if !a.ownRecord() {
		return nil
	}
	_, held, err := embedded.Holder(a.inState("temporal.db"))
	if err != nil {
		return nil
	}
	return &held
}

// ownRecord reports whether the record is the state folder's own.
func (a *app) ownRecord() bool {
	path, err := a.landscapePath()
	return err == nil && filepath.Dir(path) == filepath.Clean(a.state)
}

// attend says of a run that is running on record whether somebody works for it.
func (h *runHead) attend(works attendance) {
	if h.Status == pipeline.Running {
		h.Alive = works(h.Run)
	}
}

// gone is said of a run that is running on record, and nobody works for it.
func (a *app) gone() string {
	if a.onCluster() {
		return " (no workflow is open for it; waymark resume goes on with it)"
	}
	return " (its process is gone; waymark resume goes on with it)"
}

// statusText is the status for people.
func (a *app) statusText(h *runHead) string {
	switch {
	case h.Alive != nil && !*h.Alive:
		return string(h.Status) + a.gone()
	case h.Final:
		return string(h.Status) + " (for good)"
	}
	return string(h.Status)
}

// processEnded is the reason of a run whose process ended without a word.
const processEnded = "interrupted: the process that worked for it ended"

// endKnown reports whether a run ended when its record says so. When a process ended without a word is not known, only when that
// was noticed.
func endKnown(run landscape.RunHead) bool {
	return run.Finished != 0 && (run.Status != pipeline.Interrupted || run.Reason != processEnded)
}

// tookText is how long the run took, or nothing if that is not known.
func (h *runHead) tookText() string {
	if !h.endKnown {
		return "-"
	}
	return span(h.started, h.finished)
}
