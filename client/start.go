package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/workflows"
	ledger "waymark/workflows/slots"
)

// StartRequest says which run to start.
type StartRequest struct {
	By
	Run         string            // its id; empty for a new one
	Document    *Document         // one that is compiled already; it has its own parameters
	File        string            // or: the file of one
	Pipeline    string            // or: NAME or NAME@VERSION of a deployed pipeline; with a cluster also the name of a document in the folder of its workers
	Environment string            // in which the Pipeline is deployed; empty for the default one, and on a cluster for that of its workers
	Params      map[string]string // of the File or the Pipeline
	For         string            // the slot that the run of the File or the Pipeline is about, such as 2026-11-21: parameters whose defaults refer to a slot get values
	Schedule    string            // whose slot that is; may be empty if the document has at most one schedule
	Input       io.Reader         // standard input, for a document that reads it
	Stored      *Input            // or: what StoreInput stored of it for the Run
	Detach      bool              // its follower wants to know no more than that it began
	Lasting     bool              // of a Pipeline that others execute: should this process end before it has started the workflow, BeginAccepted does that

	// Rows are what sources of the format webhook read, by their names: at most MostRows, of MostRowBytes together. Each is one JSON value, whose bytes are the record.
	Rows map[string][]json.RawMessage

	kept []plugin.RequestRows // the Rows, when they are stored
}

// Start starts a run on the client's host. The caller closes the Execution. The errors are those of Session.Start, and of kind Busy
// if another process executes runs there.
func (c *Client) Start(ctx context.Context, r StartRequest) (_ *Execution, err error) {
	defer c.edge(ctx, &err)
	if err := r.check(); err != nil {
		return nil, err
	}
	session, err := c.host.Session(ctx, ToStart)
	if err != nil {
		return nil, err
	}
	e, err := session.Start(ctx, r)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	e.close = session.Close
	return e, nil
}

// check refuses a request that names nothing to start, or more than one thing.
func (r *StartRequest) check() error {
	switch {
	case r.Document == nil && r.File == "" && r.Pipeline == "":
		return invalid("nothing to start: name a File, a Document or a Pipeline")
	case r.Document != nil && r.File != "":
		return invalid("File and Document exclude each other")
	case r.Document != nil && r.Pipeline != "":
		return invalid("Document and Pipeline exclude each other")
	case r.File != "" && r.Pipeline != "":
		return invalid("File and Pipeline exclude each other")
	case r.Environment != "" && r.Pipeline == "":
		return invalid("Environment belongs to a Pipeline: a file is deployed in none")
	case r.Document != nil && len(r.Params) > 0:
		return invalid("Params and Document exclude each other: a Document has its own Params")
	case r.For+r.Schedule != "" && r.Document != nil:
		return invalid("For and Schedule belong to a File or a Pipeline: a Document has its own Params")
	case r.Document != nil && len(r.Document.Source) == 0:
		return invalid("the Document is empty: Compile returns one")
	}
	return checkRows(r.Rows)
}

// checkHere refuses what only the workers of a cluster can start.
func (s *Session) checkHere(r *StartRequest) error {
	switch {
	case s.OnCluster():
	case r.Document != nil && r.Document.Plan == nil:
		return invalid("the Document is not compiled: Compile does that")
	}
	return nil
}

// Start starts a run. The error is an *Error of kind Invalid if the request is malformed, such as the id, of kind Conflict if there is such a
// run already, and of kind Busy if somebody just starts it, and it is not recorded yet; then nothing was started.
func (s *Session) Start(ctx context.Context, r StartRequest) (*Execution, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := s.checkHere(&r); err != nil {
		return nil, err
	}
	if r.Run == "" {
		r.Run = NewRunID()
	}
	err := s.refuseTaken(ctx, r.Run)
	if err == nil {
		err = s.refuseRequested(ctx, r.asked())
	}
	if err != nil {
		return nil, s.refuse(ctx, r.asked(), err)
	}
	return s.alone(r.Run, func() (*Execution, error) {
		e, err := s.start(ctx, &r)
		if err != nil {
			return nil, s.refuse(ctx, r.asked(), err)
		}
		return e, nil
	})
}

