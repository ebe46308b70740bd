package main

import (
	"context"
	"path/filepath"

	"waymark/client"
)

// host is what executes runs for this invocation. In a state folder a process executes one run at a time. On a cluster every run has a
// workflow, and nobody executes one that has none, or whose workflow ended.
type host struct {
	app     *app
	cluster *client.Connection // to the cluster; nil until it is asked
	failed  error              // why it cannot be asked
}

// Executes does what client.Host says.
func (h *host) Executes(ctx context.Context, run string) *bool {
	if !h.app.onCluster() {
		return h.app.attended()
	}
	if h.cluster == nil && h.failed == nil {
		if h.cluster, h.failed = h.app.dialCluster(ctx); h.failed != nil {
			h.app.note("whether somebody executes runs is unknown: %v", h.failed)
		}
	}
	if h.failed != nil {
		return nil
	}
	open, err := h.cluster.Open(ctx, run)
	if err != nil {
		return nil
	}
	return &open
}

// Reach does what client.Host says: it connects to the process that uses the state folder, or to the cluster.
func (h *host) Reach(ctx context.Context) (*client.Executor, error) {
	a := h.app
	if a.onCluster() {
		connection, err := a.dialCluster(ctx)
		if err != nil {
			return nil, err
		}
		return &client.Executor{Connection: connection, Queue: a.queue}, nil
	}
	return a.folder().Reach(ctx, a.databases())
}

// Session does what client.Host says.
func (h *host) Session(ctx context.Context, purpose client.Purpose) (*client.Session, error) {
	return h.app.session(ctx, purpose)
}

func (h *host) close() {
	if h.cluster != nil {
		h.cluster.Temporal.Close()
	}
}

// attended reports whether a process works with the state folder; nil if that says nothing about the runs on record: the
// record is not the state folder's own, or the lock cannot be looked at.
func (a *app) attended() *bool {
	if !a.ownRecord() {
		return nil
	}
	return a.folder().Held()
}

// ownRecord reports whether the record is the state folder's own.
func (a *app) ownRecord() bool {
	path, err := a.landscapePath()
	return err == nil && filepath.Dir(path) == filepath.Clean(a.state)
}

// gone is said of a run that is running on record, and nobody works for it.
func (a *app) gone() string {
	if a.onCluster() {
		return " (no workflow is open for it; waymark resume continues it)"
	}
	return " (its process is gone; waymark resume continues it)"
}

// statusText is the status for people.
func (a *app) statusText(run *client.Run) string {
	switch {
	case run.Dead():
		return string(run.Status) + a.gone()
	case run.Final:
		return string(run.Status) + " (permanently)"
	}
	return string(run.Status)
}
