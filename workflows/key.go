package workflows

import (
	"fmt"
	"regexp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/pipeline"
)

// Types of the failures of a start with a key. Stored in histories; never rename.
const (
	// TypeKeyReused says that the key belongs to a run that was asked for in other words.
	TypeKeyReused = "KeyReused"
	// TypeRunFailed says that the run of the key stopped before it was complete, or that the workflow of a run was
	// closed.
	TypeRunFailed = "RunFailed"
)

var visible = regexp.MustCompile(`^[!-~]{1,255}$`)

// miskeyed says what is wrong with the key of an input.
func (in *RunInput) miskeyed() []fault {
	switch {
	case in.Key == "":
		return nil
	case !visible.MatchString(in.Key):
		return []fault{{"/key", codeInvalid, fmt.Sprintf("the input's key: %.64q cannot be one: write up to 255 visible characters of ASCII, without spaces", in.Key)}}
	case in.Pipeline == "":
		return []fault{{"/pipeline", codeMissing, "the input has a key and no pipeline: the key belongs to a run of one"}}
	case in.Run != "" && in.Run != activities.RunOfKey(in.Pipeline, in.Key):
		return []fault{{"/run", codeInvalid, "the input has a key and a run: the key gives the run its id; write one of them"}}
	}
	return nil
}

// startKeyed starts the workflow of the run that the key names, unless somebody did so before, and returns the result
// of the run in either case. The key belongs to the run for ever; a start that was refused has no run, and leaves the
// key to the next.
func (p *proxy) startKeyed(ctx workflow.Context) (RunResult, error) {
	in := p.in
	find := activities.FindInput{OpenInput: in.OpenInput, Joins: true}
	for pause := firstLook; ; pause = min(2*pause, maxLook) {
		var found activities.Keyed
		if err := workflow.ExecuteActivity(withActivity(ctx, "look for the run of the key"), act.FindKeyed, find).Get(ctx, &found); err != nil {
			return RunResult{}, err
		}
		switch {
		case found.Differs != "":
			reused := in
			if found.Status == "" { // the start that is recorded for the run is that of somebody else, and open
				reused.Run = idOf(workflow.GetInfo(ctx))
			}
			return RunResult{}, refuse(ctx, reused, failure(TypeKeyReused, "KEY_REUSED: run %s was asked for under this key with %s: give another key", in.Run, found.Differs))
		case found.Status == "":
			result, err := p.startChild(ctx)
			if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
				return result, err
			}
		case found.Status != pipeline.Running:
			return in.ended(found)
		}
		p.begin(ctx)
		p.waits(found.Waits)
		find.Joins = find.Joins && !found.WillTell
		if err := awaitEnd(ctx, pause); err != nil {
			return RunResult{}, err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			in.Run = ""
			return RunResult{}, workflow.NewContinueAsNewError(ctx, RunPipelineName, in)
		}
	}
}

// ended returns the result of a run that somebody asked for before.
func (in *RunInput) ended(found activities.Keyed) (RunResult, error) {
	result := RunResult{Run: in.Run, Status: found.Status, Rows: found.Rows, Refused: found.Refused, Ending: found.Ending}
	switch found.Status {
	case pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty:
		return result, nil
	default:
		said := fmt.Sprintf("run %s, which somebody else asked for, is %s: %s", in.Run, found.Status, found.Reason)
		if next := nextCommands(in.Run, string(found.Status), found.Reason); len(next) > 0 {
			said += fmt.Sprintf("; %s %s", next[0][0], next[0][1])
		}
		problem := activities.ProblemOf(TypeRunFailed, said)
		problem.Run, problem.Status = in.Run, string(found.Status)
		return result, temporal.NewNonRetryableApplicationError(said, TypeRunFailed, nil, problem)
	}
}

// failure is an error that no retry cures.
func failure(kind, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	return temporal.NewNonRetryableApplicationError(message, kind, nil, activities.ProblemOf(kind, message))
}
