package main

import (
	"path/filepath"

	"waymark/embedded"
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

// tookText is how long the run took. When an interrupted run ended is not known, only when that was noticed.
func (h *runHead) tookText() string {
	if h.Status == pipeline.Interrupted {
		return "-"
	}
	return span(h.started, h.finished)
}
