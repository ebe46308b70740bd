package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"

	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// An epoch of a run belongs to one workflow execution, and to those that it continues itself as. They are recorded; whatever else
// wants to work for the run, such as an execution that somebody reset, has first to begin an epoch of its own.

// ExistsError says that a run is recorded already, for which the execution that asks has no right to work.
type ExistsError struct {
	Why   string // which run, what is recorded, and what follows
	Found Found
}

// Found is what an execution may do about a run that is recorded already. It travels through workflow history.
type Found struct {
	Epoch     int64 `json:"epoch"`               // that the run is in
	Resumable bool  `json:"resumable,omitempty"` // the execution may resume the run, in the next epoch
	// Pause says that a pause of the run outlasts that: it had not ended, and nobody asked for the end of the pause.
	Pause bool `json:"pause,omitempty"`
}

// Error names the run and what is recorded.
func (e *ExistsError) Error() string { return "RUN_EXISTS: " + e.Why }

// owner is an execution that works for a run in an epoch.
type owner struct {
	epoch     int64
	execution string
}

// own requires that the epoch belongs to the execution that asks: that it began the epoch, or that the last one that had it continued
// itself as this one, which is recorded then. Else the error is an *ExistsError. Whether the run is still in the epoch is not looked at.
func (a *Activities) own(ctx context.Context, run string, epoch int64) error {
	me := owner{epoch, activity.GetInfo(ctx).WorkflowExecution.RunID}
	known := a.runs.of(run)
	if seen := known.owner.Load(); seen != nil && *seen == me {
		return nil
	}
	owners, err := a.log.Executions(ctx, run, epoch)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(owners, func(e landscape.Execution) bool { return e.Execution == me.execution }) {
		if err := a.inherit(ctx, run, epoch, owners); err != nil {
			return err
		}
	}
	known.owner.Store(&me)
	return nil
}

// inherit records that the execution that asks continues the last of the owners, if it does. An epoch without owners
// was not begun.
func (a *Activities) inherit(ctx context.Context, run string, epoch int64, owners []landscape.Execution) error {
	from, err := a.askOrigin(ctx)
	if err != nil {
		return err
	}
	if n := len(owners); n > 0 && from.continues == owners[n-1].Execution && !from.reset {
		next := from.Execution
		next.Run, next.Epoch, next.Seq = run, epoch, int64(n)
		err := a.log.InEpoch(run, epoch).ContinueAs(ctx, next)
		if diverged := (*landscape.DivergedError)(nil); !errors.As(err, &diverged) {
			return err
		}
	}
	record, err := a.log.Run(ctx, run)
	switch {
	case errors.Is(err, landscape.ErrNotFound) && a.affinity.FilesQueue != "": // only what is recorded has an epoch
		return fmt.Errorf("worker %s cannot work for run %s, others may: its landscape has no such run; all "+
			"workers of a queue must have the same one, which the line \"opened\" of their logs names",
			a.worker, run)
	case err != nil:
		return err
	case record.Epoch < epoch: // which nothing began: a claim to it is not an event of the run
		err := fmt.Errorf("run %s is in epoch %d, and nothing began epoch %d", run, record.Epoch, epoch)
		return final{TypeSuperseded, err}
	}
	return a.exists(ctx, record, from, "this execution of its workflow did not begin it, and may not go on in its place")
}

// exists returns why an execution may not work for a run that is recorded, and whether it may resume it.
func (a *Activities) exists(ctx context.Context, on landscape.Run, from *origin, why string) error {
	found := &ExistsError{Found: Found{Epoch: on.Epoch, Pause: on.Status == pipeline.Running}}
	said := on.Recorded()
	_, err := a.log.Resumable(ctx, on.ID)
	if rejected := (*landscape.NotResumableError)(nil); errors.As(err, &rejected) {
		found.Why = said + "; " + rejected.Why + ", or give the new run another id"
		return found
	} else if err != nil {
		return err
	}
	elsewhere, err := a.elsewhere(ctx, on, from)
	if err != nil {
		return err
	}
	if elsewhere != "" {
		found.Why = fmt.Sprintf("%s; %s works for it: wait for its end, or give the new run another id", said, elsewhere)
		return found
	}
	found.Why, found.Found.Resumable = said+"; "+why, true
	return found
}

