package client

import (
	"context"
	"slices"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
)

// Run is one run in a list.
type Run struct {
	ID          string             `json:"run"`
	Pipeline    string             `json:"pipeline"`
	Version     int64              `json:"version,omitempty"`            // of the deployed pipeline that it is a run of; 0 for a file
	Environment string             `json:"environment,omitempty"`        // in which that is deployed; empty for a file
	Values      string             `json:"environment_values,omitempty"` // which of its values the run has, such as prod#12; empty if it had none
	Slot        string             `json:"slot,omitempty"`               // of time, that the run is about
	Schedule    string             `json:"schedule,omitempty"`           // ENVIRONMENT/PIPELINE/NAME of the one that began it
	Status      pipeline.RunStatus `json:"status"`
	Final       bool               `json:"final,omitempty"` // cancelled permanently
	Epoch       int64              `json:"epoch"`           // how often it was resumed
	Alive       *bool              `json:"alive,omitempty"` // of a running run: whether somebody executes it; nil if that is not known
	Reason      string             `json:"reason,omitempty"`
	Started     Time               `json:"started"`
	Finished    Time               `json:"finished,omitempty"`
	Seconds     float64            `json:"seconds,omitempty"`
	Actor       string             `json:"actor"`
	Why         string             `json:"why,omitempty"` // as who asked for it said; empty if nobody did
	Trigger     string             `json:"trigger"`
	Host        string             `json:"host"`
	Code        string             `json:"code"`
	Folder      string             `json:"folder"`
	Document    string             `json:"document_sha256"`
	Plan        string             `json:"plan_sha256"`
	Archived    string             `json:"archived,omitempty"` // where the bundle with its record is; empty if the landscape has the record
}

// ProcessEnded is the reason of a run whose process ended without recording why. Stored; never change it.
const ProcessEnded = "interrupted: the process that worked for it ended"

func runOf(head landscape.RunHead) Run {
	run := Run{
		ID: head.ID, Pipeline: head.Pipeline, Version: head.Version, Environment: head.Environment,
		Values: landscape.Environment{Name: head.Environment, Seq: head.EnvironmentSeq}.String(), Status: head.Status, Final: head.Final, Epoch: head.Epoch, Reason: head.Reason,
		Started: Time(head.Started), Finished: Time(head.Finished),
		Actor: head.Actor, Trigger: head.Trigger, Host: head.Host, Code: head.Code, Folder: head.BaseDir,
		Document: head.DocumentSHA256, Plan: head.PlanSHA256,
	}
	if took, known := run.Took(); known {
		run.Seconds = took.Seconds()
	}
	return run
}

// Took returns how long the run took, and whether that is known: it is not while the run is running, nor for a process that ended
// without recording it, which was noticed later.
func (r *Run) Took() (took time.Duration, known bool) {
	if !r.Finished.Known() || r.Status == pipeline.Interrupted && r.Reason == ProcessEnded {
		return 0, false
	}
	return r.Finished.Time().Sub(r.Started.Time()), true
}

// Dead reports whether the run is running according to its record, and nobody executes it.
func (r *Run) Dead() bool { return r.Alive != nil && !*r.Alive }

// Unsure reports whether the run is running according to its record, and it is not known whether somebody executes it.
func (r *Run) Unsure() bool { return r.Status == pipeline.Running && r.Alive == nil }

// Complete reports whether nothing is left to do for a run with this status.
func Complete(status pipeline.RunStatus) bool { return status.Complete() }

// Runs returns the runs on record, the newest first, at most limit of them unless that is 0 or less, and how many there are.
func (c *Client) Runs(ctx context.Context, limit int) (runs []Run, total int, err error) {
	defer c.edge(ctx, &err)
	heads, err := c.log.RecentRuns(ctx, nil, limit)
	if err != nil {
		return nil, 0, err
	}
	if total = len(heads); total == limit {
		if total, err = c.log.CountRuns(ctx); err != nil {
			return nil, 0, err
		}
	}
	for _, head := range heads {
		run := runOf(head)
		if _, err := c.attend(ctx, &run); err != nil {
			return nil, 0, err
		}
		if err := c.addSlot(ctx, &run); err != nil {
			return nil, 0, err
		}
		runs = append(runs, run)
	}
	return runs, total, nil
}

// addSlot adds what the request for the run says: the slot that it is about, the schedule that began it, and why; and where its record is, if it is archived.
func (c *Client) addSlot(ctx context.Context, run *Run) error {
	start, err := c.log.StartOfRun(ctx, run.ID)
	if err != nil {
		return err
	}
	run.Slot, run.Schedule, run.Why = start.Slot, start.Schedule, start.Why
	archive, err := c.log.ArchiveOf(ctx, run.ID)
	if archive != nil {
		run.Archived = archive.Place()
	}
	return err
}

// attend finds out whether somebody executes a run that is running. One that nobody executes may have ended, or have
// been resumed, since its record was read: then run is what is recorded now, and changed is true.
func (c *Client) attend(ctx context.Context, run *Run) (changed bool, err error) {
	if run.Status != pipeline.Running {
		return false, nil
	}
	if run.Alive = c.host.Executes(ctx, run.ID); !run.Dead() {
		return false, nil
	}
	now, err := c.log.Run(ctx, run.ID)
	if err != nil {
		return false, err
	}
	if changed = now.Status != pipeline.Running || now.Epoch != run.Epoch; changed {
		*run = runOf(now.RunHead)
	}
	return changed, nil
}

// Beginning returns the runs whose ids begin like that, the newest first; for an empty beginning the newest runs, at most limit of them
// unless that is 0 or less.
func (c *Client) Beginning(ctx context.Context, id string, limit int) (runs []landscape.RunHead, err error) {
	defer c.edge(ctx, &err)
	if id == "" {
		return c.log.RecentRuns(ctx, nil, limit)
	}
	runs, err = c.log.RunsWith(ctx, id)
	slices.SortFunc(runs, NewestFirst)
	return runs, err
}
