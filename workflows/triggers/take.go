package triggers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"

	"waymark/activities"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// take gives runs to what waits, as long as more of them may go on, and returns how many do.
func (w *watched) take(ctx context.Context, going int) (int, error) {
	for w.has.Ready && going < max(w.declared.AtOnce, 1) {
		list, err := w.next(ctx)
		if err != nil || list == nil {
			return going, err
		}
		now, err := w.Log.Trigger(ctx, w.row.ID)
		if err != nil {
			return going, err
		}
		if now != w.row { // somebody paused, changed or removed it since the record was looked at
			w.read = time.Time{}
			return going, nil
		}
		start, err := startOf(w.row, w.declared)
		if err != nil {
			return going, err
		}
		if w.at, err = w.Log.Take(ctx, w.at, start, list); err != nil {
			return going, err
		}
		w.owned()
		w.has.Taken = true
		for _, arrival := range list {
			w.note(arrival)
		}
		if err := failpoint.Hit("arrival.taken"); err != nil {
			return going, err
		}
		w.Logger.Info("arrivals taken", "trigger", w.row.ID, "run", start.Run, "files", len(list))
		if err := w.begin(ctx, start); err != nil {
			return going, err
		}
		going++
	}
	return going, nil
}

// next returns the arrivals that the next run takes; nil if it waits for more.
func (w *watched) next(ctx context.Context) ([]landscape.Arrival, error) {
	batch := w.declared.Batch
	most := max(batch.Files, 1)
	list, err := w.Log.ArrivalsInState(ctx, w.row.ID, landscape.ArrivalReady, most)
	if err == nil && slices.ContainsFunc(list, w.unseen) {
		w.found = found{}
		return nil, nil
	}
	w.has.Ready = err != nil || list != nil
	if err != nil || len(list) == most || list == nil {
		return list, err
	}
	if wait := cmp.Or(time.Duration(batch.Wait), pipeline.DefaultTriggerWait); lately(list[0].At, wait) {
		return nil, nil
	}
	return list, nil
}

// lately reports whether less than a while has passed since a time on record. One far ahead was written before a clock
// was set back: it says nothing, and is nothing to wait for.
func lately(at landscape.Micros, while time.Duration) bool {
	return time.Since(at.Time()).Abs() < while
}

// unseen reports whether somebody let a file arrive once more since the process looked: it may have been removed.
func (w *watched) unseen(a landscape.Arrival) bool {
	return w.found.known != nil && w.found.known[a.Item].Revision < a.Revision
}

// startOf is the start of a new run of a trigger.
func startOf(row landscape.Trigger, declared pipeline.ArrivalTrigger) (landscape.Start, error) {
	run := uuid.Must(uuid.NewV7()).String()
	params, err := json.Marshal(paramsOf(declared, run))
	return landscape.Start{
		Run: run, Pipeline: row.Pipeline, Environment: row.Environment, Params: string(params), Workflow: workflows.WorkflowID(run),
		Actor: activities.ArrivalActor(row.ID), Trigger: activities.TriggerArrival,
	}, err
}

// paramsOf returns the texts of the parameters of a run of a trigger.
func paramsOf(declared pipeline.ArrivalTrigger, run string) map[string]string {
	params := map[string]string{}
	for _, param := range declared.Params {
		params[param.Name] = param.Value
	}
	if declared.RunID != "" {
		params[declared.RunID] = run
	}
	return params
}

// begin starts the workflow of a run, unless one is open.
func (w *watched) begin(ctx context.Context, start landscape.Start) error {
	var params map[string]string
	if err := json.Unmarshal([]byte(start.Params), &params); err != nil {
		return fmt.Errorf("parameters of run %s: %w", start.Run, err)
	}
	in := workflows.RunInput{OpenInput: activities.OpenInput{Run: start.Run, Pipeline: start.Pipeline, Environment: start.Environment, Params: params}}
	if !w.row.Removed() {
		if err := w.open(ctx); err != nil {
			return err
		}
		if w.local() {
			in.Files = w.Files
		}
	}
	if err := workflows.Begin(ctx, w.Client, w.Queue, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, in); err != nil {
		return err
	}
	w.begun[start.Run] = time.Now()
	return failpoint.Hit("arrival.started")
}
