package remote

import (
	"encoding/json"

	"waymark/activities"
	"waymark/audit"
	"waymark/client"
)

// Page is a part of a list.
type Page[T any] struct {
	Items []T    `json:"items"`          // not nil
	Next  string `json:"next,omitempty"` // after of the next page; empty if this is the last one
}

// StartRequest says which run to start.
type StartRequest struct {
	Pipeline    string            `json:"pipeline"`              // NAME or NAME@VERSION
	Environment string            `json:"environment,omitempty"` // empty for the one of the workers
	Params      activities.Params `json:"params,omitempty"`
	For         string            `json:"for,omitempty"`      // the slot that the run is about
	Schedule    string            `json:"schedule,omitempty"` // whose slot that is
	Run         string            `json:"run,omitempty"`      // id of the run; empty for a new one
	Why         string            `json:"why,omitempty"`

	Rows map[string][]json.RawMessage `json:"rows,omitempty"` // what sources of the format webhook read, by their names: at most client.MostRows, of client.MostRowBytes together
}

// OrderRequest says why an order is given, for the record.
type OrderRequest struct {
	Why string `json:"why"` // not empty
}

// ResumeRequest says how a run is to be resumed.
type ResumeRequest struct {
	Why      string `json:"why"`                // not empty
	Recorded bool   `json:"recorded,omitempty"` // with the recorded document, even if its file changed
}

// RetryRequest says with what the rows in quarantine are to be retried.
type RetryRequest struct {
	Why     string            `json:"why"`               // not empty
	Version int64             `json:"version,omitempty"` // of the run's pipeline; 0 for the document that refused them
	Params  activities.Params `json:"params,omitempty"`  // in the place of those that the run had
	Run     string            `json:"run,omitempty"`     // id of the new run; empty for one that is made up
}

// WhatIfRequest is a document that is to be tried on a run.
type WhatIfRequest struct {
	Document string            `json:"document"`         // the text, in the place of the run's own document; not empty
	Params   activities.Params `json:"params,omitempty"` // in the place of those that the run had
}

// CancelRequest says how a run is to be cancelled.
type CancelRequest struct {
	Why   string `json:"why"`             // not empty
	Final bool   `json:"final,omitempty"` // for ever: it cannot be resumed, and what it staged is removed
}

// ResolveRequest says what became of a blocked effect.
type ResolveRequest struct {
	Why     string `json:"why"`     // not empty
	Effect  string `json:"effect"`  // its id
	Applied bool   `json:"applied"` // the target has what was to be written
}

// RedeployRequest says what is to become of a deployed pipeline.
type RedeployRequest struct {
	Why         string `json:"why"`                   // not empty
	Environment string `json:"environment,omitempty"` // in which that happens; empty for the default one
	From        string `json:"from,omitempty"`        // of a promotion: the environment in which the version is current; empty for the default one
	Version     int64  `json:"version,omitempty"`     // of a promotion or a rollback: which one; 0 for the current one, or the one before that
}

// DeployRequest says what is to be deployed.
type DeployRequest struct {
	Why         string            `json:"why"`                   // message of the version; not empty
	Document    string            `json:"document"`              // the text of the document; not empty
	Files       map[string]string `json:"files,omitempty"`       // texts that it is compiled with, such as lookup tables, by path as the document names them
	File        string            `json:"file,omitempty"`        // name of the document in messages; empty for pipeline.yaml
	Environment string            `json:"environment,omitempty"` // in which it becomes current; empty for the default one
	Params      activities.Params `json:"params,omitempty"`      // to check it with, of parameters that have no default
	Try         int               `json:"try,omitempty"`         // send the source records of so many complete runs through it, and say what is other
	Anyway      string            `json:"anyway,omitempty"`      // why it is deployed although a second run would stop, or none can succeed now
	DryRun      bool              `json:"dry_run,omitempty"`     // change nothing, and say what would happen
}

// Ordered says what an order did.
type Ordered struct {
	Run     string `json:"run,omitempty"`
	Order   string `json:"order"`
	Changed bool   `json:"changed"` // else it was so already

	Deleted []client.Staged `json:"deleted,omitempty"` // what a run that is cancelled permanently had staged
}

// PauseScheduleRequest says how a schedule is to be paused.
type PauseScheduleRequest struct {
	Why   string `json:"why"`             // not empty
	Until string `json:"until,omitempty"` // when the pause ends, such as 2026-12-01T06:00:00Z; empty for never
}

// ResumeScheduleRequest says how a schedule is to be resumed.
type ResumeScheduleRequest struct {
	Why    string `json:"why"`               // not empty
	MakeUp string `json:"make_up,omitempty"` // which of the slots that it missed get a run: none, last or all; empty for none
}

// SlotRequest says which slot is to be run.
type SlotRequest struct {
	Why   string `json:"why"`             // not empty
	Slot  string `json:"slot"`            // its name, or a date; not empty
	Again bool   `json:"again,omitempty"` // also if it is done: it gets another run
}

// IgnoreRequest says what of a trigger's arrivals gets no run.
type IgnoreRequest struct {
	Why  string `json:"why"`            // not empty
	Item string `json:"item,omitempty"` // path of a file, RUN/SINK of an output, or the receipt of a delivery; empty with All
	All  bool   `json:"all,omitempty"`  // everything that waits
}

// AgainRequest says what is to arrive once more.
type AgainRequest struct {
	Why  string `json:"why"`  // not empty
	Item string `json:"item"` // path of a file, RUN/SINK of an output, or the receipt of a delivery; not empty
}

// VerificationState says how far a verification is.
type VerificationState string

// The states of a verification.
const (
	Waiting     VerificationState = "waiting" // for another one
	Verifying   VerificationState = "verifying"
	Verified    VerificationState = "verified"     // it is done: what it found is in the report
	NotVerified VerificationState = "not_verified" // it could not be done
)

// Verification computes everything that is recorded of a run again, and compares.
type Verification struct {
	Run      string            `json:"run"`
	State    VerificationState `json:"state"`
	Actor    string            `json:"actor"` // who asked for it
	Asked    client.Time       `json:"asked"`
	Done     int64             `json:"done"`  // of the work
	Total    int64             `json:"total"` // of the work; 0 if that is not known yet
	Finished client.Time       `json:"finished"`
	Failure  string            `json:"failure,omitempty"` // why it could not be done
	Report   *audit.Report     `json:"report,omitempty"`
}

// Ended reports whether nothing more comes of it.
func (v *Verification) Ended() bool { return v.State == Verified || v.State == NotVerified }
