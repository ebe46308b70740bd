// Package recovery compares the two truths about a run: the history of its workflow, and the landscape. Either suffices
// to continue with the run, but never against the other.
package recovery

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"waymark/activities"
	"waymark/landscape"
	"waymark/workflows"
)

// DivergedError says that the history of a run tells of something that is not recorded, or is there otherwise: one of
// the two was put back from an older copy, or changed. Nothing may be written until somebody finds out which.
type DivergedError struct {
	Run     string
	Event   int64 // of the history
	Message string
}

// Error names run, event and contradiction, and says the cure.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("STATE_DIVERGED: run %s, event %d of its workflow: %s; put back the state folder as one piece; or, if the record was restored from a backup, "+
		"delete workflow run-%[1]s in Temporal (in a state folder, temporal.db) and resume the run", e.Run, e.Event, e.Message)
}

// Compare holds what the workflow's latest history says was done against the record. stored reads the payloads of the
// history, which may be encrypted. A history that is gone says nothing. That the record knows more than the history is
// no contradiction: it is written first. Compare writes nothing.
func Compare(
	ctx context.Context, c client.Client, stored converter.DataConverter, log *landscape.Reader, run string,
) error {
	record := &record{log: log, run: run, stored: stored}
	scheduled := map[int64]*history.ActivityTaskScheduledEventAttributes{}
	events := c.GetWorkflowHistory(ctx, workflows.WorkflowID(run), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if missing := (*serviceerror.NotFound)(nil); errors.As(err, &missing) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("history of run %s: %w", run, err)
		}
		switch {
		case event.GetWorkflowExecutionStartedEventAttributes() != nil:
			err = record.holdsStart(ctx, event.GetWorkflowExecutionStartedEventAttributes().GetInput())
		case event.GetActivityTaskScheduledEventAttributes() != nil:
			scheduled[event.GetEventId()] = event.GetActivityTaskScheduledEventAttributes()
		case event.GetActivityTaskCompletedEventAttributes() != nil:
			completed := event.GetActivityTaskCompletedEventAttributes()
			asked := scheduled[completed.GetScheduledEventId()]
			err = record.holds(ctx, asked.GetActivityType().GetName(), asked.GetInput(), completed.GetResult())
		case event.GetMarkerRecordedEventAttributes() != nil:
			err = record.holdsMarked(ctx, event.GetMarkerRecordedEventAttributes())
		}
		var contradiction contradiction
		if errors.As(err, &contradiction) {
			return &DivergedError{Run: run, Event: event.GetEventId(), Message: string(contradiction)}
		}
		if err != nil {
			return fmt.Errorf("history of run %s, event %d: %w", run, event.GetEventId(), err)
		}
	}
	return nil
}

// contradiction is a sentence that says what differs.
type contradiction string

func (c contradiction) Error() string { return string(c) }

func contradict(format string, args ...any) error {
	return contradiction(fmt.Sprintf(format, args...))
}

// holdsStart compares the state that a workflow began with, if it had one.
func (r *record) holdsStart(ctx context.Context, input *common.Payloads) error {
	var in workflows.RunInput
	if err := r.decode(input, &in); err != nil || in.State == nil {
		return err
	}
	for _, source := range in.State.Sources {
		if source.Chunk == 0 {
			continue
		}
		if err := r.holdsChunk(ctx, source.Source, source.Chunk-1, source.Cursor); err != nil {
			return err
		}
	}
	for _, held := range in.State.Held {
		if err := r.holdsFolds(ctx, held.Barrier, held.Folds); err != nil {
			return err
		}
	}
	return nil
}

// How the SDK marks what was done within a task of the workflow.
const (
	doneWithinTask = "LocalActivity"
	whatWasDone    = "data"
	whatItAnswered = "result"
)

// holdsMarked compares what was done within a task of the workflow with the record.
func (r *record) holdsMarked(ctx context.Context, marker *history.MarkerRecordedEventAttributes) error {
	if marker.GetMarkerName() != doneWithinTask || marker.GetFailure() != nil {
		return nil
	}
	var did struct{ ActivityType string }
	if err := r.decode(marker.GetDetails()[whatWasDone], &did); err != nil {
		return err
	}
	return r.holds(ctx, did.ActivityType, nil, marker.GetDetails()[whatItAnswered])
}

// holds compares what an activity answered with the record. Of one that was done within a task, what it was asked is
// not known.
func (r *record) holds(ctx context.Context, activity string, input, result *common.Payloads) error {
	switch activity {
	case "OpenRun", "ResumeRun":
		return r.holdsRun(ctx)
	case "Read":
		return compare(ctx, r, input, result, each(r.holdsRead))
	case "Pass":
		return compare(ctx, r, input, result, each(r.holdsPassage))
	case "Fold":
		return compare(ctx, r, input, result, each(r.holdsFold))
	case "Write":
		return compare(ctx, r, input, result, each(r.holdsWrite))
	case "Publish":
		return compare(ctx, r, input, result, each(r.holdsOutput))
	case "SmallRun":
		return compare(ctx, r, input, result, r.holdsSmall)
	case "FinishRun":
		return compare(ctx, r, input, result, r.holdsFinished)
	}
	return nil
}

