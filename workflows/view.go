package workflows

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/internal/temporal/attributes"
	"waymark/internal/text"
	"waymark/pipeline"
)

// View is what ProgressQuery returns.
type View struct {
	Run      string `json:"run,omitempty"`      // empty for a start that was refused, if the run of its id is that of another one
	Workflow string `json:"workflow,omitempty"` // of the run
	// Status is accepted while the run is being opened, then waiting, running, paused, or how the run ended.
	Status string `json:"status"`
	// Progress is nil if another workflow than the run's answers: one that somebody started for the run, and that
	// cannot ask the run's.
	*resumepoint.Progress
	// Paused says by whom and why; nil if the run is not paused, as far as who answers knows.
	Paused *Command `json:"paused,omitempty"`
	Waits  string   `json:"waits,omitempty"` // why the run waits for places; empty if it does not

	Reason string `json:"reason,omitempty"` // why the run did not begin, or stopped, as far as who answers knows

	// Overridden are, by name of a parameter, the values that the run's slot gives, where the input has another one.
	Overridden map[string]string `json:"overridden,omitempty"`
}

// view is how the run is.
func (f *flow) view() View {
	return View{Run: f.id, Workflow: WorkflowID(f.id), Status: f.state.status(), Progress: &f.state.Progress, Paused: f.state.Paused, Overridden: f.state.Overridden}
}

// Summary is what lists of workflows show of a run.
func Summary(pipeline, run string) string {
	return clipped(fmt.Sprintf("%s · %s", pipeline, run), mostSummary)
}

// Details is what Temporal's pages show of a run, whatever becomes of it: names of its parameters, and not their
// values.
func Details(name, run string, params activities.Params) string {
	text := fmt.Sprintf("Run `%s` of pipeline **%s**", run, name)
	if len(params) > 0 {
		text += ", with the parameters " + strings.Join(slices.Sorted(maps.Keys(params)), ", ") //workflowcheck:ignore they are sorted
	}
	return clipped(text+". What became of its rows: `waymark status "+run+"`", mostDetails)
}

// Memo is the note that Temporal keeps with the workflow of a run, under MemoKey. Unlike search attributes it is
// encrypted, if the workers have codec keys.
type Memo struct {
	Run         string `json:"run"`
	Pipeline    string `json:"pipeline,omitempty"`
	Environment string `json:"environment,omitempty"`
	Version     int64  `json:"version,omitempty"`  // of the deployed pipeline
	Document    string `json:"document,omitempty"` // SHA-256
	Trigger     string `json:"trigger,omitempty"`
	Actor       string `json:"actor,omitempty"`
	Landscape   string `json:"landscape,omitempty"` // id of that in which the run is recorded
}

// MemoKey is the key of the Memo. Stored; never rename.
const MemoKey = "waymark"

// MemoOf returns the memo of a run of which no more is known.
func MemoOf(name, run string) map[string]any {
	return map[string]any{MemoKey: Memo{Run: run, Pipeline: name}}
}

// details is what Temporal's pages show of the run now.
func (f *flow) details() string {
	state := f.state
	page := fmt.Appendf(nil, "**%s** · %s · %s read · %d done · %d refused\n\n",
		state.Plan.Pipeline, state.status(), text.Count(state.Read, "row"), state.Done, state.Refused)
	if state.Paused != nil {
		page = fmt.Appendf(page, "Paused by %s: %s. To continue: `waymark resume %s`\n\n",
			state.Paused.Actor, state.Paused.Why, f.id)
	}
	if due := state.deadline(); due != 0 {
		page = fmt.Appendf(page, "Rows wait for others until %s.\n\n", time.UnixMicro(due).UTC().Format(time.RFC3339))
	}
	for i, sink := range state.Plan.Sinks { // a list: Temporal's pages show the cells of a table without space between them
		out := state.Outputs[i]
		rows, parts := text.Count(out.Rows, "row"), text.Count(out.Ordinal, "part")
		page = fmt.Appendf(page, "- **%s**: %s, %s\n", sink.Name, rows, parts)
	}
	return string(page)
}

// show shows how the run is now.
func (f *flow) show(ctx workflow.Context) { workflow.SetCurrentDetails(ctx, f.details()) }

// detailEnd shows how the run ended, why, and what to do now.
func (in *RunInput) detailEnd(ctx workflow.Context, status, reason string) {
	in.detail(ctx, status, reason, nextCommands(in.Run, status, reason))
}

// detail shows how the run is, why, and what to do now.
func (in *RunInput) detail(ctx workflow.Context, status, reason string, next [][2]string) {
	name := in.Pipeline
	if in.State != nil {
		name = in.State.Plan.Pipeline
	}
	var page []byte
	if name != "" {
		page = fmt.Appendf(page, "**%s** · ", name)
	}
	page = append(page, status...)
	if in.State != nil {
		page = fmt.Appendf(page, " · %s read · %d refused", text.Count(in.State.Read, "row"), in.State.Refused)
	}
	page = append(page, '\n')
	if reason != "" {
		page = fmt.Appendf(page, "\n%s\n", activities.BeforeRun(reason))
	}
	if in.State != nil {
		in.State.ended = status
	} else if in.handler != nil {
		in.handler.ended = status
	}
	for _, command := range next {
		page = fmt.Appendf(page, "\n- `%s` %s", command[0], command[1])
	}
	workflow.SetCurrentDetails(ctx, string(page))
}

// nextCommands are what somebody may do about a run that ended, each with what it does.
func nextCommands(run, status, reason string) [][2]string {
	switch status {
	case string(pipeline.Failed), string(pipeline.Interrupted), string(pipeline.Cancelled):
		if activities.NeedsNewRun(reason) {
			return [][2]string{{"waymark status " + run, "says how to start over, when the cause is removed"}}
		}
		return [][2]string{{"waymark resume " + run, "continues with it, when the cause is removed"}}
	case string(pipeline.Blocked):
		if activities.AwaitsSignOff(reason) {
			return [][2]string{
				{"waymark sign-off " + run + " --as ROLE --meaning TEXT --key FILE", "signs it off: ROLE is one that the " +
					"reason names, TEXT is what the signature means, and FILE has your SSH key"},
				{"waymark resume " + run, "publishes its outputs then"},
			}
		}
		if activities.PolicyFailed(reason) {
			return [][2]string{
				{"waymark status " + run, "shows the policies, and the commands that let the run publish all the same"},
				{"waymark resume " + run, "evaluates them again, and continues with the run if none keeps it"},
			}
		}
		return [][2]string{
			{"waymark effects " + run, "lists what the target cannot tell, and the commands that decide it"},
			{"waymark resume " + run, "continues with the run then"},
		}
	case string(pipeline.CompletedWithFailures):
		return [][2]string{
			{"waymark errors " + run, "says which rows were refused, and why"},
			{"waymark errors " + run + " --retry", "retries them, when the cause is removed"},
		}
	case attributes.Refused:
		return [][2]string{{"waymark starts", "lists the starts that came to nothing, with their reasons"}}
	}
	return nil
}

// detailCancelled is detailEnd for a run that somebody cancelled: nobody may resume one that is cancelled permanently.
func (in *RunInput) detailCancelled(ctx workflow.Context, command Command) {
	if command.Final {
		in.detailEnd(ctx, "cancelled permanently", command.Sentence())
	} else {
		in.detailEnd(ctx, string(command.As), command.Sentence())
	}
	in.State.ended = string(command.As)
}
