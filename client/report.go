package client

import (
	"waymark/audit/evidence"
	"waymark/landscape/persons"
)

// RunReport is all that is known of how a run is.
type RunReport struct {
	*Status
	Log    *RunInLog    `json:"log,omitempty"`               // nil if the record's log has not begun
	Orders []*OrderCase `json:"approval_requests,omitempty"` // about the run
	// nil if the run is running, or was not sealed when it ended
	Seal *RunSeal `json:"seal,omitempty"`
	// of a run that is not recorded: what became of the request
	Start *Start `json:"start,omitempty"`
	// that write into tables: what they wrote is there part by part, also if the run publishes nothing
	Tables []string `json:"table_sinks,omitempty"`
}

// RunInLog says where a run is in the landscape's log, and how far that is.
type RunInLog struct {
	Entry    int64 `json:"entry"`    // that says that it began; -1 if there is none
	Signed   bool  `json:"signed"`   // the entry is under a signed head
	Anchored int   `json:"anchored"` // how many anchors have the entry
	Anchors  int   `json:"anchors"`  // of how many

	// What entries say of the run and is not recorded so; nil if all is.
	Missing []evidence.Missing `json:"missing,omitempty"`
}

// RunSeal is the last seal of a run.
type RunSeal struct {
	Run     string `json:"run"`
	Seal    int64  `json:"seal"` // which of the run's, from 0
	Root    string `json:"root"` // in hex
	Records int64  `json:"records"`
	Late    bool   `json:"late"`            // it was not made when the run ended: it proves only that nothing changed since
	Entry   *int64 `json:"entry,omitempty"` // of the landscape's log; nil if that has none about it
	New     bool   `json:"new"`             // it was made now
}

// OrderState says how an order is. JSON has these words.
type OrderState string

// The states of an order.
const (
	OrderProposed  OrderState = "proposed" // too few signatures count yet
	OrderApproved  OrderState = "approved" // enough signatures count
	OrderExpired   OrderState = "expired"
	CommandInvalid OrderState = "invalid" // its own signature does not count
	OrderIsStale   OrderState = "stale"   // what it is about changed since
	OrderExecuted  OrderState = "executed"
)

// OrderCase is an order, who signed it, and what became of it.
type OrderCase struct {
	persons.Case
	State   OrderState `json:"status"`
	Changed []string   `json:"changed,omitempty"` // of a stale order: what is not as it was
	Needed  int64      `json:"needed"`            // persons
	Counted int64      `json:"counted"`           // persons whose signatures count

	Executed  Time   `json:"executed,omitzero"`
	Executor  string `json:"executor,omitempty"`
	Emergency string `json:"emergency,omitempty"` // why one person executed it; empty if enough persons had signed
	Reviewed  int64  `json:"reviewed,omitempty"`  // persons who looked at that
}

// reviewers is how many persons must review what one person executed.
const reviewers = 2

// Unreviewed reports whether one person executed the order, and too few others looked at that.
func (c *OrderCase) Unreviewed() bool { return c.Emergency != "" && c.Reviewed < reviewers }