// each compares what an activity answered for each piece of a batch. One that only does something answers nothing.
func each[In, Out any](
	holds func(context.Context, In, Out) error,
) func(context.Context, activities.Batch[In], activities.Results[Out]) error {
	return func(ctx context.Context, in activities.Batch[In], out activities.Results[Out]) error {
		for i := range in.Each {
			var answer Out
			if i < len(out.Each) {
				answer = out.Each[i]
			}
			if err := holds(ctx, in.Each[i], answer); err != nil {
				return err
			}
		}
		return nil
	}
}

// compare decodes an activity's input and result, which is empty for one that only does something.
func compare[In, Out any](ctx context.Context, r *record, input, result *common.Payloads, holds func(context.Context, In, Out) error) error {
	var in In
	var out Out
	if len(input.GetPayloads()) > 0 {
		if err := r.decode(input, &in); err != nil {
			return err
		}
	}
	if len(result.GetPayloads()) > 0 {
		if err := r.decode(result, &out); err != nil {
			return err
		}
	}
	return holds(ctx, in, out)
}

func (r *record) decode(payloads *common.Payloads, to any) error {
	return r.stored.FromPayloads(payloads, to)
}

func (r *record) holdsRead(ctx context.Context, in activities.ReadInput, out activities.ReadResult) error {
	if out.Survey { // nothing is recorded of it
		return nil
	}
	if !out.Done {
		return r.holdsChunk(ctx, in.Source, in.Chunk+int64(len(out.More)), out.Cursor)
	}
	ends, err := r.ends(ctx)
	if err == nil && !ends[in.Source] {
		err = contradict("source %s was read to its end, and its end is not recorded", in.Source)
	}
	return err
}

// holdsSmall compares what was done in one activity, piece by piece.
func (r *record) holdsSmall(ctx context.Context, _ activities.SmallRunInput, out activities.SmallRunResult) error {
	for _, read := range out.Reads {
		if err := r.holdsRead(ctx, read.In, read.Out); err != nil {
			return err
		}
	}
	for _, passed := range out.Passes {
		if err := r.holdsPassage(ctx, passed.In, passed.Out); err != nil {
			return err
		}
	}
	for _, written := range out.Writes {
		if err := r.holdsWrite(ctx, written.In, written.Out); err != nil {
			return err
		}
	}
	return nil
}

func (r *record) holdsFinished(ctx context.Context, _ activities.FinishInput, out activities.FinishResult) error {
	for _, sink := range out.Published {
		if err := r.holdsOutput(ctx, activities.PublishInput{Sink: sink}, struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

func (r *record) holdsPassage(ctx context.Context, in activities.PassInput, out activities.PassResult) error {
	if in.Mode == activities.PassAhead { // nothing is recorded of it
		return nil
	}
	passed, err := r.passages(ctx, in.Source)
	if err != nil {
		return err
	}
	if !passed[in.Chunk] {
		return contradict("chunk %d of %s went through the steps, and that is not recorded", in.Chunk, in.Source)
	}
	for _, part := range out.Parts {
		effect, err := r.effect(ctx, in.Source, in.Chunk, part.Sink)
		if err != nil {
			return err
		}
		if effect == nil || effect.Rows != part.Rows || effect.Bytes != part.Bytes {
			return contradict("chunk %d of %s had %d rows for sink %s in %d bytes, and that is not recorded", in.Chunk, in.Source, part.Rows, part.Sink, part.Bytes)
		}
	}
	return nil
}

func (r *record) holdsFold(ctx context.Context, in activities.FoldInput, _ activities.FoldResult) error {
	return r.holdsFolds(ctx, in.Barrier, in.Fold+1)
}

func (r *record) holdsFolds(ctx context.Context, barrier string, folds int64) error {
	found, err := r.folds(ctx, barrier)
	if err == nil && found < folds {
		err = contradict("barrier %s took %d steps, and %d are recorded", barrier, folds, found)
	}
	return err
}

func (r *record) holdsWrite(ctx context.Context, in activities.WriteInput, out activities.WriteResult) error {
	effect, err := r.effect(ctx, in.Source, in.Chunk, in.Sink)
	if err != nil {
		return err
	}
	if effect == nil || effect.State != landscape.Finalized || effect.Ordinal == nil || effect.Offset == nil || *effect.Ordinal != in.Ordinal || *effect.Offset != in.Offset {
		return contradict("chunk %d of %s was written to sink %s as part %d at byte %d, and that is not recorded", in.Chunk, in.Source, in.Sink, in.Ordinal, in.Offset)
	}
	if out.Refused > 0 && effect.Refused != out.Refused {
		return contradict("of chunk %d of %s the target of sink %s refused %d rows, and %d are recorded", in.Chunk, in.Source, in.Sink, out.Refused, effect.Refused)
	}
	return nil
}

func (r *record) holdsOutput(ctx context.Context, in activities.PublishInput, _ struct{}) error {
	published, err := r.artifacts(ctx)
	if err == nil && !published[in.Sink] {
		err = contradict("the output of sink %s was published, and that is not recorded", in.Sink)
	}
	return err
}
