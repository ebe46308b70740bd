package workflows

import (
	"cmp"
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/internal/temporal/attributes"
	"waymark/pipeline"
)

// RunInput starts a run.
type RunInput struct {
	activities.OpenInput
	// Resume resumes a run that is recorded; then only Run counts of OpenInput. Nil starts a run.
	Resume *activities.ResumeInput `json:"resume,omitempty"`
	// State is what a run that continues as new hands on; nil at the beginning. Nobody else is believed to know it.
	State *State `json:"state,omitempty"`

	faults faults // what is wrong with the input as it was written
	desk   *desk  // takes the orders to the run; nil in the workflow of another id
}

// State is everything a run's workflow knows, at a moment when no chunk is in flight. It is all that is handed on when
// the run continues as new.
type State struct {
	resumepoint.State
	Paused *Command `json:"paused,omitempty"` // by whom and why; nil if the run is not paused
	Sticky string   `json:"sticky,omitempty"` // queue of the process that reads the sources and folds; "" if it works alone

	Overridden map[string]string `json:"overridden,omitempty"` // by name of a parameter, what the run's slot gives where the input has another value

	Joiners []string `json:"joiners,omitempty"` // ids of workflows that wait for the run's end

	ended string // how the run ended; empty while it has not
}

// RunResult is how a run ended.
type RunResult struct {
	Run               string             `json:"run"`
	Status            pipeline.RunStatus `json:"status"`
	Rows              int64              `json:"rows"`
	Refused           int64              `json:"refused"`
	Reason            string             `json:"reason,omitempty"` // of a run that was cancelled, or did not begin: skipped or superseded
	activities.Ending                    // of a run that is complete
}

// RunPipeline is the workflow of one run. It returns an error only after the run's record says why the run stopped, or
// if its input is rejected or the run cannot be resumed; then the record stays as it is.
func RunPipeline(ctx workflow.Context, in RunInput) (RunResult, error) {
	if err := in.validate(ctx); err != nil {
		if failed := in.answerRefused(ctx, err); failed != nil {
			return RunResult{}, failed
		}
		return RunResult{}, refuse(ctx, in, err)
	}
	switch named := in.name(ctx); {
	case named && in.Key != "":
		return showStart(ctx, in, (*proxy).startKeyed)
	case named:
		return showStart(ctx, in, (*proxy).startNamed)
	}
	in.desk = &desk{run: in.Run}
	result, err := runPipeline(ctx, &in)
	if in.State != nil {
		return conclude(ctx, in, result, err)
	}
	in.desk.close(err)
	result, err = conclude(ctx, in, result, err)
	if handled := awaitHandlers(ctx); err == nil {
		err = handled
	}
	return result, err
}

// answerRefused answers questions about an input of which no run comes.
func (in *RunInput) answerRefused(ctx workflow.Context, cause error) error {
	view := View{Status: attributes.Refused, Reason: reason(cause)}
	return workflow.SetQueryHandler(ctx, ProgressQuery, func() (View, error) { return view, nil })
}

// conclude records why a run did not begin, or stopped.
func conclude(ctx workflow.Context, in RunInput, result RunResult, err error) (RunResult, error) {
	if held := (*withheld)(nil); errors.As(err, &held) {
		return held.result, held.cause
	}
	if err == nil || workflow.IsContinueAsNewError(err) {
		return result, err
	}
	if found, resumable := onRecord(err); resumable && in.State != nil {
		return result, workflow.NewContinueAsNewError(ctx, RunPipelineName, in.resumed(found))
	}
	if kind(err) == activities.TypeExists && in.beginning() != nil {
		return result, refuse(ctx, in, err)
	}
	stopped, unrecorded := stop(ctx, in, err)
	switch {
	case unrecorded != nil:
		return result, errors.Join(err, unrecorded)
	case stopped.Replaced != "": // nobody cancelled its workflow by hand: its end has a reason
		result = in.result(pipeline.Cancelled)
		result.Reason = stopped.Replaced
		return result, nil
	case temporal.IsCanceledError(err) && stopped.Reason != "":
		err = temporal.NewCanceledError(activities.ProblemOf(activities.TypeCancelled, stopped.Reason))
	}
	return result, err
}

