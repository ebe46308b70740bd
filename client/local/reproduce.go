package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"waymark/activities/recompute"
	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
)

// Reproduction says whether a run that was executed again made the same of its rows.
type Reproduction struct {
	Type    string                `json:"type"` // always reproduction
	Run     string                `json:"run"`
	Equal   bool                  `json:"equal"`
	Status  pipeline.RunStatus    `json:"status"`           // with which the second run ended
	Reason  string                `json:"reason,omitempty"` // why that ended as it did
	Rows    int64                 `json:"rows"`             // of sources, that both runs have
	Hashes  int64                 `json:"hashes"`           // of rows, as they left nodes
	Parts   int64                 `json:"parts"`            // of outputs: their bytes
	Differ  int64                 `json:"differ"`           // how many records differ
	First   []landscape.Unlike    `json:"first"`            // those of the first chunks; empty, not nil, if there is none
	Records []landscape.LikeTable `json:"records"`          // how many were compared, by table
	Seconds float64               `json:"seconds"`
}

// Reproduce executes a complete run a second time and compares what the two made: on a Temporal server and a record of its own, which are gone
// afterwards, with the document, the parameters, the tables and the source records that are recorded. Its sinks keep nothing, and nothing that the run
// read or wrote is touched; the landscape and the payload store are only read. word is all that Find takes. The error is an *Error of kind Conflict if
// the run cannot be reproduced: it is not complete, its plan needs what is not here, or the clock ended batches of it.
func (h *Home) Reproduce(ctx context.Context, word string) (*Reproduction, error) {
	run, err := h.Find(ctx, word)
	if err == nil {
		err = h.NotArchived(ctx, run.ID, "reproduced")
	}
	if err != nil {
		return nil, err
	}
	if !client.Complete(run.Status) {
		return nil, notReproducible(run.ID, fmt.Sprintf("run %s is %s: only what a complete run made can be made again", run.ID, run.Status))
	}
	if purged, err := h.Purged(ctx, run.ID); err != nil {
		return nil, err
	} else if purged != "" {
		return nil, notReproducible(run.ID, fmt.Sprintf("run %s cannot be reproduced: %s", run.ID, purged))
	}
	again, err := h.rerun(ctx, run)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "waymark-reproduce-")
	if err != nil {
		return nil, err
	}
	began := time.Now()
	made, err := h.execute(ctx, again, Folder(scratch))
	if made != nil {
		made.Seconds = time.Since(began).Seconds()
	}
	return made, errors.Join(err, os.RemoveAll(scratch))
}

func notReproducible(run, message string) error {
	return &client.Error{Kind: client.Conflict, Code: client.NotReproducible, Message: message, Run: run}
}

// rerun reads what it takes to execute a run again.
func (h *Home) rerun(ctx context.Context, run landscape.Run) (*recompute.Rerun, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.Closed()
	if err == nil {
		err = h.payloads(ctx, false)
	}
	if err != nil {
		return nil, err
	}
	return recompute.NewRerun(ctx, h.stores.Log.Reader, h.stores.Payloads, run)
}

// execute executes the run in a state folder of its own, and compares.
func (h *Home) execute(ctx context.Context, again *recompute.Rerun, scratch Folder) (made *Reproduction, err error) {
	second, err := h.beside(ctx, again, scratch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, second.Close()) }()
	doc, err := client.CompileRerun(*second.planner)
	if err != nil {
		return nil, notReproducible(again.Run.ID, err.Error())
	}
	if ended, err := recompute.EndedByClock(ctx, again.Log, again.Run.ID); err != nil {
		return nil, err
	} else if len(ended) > 0 {
		return nil, notReproducible(again.Run.ID, fmt.Sprintf("in %s of run %s the clock ended batches, and no second run has the same moments; waymark verify computes with those on record",
			strings.Join(ended, ", "), again.Run.ID))
	}
	execution, err := second.Start(ctx, client.StartRequest{Document: doc, Input: new(bytes.Reader), By: client.By{Why: "reproduces run " + again.Run.ID}})
	if err != nil {
		return nil, err
	}
	status, err := execution.Wait(ctx)
	if err = errors.Join(err, execution.Close()); err != nil {
		return nil, err
	}
	like, err := landscape.CompareRuns(ctx, again.Log, again.Run.ID, second.stores.Log.Reader, execution.Run)
	if err != nil {
		return nil, err
	}
	return &Reproduction{
		Type: "reproduction", Run: again.Run.ID, Equal: like.Differ == 0 && status.Status == again.Run.Status, Status: status.Status, Reason: status.Reason,
		Rows: like.Rows, Hashes: like.Hashes, Parts: like.Parts, Differ: like.Differ, First: append([]landscape.Unlike{}, like.First...), Records: like.Compare,
	}, nil
}

// beside opens a Home in a folder of its own, in which nothing but the run is compiled.
func (h *Home) beside(ctx context.Context, again *recompute.Rerun, scratch Folder) (*Home, error) {
	planner, err := h.lockedPlanner(client.ToResume)
	if err != nil {
		return nil, err
	}
	planner = everywhere(planner)
	planner.Rerun = again
	o := h.options
	o.State, o.Landscape, o.Payloads, o.Cluster, o.Existing, o.Unchanged, o.Logger = scratch, "", "", nil, false, false, slog.New(slog.DiscardHandler)
	second, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	second.planner = &planner
	return second, nil
}