// elsewhere returns the workflow that works for a running run, if it may be open still: Temporal has at most one open execution of each
// id, so the execution that asks is the only one of its own.
func (a *Activities) elsewhere(ctx context.Context, on landscape.Run, from *origin) (string, error) {
	if on.Status != pipeline.Running {
		return "", nil
	}
	owners, err := a.log.Executions(ctx, on.ID, on.Epoch)
	if err != nil || len(owners) == 0 {
		return "", err
	}
	last := owners[len(owners)-1]
	if last.Workflow == from.Workflow && last.Namespace == from.Namespace {
		return "", nil
	}
	return fmt.Sprintf("workflow %s of the namespace %s", last.Workflow, last.Namespace), nil
}

// begun returns nil if the run is not recorded, or if the execution that asks began it: an earlier attempt of the same activity did.
func (a *Activities) begun(ctx context.Context, in OpenInput, from *origin) error {
	on, err := a.log.Run(ctx, in.Run)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	owners, err := a.log.Executions(ctx, in.Run, 0)
	if err != nil {
		return err
	}
	if len(owners) > 0 && owners[0].Execution == from.Execution.Execution {
		if on.Epoch > 0 { // the attempt comes late
			return fmt.Errorf("run %s is in epoch %d: %w", in.Run, on.Epoch, landscape.ErrSuperseded)
		}
		return nil
	}
	err = a.exists(ctx, on, from, "somebody started it again")
	differs, failed := a.differences(ctx, on, in)
	if failed != nil {
		return failed
	}
	if found := (*ExistsError)(nil); errors.As(err, &found) && differs != "" {
		found.Found.Resumable = false
		found.Why += "; it was begun with " + differs + " than this input gives: give the new run another id"
	}
	return err
}

// differences says in what a run on record differs from what an input asks for; nothing if the input asks for that run.
func (a *Activities) differences(ctx context.Context, on landscape.Run, in OpenInput) (string, error) {
	if in.Version = on.Version; on.Version > 0 {
		in.Environment = a.environment(in) // a file is in none
	}
	if about, err := a.about(ctx, in, on.File, []byte(on.Document)); err == nil {
		in = about
	}
	var params map[string]string
	if err := json.Unmarshal([]byte(on.Params), &params); err != nil {
		return "", fmt.Errorf("run %s: the parameters on record: %w", on.ID, err)
	}
	var other []string
	switch {
	case in.Pipeline != "" && !isOf(on, in.Pipeline),
		in.Document != "" && payload.Digest(in.Document) != payload.Of([]byte(on.Document)):
		other = append(other, "another document")
	}
	if in.Environment != "" && in.Environment != on.Environment {
		other = append(other, "another environment")
	}
	if parent := in.parent(); parent != on.Parent {
		other = append(other, "another parent")
	}
	if names := differing(params, in.Params); names != nil {
		other = append(other, "other values of the parameters "+strings.Join(names, ", "))
	}
	return strings.Join(other, " and "), nil
}

// differing returns the names of the parameters whose values differ, sorted; nil if none does.
func differing(before, now map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(both(before, now))) {
		old, was := before[name]
		if text, is := now[name]; was != is || old != text {
			names = append(names, name)
		}
	}
	return names
}

func both(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

// parent returns the run that the input's is linked to; empty if none.
func (in OpenInput) parent() string {
	if in.Retry != nil {
		return in.Retry.Of
	}
	return in.Parent
}

// isOf reports whether a recorded run is one of the pipeline with this name, or of this version of it.
func isOf(on landscape.Run, pipeline string) bool {
	if on.Version == 0 {
		return pipeline == deployedAs(on)
	}
	return pipeline == on.Pipeline || pipeline == fmt.Sprintf("%s@%d", on.Pipeline, on.Version)
}

// deployedAs returns the name under which a run's document is deployed, if it is; see findDeployed.
func deployedAs(on landscape.Run) string {
	if on.File == "pipeline.yaml" {
		return filepath.Base(on.BaseDir)
	}
	return strings.TrimSuffix(on.File, ".yaml")
}