func runPipeline(ctx workflow.Context, in *RunInput) (result RunResult, err error) {
	defer stopped(&err)
	if err := in.desk.listen(ctx); err != nil {
		return RunResult{}, err
	}
	if in.State == nil {
		state, labels, err := begin(ctx, in)
		if err != nil {
			return RunResult{}, err
		}
		in.State = state
		showRun(ctx, in.Run, labels, state.status())
	}
	flow := newFlow(in.Run, in.State)
	in.desk.to = flow
	flow.show(ctx)
	err = flow.run(ctx)
	if handled := awaitHandlers(ctx); err == nil {
		err = handled
	}
	switch {
	case flow.cancelled != nil:
		return cancel(ctx, *in, *flow.cancelled)
	case err != nil:
		return RunResult{}, err
	case !flow.state.done():
		in.State.Joiners = joiners(ctx, in.State)
		return RunResult{}, workflow.NewContinueAsNewError(ctx, RunPipelineName, *in)
	}
	return finish(ctx, *in)
}

// onRecord returns what an activity found that was rejected because the run is recorded, and whether this execution may
// resume it.
func onRecord(err error) (found activities.Found, resumable bool) {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || application.Type() != activities.TypeExists || !application.HasDetails() {
		return found, false
	}
	return found, application.Details(&found) == nil && found.Resumable
}

// resumed returns the input that resumes the run that was found on record.
func (in *RunInput) resumed(found activities.Found) RunInput {
	resume := activities.ResumeInput{Run: in.Run, Epoch: found.Epoch + 1, Why: "started or reset again in Temporal", Pause: found.Pause, Files: in.Files}
	if in.Resume != nil {
		resume.Files = in.Resume.Files
	}
	return RunInput{OpenInput: activities.OpenInput{Run: in.Run, Files: in.Files}, Resume: &resume, desk: in.desk}
}

// begin opens a run, or finds out where the one stands that is resumed: one that is recorded is never begun a second
// time.
func begin(ctx workflow.Context, in *RunInput) (*State, activities.Labels, error) {
	state, labels, err := beginOnce(ctx, in)
	if found, resumable := onRecord(err); resumable {
		*in = in.resumed(found)
		return beginOnce(ctx, in)
	}
	return state, labels, err
}

func beginOnce(ctx workflow.Context, in *RunInput) (*State, activities.Labels, error) {
	if in.Resume == nil {
		return open(ctx, in.desk, &in.OpenInput)
	}
	in.Resume.Run = in.Run
	var resumed activities.Resumed
	if err := resume(ctx, *in.Resume).Get(ctx, &resumed); err != nil {
		return nil, activities.Labels{}, err
	}
	state := State{State: resumed.State, Sticky: resumed.Plan.Worker}
	if pause := state.Pause; pause != nil {
		state.Paused, state.Pause = &Command{Actor: pause.Actor, Why: pause.Why}, nil
	}
	return &state, resumed.Labels, nil
}

// status is the state of a run, as Temporal shows it.
func (s *State) status() string {
	switch {
	case s.ended != "":
		return s.ended
	case s.Paused != nil:
		return attributes.Paused
	default:
		return string(pipeline.Running)
	}
}

// resume resumes a run, on a worker that sees what those saw who began it, if one comes in time.
func resume(ctx workflow.Context, in activities.ResumeInput) workflow.Future {
	ctx = withActivity(ctx, "resume run %s", in.Run)
	if in.Files != "" {
		future := workflow.ExecuteActivity(soon(onQueue(ctx, filesQueue(ctx, in.Files)), stickyTimeout), act.ResumeRun, in)
		if !notFetched(future.Get(ctx, nil)) {
			return future
		}
	}
	return workflow.ExecuteActivity(ctx, act.ResumeRun, in)
}

