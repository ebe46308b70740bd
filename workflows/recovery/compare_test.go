package recovery_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/plugin"
	"waymark/tests/blank"
	"waymark/workflows"
	"waymark/workflows/recovery"
)

// did is an activity that the history tells of.
type did struct {
	name    string
	in, out any // out may be nil
}

// told is a client that knows the history of one workflow: with what it began, and that one activity was done.
type told struct {
	client.Client
	events []*history.HistoryEvent
}

func (c told) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return &c
}

func (c *told) HasNext() bool { return len(c.events) > 0 }

func (c *told) Next() (*history.HistoryEvent, error) {
	event := c.events[0]
	c.events = c.events[1:]
	return event, nil
}

// tell makes the history of a workflow that began with a state, or with none, and did something.
func tell(t *testing.T, state *workflows.State, deed *did) told {
	t.Helper()
	events := []*history.HistoryEvent{{EventId: 1, Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{Input: encoded(t, workflows.RunInput{State: state})},
	}}}
	if deed == nil {
		return told{events: events}
	}
	var result *common.Payloads
	if deed.out != nil {
		result = encoded(t, deed.out)
	}
	if deed.in == nil { // done within a task
		return told{events: append(events, &history.HistoryEvent{EventId: 2, Attributes: &history.HistoryEvent_MarkerRecordedEventAttributes{
			MarkerRecordedEventAttributes: &history.MarkerRecordedEventAttributes{MarkerName: "LocalActivity", Details: map[string]*common.Payloads{
				"data": encoded(t, map[string]any{"ActivityID": "1", "ActivityType": deed.name}), "result": result,
			}},
		}})}
	}
	return told{events: append(events,
		&history.HistoryEvent{EventId: 2, Attributes: &history.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &history.ActivityTaskScheduledEventAttributes{
				ActivityType: &common.ActivityType{Name: deed.name}, Input: encoded(t, deed.in),
			},
		}},
		&history.HistoryEvent{EventId: 3, Attributes: &history.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &history.ActivityTaskCompletedEventAttributes{ScheduledEventId: 2, Result: result},
		}},
	)}
}

func encoded(t *testing.T, value any) *common.Payloads {
	t.Helper()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(value)
	require.NoError(t, err)
	return payloads
}

