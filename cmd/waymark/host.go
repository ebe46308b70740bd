package main

import (
	"context"
	"path/filepath"

	"waymark/client"
	"waymark/internal/temporal/embedded"
	"waymark/workflows"
)

// host is what executes runs for this invocation. In a state folder a process executes one run at a time. On a cluster every run has a
// workflow, and nobody executes one that has none, or whose workflow ended.
type host struct {
	app    *app
	post   *post // to the cluster; nil until it is asked
	failed error // why it cannot be asked
}

// Executes does what client.Host says.
func (h *host) Executes(ctx context.Context, run string) *bool {
	if !h.app.onCluster() {
		return h.app.attended()
	}
	if h.post == nil && h.failed == nil {
		if h.post, h.failed = h.app.dialCluster(ctx); h.failed != nil {
			h.app.note("whether somebody works for runs cannot be told: %v", h.failed)
		}
	}
	if h.failed != nil {
		return nil
	}
	open, err := h.post.open(ctx, run)
	if err != nil {
		return nil
	}
	return &open
}

// View does what client.Host says.
func (h *host) View(ctx context.Context, run string) (view *workflows.View) {
	if h.failed != nil {
		return nil
	}
	_, err := h.app.withWorker(ctx, run, func(worker *attendant) error {
		answer, err := worker.view(ctx, run)
		if err == nil {
			view = &answer
		}
		return err
	})
	if err != nil {
		return nil // it is busy, or cannot be reached
	}
	return view
}

func (h *host) close() {
	if h.post != nil {
		h.post.client.Close()
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

// gone is said of a run that is running on record, and nobody works for it.
func (a *app) gone() string {
	if a.onCluster() {
		return " (no workflow is open for it; waymark resume goes on with it)"
	}
	return " (its process is gone; waymark resume goes on with it)"
}

// statusText is the status for people.
func (a *app) statusText(run *client.Run) string {
	switch {
	case run.Dead():
		return string(run.Status) + a.gone()
	case run.Final:
		return string(run.Status) + " (for good)"
	}
	return string(run.Status)
}