// filesQueue returns the queue of the workers that see the files, beside the workflow's own.
func filesQueue(ctx workflow.Context, files string) string {
	return FilesQueue(workflow.GetInfo(ctx).TaskQueueName, files)
}

// epoch returns the epoch that this execution of the run works in.
func (in *RunInput) epoch() int64 {
	switch {
	case in.State != nil:
		return in.State.Epoch
	case in.Resume != nil:
		return in.Resume.Epoch
	default:
		return 0
	}
}

// queue returns the queue of the workers that can reach all that the run reads and writes; "" is that of the workflow.
func (in *RunInput) queue() string {
	if in.State == nil {
		return ""
	}
	return in.State.Plan.Queue
}

// openNow begins the run's record, unless the run may not begin now.
func openNow(ctx workflow.Context, in activities.OpenInput) (opened activities.Opened, err error) {
	schedule := func(ctx workflow.Context) workflow.Future {
		if in.Files != "" {
			ctx = soon(onQueue(ctx, filesQueue(ctx, in.Files)), seenTimeout)
		}
		return workflow.ExecuteActivity(ctx, act.OpenRun, in)
	}
	err = local(ctx, "open run", act.OpenRun, in, &opened, schedule)
	if notFetched(err) {
		err = failure(TypeNoWorker, "no worker that sees the files of %q came for the run within %s: "+
			"start one there, or one that sees the same files with --files %s", in.Files, seenTimeout, in.Files)
	}
	return opened, err
}

// chunks returns how many chunks of sources were read.
func (s *State) chunks() int64 {
	var chunks int64
	for i := range s.Sources {
		chunks += s.Sources[i].Chunk
	}
	return chunks
}

// derived returns how many chunks that came out of barriers went through the steps.
func (s *State) derived() int64 {
	var chunks int64
	for i := range s.Held {
		chunks += s.Held[i].Passed
	}
	return chunks
}

// done reports whether all sources are at their end and all barriers are empty.
func (s *State) done() bool {
	for i := range s.Held {
		if !s.Held[i].Ended || s.Held[i].Passed < s.Held[i].Chunks {
			return false
		}
	}
	return s.Next() == nil
}

// deadline returns the earliest moment at which a batch is due; 0 if none is.
func (s *State) deadline() int64 {
	var earliest int64
	for i := range s.Held {
		if at := s.Held[i].Deadline; at != 0 && (earliest == 0 || at < earliest) {
			earliest = at
		}
	}
	return earliest
}

// finish publishes every sink and concludes the run. Sinks are published only now, when all rows are accounted for: each
// large output by an activity, the others by the one that concludes the run.
func finish(ctx workflow.Context, in RunInput) (RunResult, error) {
	large, small := in.outputs()
	if err := publish(ctx, in, large); err != nil {
		return RunResult{}, err
	}
	in.State.Joiners = joiners(ctx, in.State)
	concluded := activities.FinishInput{
		Run: in.Run, Epoch: in.epoch(), Sinks: small, Queue: in.queue(), Joiners: in.State.Joiners,
	}
	schedule := func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(onQueue(ctx, in.queue()), act.FinishRun, concluded)
	}
	summary := "balance and conclude"
	if len(small) > 0 {
		summary = "publish, balance and conclude"
	}
	var finished activities.FinishResult
	var err error
	if choose(in.State).small {
		err = local(ctx, summary, act.FinishRun, concluded, &finished, schedule)
	} else {
		err = schedule(withActivity(ctx, "%s", summary)).Get(ctx, &finished)
	}
	if err != nil {
		return RunResult{}, err
	}
	result := in.result(finished.Status)
	result.Ending = finished.Ending
	showEnd(ctx, finished.Labels, string(finished.Status), result)
	in.detailEnd(ctx, string(finished.Status), "")
	return result, nil
}

// outputs returns the sinks by the size of their outputs.
func (in *RunInput) outputs() (large, small []string) {
	for i, sink := range in.State.Plan.Sinks {
		if in.State.Outputs[i].Offset > smallBytes {
			large = append(large, sink.Name)
		} else {
			small = append(small, sink.Name)
		}
	}
	return large, small
}