// TestContradictions holds histories against a record with two chunks of ten rows, of which the first went through the
// steps and is in flight to a sink.
func TestContradictions(t *testing.T) {
	scene := landscapetest.Scene{Run: "r", Chunks: 2, ChunkRows: 10}
	log := landscape.New(blank.New(t), nil)
	require.NoError(t, scene.Begin(t.Context(), log))
	require.NoError(t, scene.Read(t.Context(), log))
	require.NoError(t, log.RecordPassage(t.Context(), scene.Passage(0)))
	_, err := log.BeginEffect(t.Context(), landscape.EffectKey{Run: "r", Sink: "review", Source: landscapetest.Source}, landscape.Placement{}, "w")
	require.NoError(t, err)
	all := landscape.EffectKey{Run: "r", Sink: "all", Source: landscapetest.Source}
	begun, err := log.BeginEffect(t.Context(), all, landscape.Placement{}, "w")
	require.NoError(t, err)
	require.NoError(t, log.FinalizeEffect(t.Context(), begun.Attempt("w"), `{}`, landscape.Rejection{Index: 0, Code: "SINK_UNIQUE", Line: 1}))
	wrote := func(refused int64) *did {
		return batch("Write", activities.WriteInput{Source: landscapetest.Source, Sink: "all"}, activities.WriteResult{Refused: refused})
	}
	writes := scene.Passage(0).Writes
	review := writes[slices.IndexFunc(writes, func(w landscape.Write) bool { return w.Sink == "review" })]
	read := func(chunk int64, row int64) *did {
		return batch("Read", activities.ReadInput{Source: landscapetest.Source, Chunk: chunk}, activities.ReadResult{Cursor: plugin.Cursor{Row: row}})
	}
	processed := func(chunk, bytes int64) *did {
		part := activities.PartSize{Sink: review.Sink, Rows: 2, Bytes: bytes}
		return batch("Pass", activities.PassInput{Source: landscapetest.Source, Chunk: chunk}, activities.PassResult{Parts: []activities.PartSize{part}})
	}
	for name, c := range map[string]struct {
		state *workflows.State
		deed  *did
		says  string // empty: no contradiction
	}{
		"nothing":                   {},
		"a chunk":                   {deed: read(1, 20)},
		"a chunk that is not there": {deed: read(2, 30), says: "chunk 2 of strikes was read, and it is not recorded"},
		"a chunk that a survey found": {
			deed: batch("Read", activities.ReadInput{Source: landscapetest.Source, Chunk: 2}, activities.ReadResult{Survey: true})},
		"a chunk that ends elsewhere":    {deed: read(1, 19), says: "chunk 1 of strikes ended at byte 0, row 19, but the recorded chunk ends at byte 0, row 20"},
		"steps":                          {deed: processed(0, review.Bytes)},
		"steps that were not taken":      {deed: processed(1, review.Bytes), says: "chunk 1 of strikes went through the steps, and that is not recorded"},
		"steps that gave something else": {deed: processed(0, review.Bytes+1), says: "chunk 0 of strikes had 2 rows for sink review in "},
		"a write that is not confirmed":  {deed: batch("Write", activities.WriteInput{Source: landscapetest.Source, Sink: "review"}, activities.WriteResult{}), says: "chunk 0 of strikes was written to sink review as part 0 at byte 0, and that is not recorded"},
		"a write":                        {deed: wrote(1)},
		"a write that refused more rows": {deed: wrote(2), says: "of chunk 0 of strikes the target of sink all refused 2 rows, and 1 are recorded"},
		"a fold that is not there":       {deed: batch("Fold", activities.FoldInput{Barrier: "sums", Fold: 3}, activities.FoldResult{}), says: "barrier sums took 4 steps, and 0 are recorded"},
		"an output that is not there":    {deed: published("review"), says: "the output of sink review was published, and that is not recorded"},
		"an end":                         {deed: batch("Read", activities.ReadInput{Source: landscapetest.Source}, activities.ReadResult{Done: true})},
		"an end that is not there":       {deed: batch("Read", activities.ReadInput{Source: "more"}, activities.ReadResult{Done: true}), says: "source more was read to its end, and its end is not recorded"},
		"steps of several chunks":        {deed: several(processed(0, review.Bytes), processed(1, review.Bytes)), says: "chunk 1 of strikes went through the steps, and that is not recorded"},
		"several chunks":                 {deed: several(read(1, 20), read(2, 30)), says: "chunk 2 of strikes was read, and it is not recorded"},
		"several writes":                 {deed: several(wrote(1), wrote(2)), says: "of chunk 0 of strikes the target of sink all refused 2 rows, and 1 are recorded"},
		"several writes on record":       {deed: several(wrote(1), wrote(1))},
		"a chunk ahead of its turn": {
			deed: batch("Pass", activities.PassInput{Mode: activities.PassAhead, Source: landscapetest.Source, Chunk: 1}, activities.PassResult{})},
		"a small run":                    {deed: small(read(1, 20), processed(0, review.Bytes), wrote(1))},
		"a small run without its chunk":  {deed: small(read(2, 30), processed(0, review.Bytes), wrote(1)), says: "chunk 2 of strikes was read, and it is not recorded"},
		"a small run with other steps":   {deed: small(read(1, 20), processed(1, review.Bytes), wrote(1)), says: "chunk 1 of strikes went through the steps, and that is not recorded"},
		"a small run that wrote more":    {deed: small(read(1, 20), processed(0, review.Bytes), wrote(2)), says: "the target of sink all refused 2 rows, and 1 are recorded"},
		"a small run without its output": {deed: &did{"FinishRun", activities.FinishInput{}, activities.FinishResult{Published: []string{"review"}}}, says: "the output of sink review was published, and that is not recorded"},
		"a small run within its task":    {deed: local(small(read(1, 20), processed(0, review.Bytes), wrote(1)))},
		"one that read another chunk":    {deed: local(small(read(2, 30), processed(0, review.Bytes), wrote(1))), says: "chunk 2 of strikes was read, and it is not recorded"},
		"one that published more": {
			deed: local(&did{"FinishRun", nil, activities.FinishResult{Published: []string{"review"}}}), says: "the output of sink review was published, and that is not recorded"},
		"the run":                         {deed: &did{"OpenRun", activities.OpenInput{}, resumepoint.Plan{}}},
		"a state":                         {state: began(2, 20, 0)},
		"a state with a chunk more":       {state: began(3, 30, 0), says: "chunk 2 of strikes was read, and it is not recorded"},
		"a state that is somewhere else":  {state: began(2, 19, 0), says: "chunk 1 of strikes ended at byte 0"},
		"a state with a fold more":        {state: began(0, 0, 1), says: "barrier sums took 1 steps, and 0 are recorded"},
		"a state of before the first row": {state: began(0, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			err := recovery.Compare(t.Context(), tell(t, c.state, c.deed), converter.GetDefaultDataConverter(), log.Reader, "r")
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			var diverged *recovery.DivergedError
			require.ErrorAs(t, err, &diverged)
			require.Contains(t, diverged.Message, c.says)
		})
	}
}