func (s *Session) start(ctx context.Context, r *StartRequest) (*Execution, error) {
	interrupted, err := s.prepare(ctx, r.Run)
	if err != nil {
		return nil, err
	}
	e := &Execution{by: r.By, Detach: r.Detach, Interrupted: interrupted}
	if r.File != "" {
		if r.Document, err = CompileFor(s.Planner, r.File, r.Params, SlotOf{For: r.For, Schedule: r.Schedule}); err != nil {
			return nil, err
		}
	}
	if r.Pipeline != "" && !s.OnCluster() {
		if r.Document, err = s.versionDocument(ctx, r.Environment, r.Pipeline, r.Params, SlotOf{For: r.For, Schedule: r.Schedule}); err != nil {
			return nil, err
		}
	}
	if r.Document == nil {
		if r.Schedule != "" && r.For == "" {
			return nil, slotless(r.Schedule)
		}
		e.Pipeline, e.lasting = r.Pipeline, r.Lasting
		e.input.OpenInput = r.input()
		e.input.Files = s.Files
		return s.executeWith(ctx, e, r)
	}
	e.Pipeline, e.Document = r.Document.Name(), r.Document
	if e.input, err = s.runInput(ctx, r.Document, r.Run); err != nil {
		return nil, err
	}
	e.input.Why, e.slot = r.Why, r.Document.Slot
	if e.Unfilled, err = s.unfilled(ctx, r.Document); err != nil {
		return nil, err
	}
	if r.Document.ReadsInput() && r.Input == nil && r.Stored == nil {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: r.Document.File + " reads standard input, and there is none"}
	}
	if r.Document.ReadsInput() {
		if e.Total, err = s.keepInput(ctx, r); err != nil && ctx.Err() == nil {
			err = &Error{Kind: Failed, Code: RunFailed, Message: fmt.Sprintf("standard input cannot be kept: %v", err), Err: err}
		}
	} else {
		e.Total = r.Document.bytes(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.executeWith(ctx, e, r)
}

// executeWith is execute for a run whose rows come with its request.
func (s *Session) executeWith(ctx context.Context, e *Execution, r *StartRequest) (*Execution, error) {
	err := s.checkSources(ctx, r)
	if err == nil {
		err = s.keepRows(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	for _, rows := range r.kept {
		e.Total += rows.Bytes
	}
	e.input.Rows = r.kept
	return s.execute(ctx, e)
}

// input is what the workflow of a run of the Pipeline is started with, but for the Files of the cluster.
func (r *StartRequest) input() activities.OpenInput {
	return activities.OpenInput{
		Run: r.Run, Pipeline: r.Pipeline, Environment: r.Environment, Params: r.Params, For: r.For, ScheduleName: r.Schedule, Why: r.Why, Rows: r.kept,
	}
}

// unfilled returns the ids of schedules of deployed pipelines that have the slot which a run of a file is about: somebody may take it for the slot's run.
func (s *Session) unfilled(ctx context.Context, doc *Document) (ids []string, err error) {
	if doc.version > 0 || doc.Slot == "" {
		return nil, nil
	}
	rows, err := s.Log.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Removed() || row.Pipeline != doc.Name() || doc.schedule != "" && row.Name != doc.schedule {
			continue
		}
		known, err := ledger.Read(row)
		if err != nil {
			return nil, err
		}
		if _, err := known.Calendar.Named(doc.Slot); err == nil {
			ids = append(ids, row.ID)
		}
	}
	return ids, nil
}

// NewRunID returns an id that no run has.
func NewRunID() string { return uuid.Must(uuid.NewV7()).String() }

// prepare records which runs were interrupted, and refuses an id that is taken.
func (s *Session) prepare(ctx context.Context, id string) (interrupted []landscape.RunHead, err error) {
	if interrupted, err = s.markInterrupted(ctx, id); err != nil {
		return nil, err
	}
	return interrupted, s.refuseTaken(ctx, id)
}

// refuseTaken refuses an id that no run can have, or that one has.
func (s *Session) refuseTaken(ctx context.Context, id string) error {
	if err := pipeline.CheckRunID(id); err != nil {
		return &Error{Kind: Invalid, Code: InvalidRun, Message: err.Error(), Err: err}
	}
	run, err := s.Log.Run(ctx, id)
	switch {
	case err == nil:
		return &Error{Kind: Conflict, Code: RunExists, Message: run.Recorded(), Cure: OtherID, Run: id}
	case errors.Is(err, landscape.ErrNotFound):
		return nil
	default:
		return err
	}
}

// refuseRequested refuses an id under which a run waits for places, or that somebody else requested and that has not begun: the start would take
// over what was asked for. Who repeats a request that nothing came of may do so.
func (s *Session) refuseRequested(ctx context.Context, asked landscape.Start) error {
	start, err := s.Log.LastStart(ctx, asked.Run)
	same := start.State == landscape.StartAccepted && start.Trigger == asked.Trigger && start.Actor == cmp.Or(asked.Actor, s.Actor)
	switch {
	case errors.Is(err, landscape.ErrNotFound) || err == nil && (start.Decided != 0 || same):
		return nil
	case err != nil:
		return err
	}
	refused := &Error{Kind: Busy, Code: RunBusy, Message: requested(&start), Cure: ServeOrCancel, Run: start.Run}
	if s.OnCluster() || s.executes(start.Run) {
		refused.Cure = Watch
	} else if ours, err := s.owns(ctx, start.Run); err == nil && ours && start.Input == "" { // of a process that did not serve
		refused.Cure = CancelAndRun
	}
	return refused
}

// requested says of a run that has not begun who asked for it.
func requested(start *landscape.Start) string {
	return fmt.Sprintf("run %s was requested at %s by %s (%s), of pipeline %s, and has not begun",
		start.Run, start.Accepted.Time().UTC().Format(time.RFC3339), start.Actor, start.Trigger, start.Pipeline)
}

// runInput stores the document and returns what a run of it starts with.
func (s *Session) runInput(ctx context.Context, doc *Document, id string) (workflows.RunInput, error) {
	payloads, err := s.Payloads(ctx)
	if err != nil {
		return workflows.RunInput{}, err
	}
	digest, err := payloads.Put(ctx, doc.Source)
	if err != nil {
		return workflows.RunInput{}, err
	}
	in := activities.OpenInput{
		Run: id, Document: string(digest), File: filepath.Base(doc.File), Folder: doc.Folder, Params: doc.Params, Version: doc.version, Environment: doc.environment, EnvironmentSeq: doc.values.Seq,
		For: doc.Slot, ScheduleName: doc.schedule,
	}
	if doc.version > 0 {
		in.Bundle = string(doc.bundle.Manifest().Digest())
	}
	switch {
	case !s.OnCluster():
	case doc.Plan == nil:
		in.Files = s.Files
	case needsFiles(doc.Plan):
		in.Files = s.FilesName()
	}
	return workflows.RunInput{OpenInput: in}, nil
}