// publish publishes the outputs of sinks, side by side.
func publish(ctx workflow.Context, in RunInput, sinks []string) error {
	published := make([]workflow.Future, len(sinks))
	for i, sink := range sinks {
		ctx := onQueue(withActivity(ctx, "publish %s", sink), in.queue())
		one := activities.Batch[activities.PublishInput]{
			Run: in.Run, Epoch: in.epoch(), Each: []activities.PublishInput{{Sink: sink}},
		}
		published[i] = workflow.ExecuteActivity(ctx, act.Publish, one)
	}
	for _, future := range published {
		if err := future.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func (in *RunInput) result(status pipeline.RunStatus) RunResult {
	result := RunResult{Run: in.Run, Status: status}
	if in.State != nil {
		result.Rows, result.Refused = in.State.Read, in.State.Refused
	}
	return result
}

// stop records why the run ended. It runs on a context of its own, because the run's may be cancelled. A run that
// another execution resumed, or that cannot be resumed, is not ours to stop.
func stop(ctx workflow.Context, in RunInput, cause error) (stopped activities.Stopped, err error) {
	command := activities.StopInput{
		Run: in.Run, Epoch: in.epoch(), Status: pipeline.Failed, Reason: reason(cause), Begin: in.beginning(), Refusal: kind(cause),
		Joiners: joiners(ctx, in.State),
	}
	switch {
	case temporal.IsCanceledError(cause):
		command.Status, command.Outside, command.Reason = pipeline.Cancelled, true, "cancelled in Temporal"
	case kind(cause) == activities.TypeBlocked, kind(cause) == activities.TypePolicy:
		command.Status = pipeline.Blocked
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err = recordStop(ctx, command, &stopped)
	if k := kind(err); k == activities.TypeSuperseded || k == activities.TypeExists {
		return activities.Stopped{}, nil
	}
	in.showStop(ctx, stopped.Labels, command.Status)
	in.detailEnd(ctx, cmp.Or(stopped.Labels.Status, string(command.Status)), cmp.Or(stopped.Replaced, stopped.Reason, command.Reason))
	return stopped, err
}

// showStop shows how a run ended before it was complete. Of one that did not begin nothing was shown until now.
func (in *RunInput) showStop(ctx workflow.Context, labels activities.Labels, as pipeline.RunStatus) {
	status := cmp.Or(labels.Status, string(as))
	if in.State == nil {
		showRun(ctx, in.Run, labels, status)
		return
	}
	showEnd(ctx, labels, status, in.result(as))
}

// cancel records that somebody stopped the run. What is done is recorded.
func cancel(ctx workflow.Context, in RunInput, command Command) (RunResult, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	stopped := activities.StopInput{
		Run: in.Run, Epoch: in.epoch(), Status: command.As, Reason: command.Sentence(), Final: command.Final, Actor: command.Actor, Why: command.Why,
		Joiners: joiners(ctx, in.State),
	}
	if command.Final { // what the run staged is removed
		stopped.Queue = in.queue()
	}
	var labelled activities.Labelled
	err := recordStop(ctx, stopped, &labelled)
	in.showStop(ctx, labelled.Labels, command.As)
	in.detailCancelled(ctx, command)
	result := in.result(command.As)
	result.Reason = command.Sentence()
	return result, err
}

// recordStop has the end of a run recorded: within the task of the workflow, because chunks of the run that is stopped
// may have all places for activities.
func recordStop(ctx workflow.Context, in activities.StopInput, out any) error {
	schedule := func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(onQueue(ctx, in.Queue), act.StopRun, in)
	}
	return local(ctx, "record the stop", act.StopRun, in, out, schedule)
}

// kind returns the type of the error that began it; empty if it has none.
func kind(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Type()
	}
	return ""
}

// reason returns the message of the error that began it, without Temporal's wrapping.
func reason(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	return err.Error()
}