// batch is an activity that did one piece of work.
func batch(name string, in, out any) *did {
	return &did{name, activities.Batch[any]{Each: []any{in}}, activities.Results[any]{Each: []any{out}}}
}

// published is an activity that published the output of a sink.
func published(sink string) *did {
	return &did{"Publish", activities.Batch[any]{Each: []any{activities.PublishInput{Sink: sink}}}, nil}
}

// several is one activity that did what these did.
func several(deeds ...*did) *did {
	var in activities.Batch[any]
	var out activities.Results[any]
	for _, deed := range deeds {
		in.Each = append(in.Each, deed.in.(activities.Batch[any]).Each...)
		out.Each = append(out.Each, deed.out.(activities.Results[any]).Each...)
	}
	return &did{deeds[0].name, in, out}
}

// began is a state in which a source and a barrier are so far.
func began(chunks, row, folds int64) *workflows.State {
	return &workflows.State{State: resumepoint.State{
		Sources: []resumepoint.Reading{{Source: landscapetest.Source, Chunk: chunks, Cursor: plugin.Cursor{Row: row}}},
		Held:    []resumepoint.BarrierState{{Barrier: "sums", Folds: folds}},
	}}
}

// local is an activity that was done within a task of the workflow, by which Temporal does not keep what it was asked.
func local(deed *did) *did { return &did{deed.name, nil, deed.out} }

// small is what SmallRun answers when it did these.
func small(read, passed, wrote *did) *did {
	return &did{"SmallRun", activities.SmallRunInput{}, activities.SmallRunResult{
		Reads:  []activities.Done[activities.ReadInput, activities.ReadResult]{doneBy[activities.ReadInput, activities.ReadResult](read)},
		Passes: []activities.Done[activities.PassInput, activities.PassResult]{doneBy[activities.PassInput, activities.PassResult](passed)},
		Writes: []activities.Done[activities.WriteInput, activities.WriteResult]{doneBy[activities.WriteInput, activities.WriteResult](wrote)},
	}}
}

// doneBy is the one piece of work that a batch did.
func doneBy[In, Out any](deed *did) activities.Done[In, Out] {
	in, out := deed.in.(activities.Batch[any]).Each[0], deed.out.(activities.Results[any]).Each[0]
	return activities.Done[In, Out]{In: in.(In), Out: out.(Out)}
}
