package main

import (
	"path/filepath"

	"waymark/embedded"
	"waymark/landscape"
	"waymark/pipeline"
)

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

// attend says of a run that is running on record whether a process works for it.
func (h *runHead) attend(alive *bool) {
	if h.Status == pipeline.Running {
		h.Alive = alive
	}
}

// statusText is the status for people.
func (h *runHead) statusText() string {
	switch {
	case h.Alive != nil && !*h.Alive:
		return string(h.Status) + " (its process is gone; waymark resume goes on with it)"
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
