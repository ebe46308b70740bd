package activities_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/tests/started"
	"waymark/worker/formats"
)

const runID = "r1"

// act names the activities, as in package workflows.
var act *activities.Activities

// A rig has what activities need, all real, and does what the workflow does: it decides what comes next.
type rig struct {
	t        *testing.T
	folder   string
	document string
	planner  recompute.Planner
	driver   *fated
	objects  *memstore.Store
	log      *landscape.Log
	payloads *payload.Store
	env      *testsuite.TestActivityEnvironment

	twice     bool                             // every activity is executed twice, and must answer the same
	together  bool                             // what else is done one by one is done in one batch
	forgetful bool                             // before every execution the process starts over
	skip      func(activities.WriteInput) bool // writes that are left out, if not nil
	barriers  map[string]*activities.FoldInput // how far each barrier is
	pace      time.Duration                    // from one fold of a barrier to the next; 0 is a second
	faults    int                              // executions that failed and were repeated
	ordered   bool                             // as the plan of the run says
	turns     int64                            // chunks that had their turns
}

// newRig lays the files into a folder of their own.
func newRig(t *testing.T, document string, files map[string]string) *rig {
	t.Helper()
	r := &rig{t: t, folder: t.TempDir(), document: document}
	r.planner = &rememberingPlanner{Planner: planner{key: "a key for tests"}}
	for name, content := range files {
		r.write(name, content)
	}
	r.reset(t)
	return r
}

// planner compiles documents of files as worker.Planner does. Package worker itself imports activities: it would be
// compiled once more for these tests, with all that it imports.
type planner struct {
	key      string // of fingerprints
	confined bool   // documents may not have environment variables
}

func (p planner) Plan(request plan.Request) (*plan.Plan, error) {
	loaded, err := pipeline.Load(request.File, request.Document, pipeline.Environment{
		Params: request.Params, Values: request.Values, ValuesOf: request.ValuesOf,
		Env: os.LookupEnv, MayRead: func(string) bool { return !p.confined }, FingerprintKey: []byte(p.key),
	})
	if loaded == nil {
		return nil, err
	}
	root, err := file.NewRoot(request.Folder)
	if err != nil {
		return nil, err
	}
	return plan.Compile(loaded, formats.Formats{Files: file.Access{Root: root}})
}

// rememberingPlanner compiles a document once for each environment. Plans never change, and compiling one takes as long as a
// short run.
type rememberingPlanner struct {
	recompute.Planner
	known map[string]*plan.Plan
}

func (p *rememberingPlanner) Plan(request plan.Request) (*plan.Plan, error) {
	key := fmt.Sprint(request, os.Environ())
	if known := p.known[key]; known != nil {
		return known, nil
	}
	compiled, err := p.Planner.Plan(request)
	if err == nil {
		if p.known == nil {
			p.known = map[string]*plan.Plan{}
		}
		p.known[key] = compiled
	}
	return compiled, err
}

func (r *rig) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.folder, name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(r.t, os.WriteFile(path, []byte(content), 0o600))
}

// reset forgets everything but the files: record, payloads, outputs, and what the process knew. What follows belongs to t.
func (r *rig) reset(t *testing.T) {
	t.Helper()
	r.t = t
	require.NoError(r.t, os.RemoveAll(filepath.Join(r.folder, "out")))
	if r.driver == nil {
		r.driver = newFated(r.t)
	} else {
		r.driver.blank.Reset(r.t)
		r.driver = fatedIn(r.driver.blank)
	}
	r.objects = new(memstore.Store)
	r.objects.OnWrite = func(string) (bool, error) { return r.driver.fate("payload") }
	r.log, r.payloads = landscape.New(r.driver, ticking()), payload.New(r.objects, payload.Options{})
	r.faults = 0
	r.restart()
}

// ticking returns a clock that never says the same time twice.
func ticking() func() time.Time {
	var ticks atomic.Int64
	return func() time.Time {
		return time.Unix(1_800_000_000, 0).Add(time.Duration(ticks.Add(1)) * time.Millisecond)
	}
}

// restart begins a new process: it knows nothing of the run.
func (r *rig) restart() { r.become(activities.New(r.log, r.payloads, r.planner, "test")) }

// become continues as another process.
func (r *rig) become(process *activities.Activities) {
	sdkworker.SetBinaryChecksum("test") // or else the SDK reads the whole binary of the tests
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler))) // faults are planted by the hundred
	r.env = suite.NewTestActivityEnvironment()
	r.env.SetWorkerOptions(sdkworker.Options{BackgroundActivityContext: started.Context("tester")})
	r.env.RegisterActivity(process)
}

// call executes an activity once, and once more after an error, as Temporal would.
func call[Result any](r *rig, activity, in any) Result {
	r.t.Helper()
	result, err := try[Result](r, activity, in)
	if err != nil {
		r.faults++
		result, err = try[Result](r, activity, in)
	}
	require.NoError(r.t, err)
	if r.twice {
		again, err := try[Result](r, activity, in)
		require.NoError(r.t, err)
		require.Equal(r.t, result, again, "the second execution answers something else")
	}
	return result
}

// callEach calls an activity for each input, or for all of them at once.
func callEach[Result, In any](r *rig, activity any, inputs []In) []Result {
	r.t.Helper()
	results := make([]Result, len(inputs))
	if r.together && len(inputs) > 0 {
		copy(results, call[activities.Results[Result]](r, activity, activities.Batch[In]{Run: runID, Each: inputs}).Each)
		return results
	}
	for i, in := range inputs {
		results[i] = call[Result](r, activity, in)
	}
	return results
}

// try executes an activity once. A piece of work has a batch of its own.
func try[Result any](r *rig, activity, in any) (result Result, err error) {
	if r.forgetful {
		r.restart()
	}
	batch, pieces := batched(in)
	encoded, err := r.env.ExecuteActivity(activity, batch)
	if err != nil || !encoded.HasValue() {
		return result, err
	}
	if !pieces {
		return result, encoded.Get(&result)
	}
	var results activities.Results[Result]
	if err := encoded.Get(&results); err != nil {
		return result, err
	}
	require.Len(r.t, results.Each, 1)
	return results.Each[0], nil
}

// batched returns the batch of a piece of work; any other input as it is.
func batched(in any) (batch any, pieces bool) {
	switch in := in.(type) {
	case activities.ReadInput:
		return batchOf(in), true
	case activities.PassInput:
		return batchOf(in), true
	case activities.FoldInput:
		return batchOf(in), true
	case activities.WriteInput:
		return batchOf(in), true
	case activities.PublishInput:
		return batchOf(in), true
	}
	return in, false
}

func batchOf[In any](in In) activities.Batch[In] {
	return activities.Batch[In]{Run: runID, Each: []In{in}}
}

type none struct{}

// play runs the pipeline from its beginning to its end.
func (r *rig) play() activities.FinishResult {
	r.t.Helper()
	var sinks []activities.PublishInput
	for _, sink := range r.playWrites().Sinks {
		sinks = append(sinks, activities.PublishInput{Sink: sink.Name})
	}
	if r.together {
		call[none](r, act.Publish, activities.Batch[activities.PublishInput]{Run: runID, Each: sinks})
	}
	for _, sink := range sinks {
		if !r.together {
			call[none](r, act.Publish, sink)
		}
	}
	return call[activities.FinishResult](r, act.FinishRun, activities.FinishInput{Run: runID})
}

// playWrites plays until everything is written and nothing is published.
func (r *rig) playWrites() resumepoint.Plan {
	r.t.Helper()
	opened := call[resumepoint.Plan](r, act.OpenRun, r.open())
	places := newPlaces(opened)
	r.ordered, r.turns = opened.Ordered, 0
	r.barriers = map[string]*activities.FoldInput{}
	for _, barrier := range opened.Barriers {
		r.barriers[barrier.Name] = &activities.FoldInput{Barrier: barrier.Name, At: 1_800_000_000_000_000}
	}
	cursors, chunks := map[string]plugin.Cursor{}, map[string]int64{}
	for open := opened.Sources; len(open) > 0; {
		source := open[0].Name
		open = open[1:]
		in := activities.ReadInput{Source: source, Chunk: chunks[source], Cursor: cursors[source]}
		read := callEach[activities.ReadResult](r, act.Read, []activities.ReadInput{in})[0]
		if read.Done {
			continue
		}
		r.pass(places, activities.PassInput{Mode: activities.PassNow, Source: source, Chunk: in.Chunk})
		cursors[source], chunks[source], open = read.Cursor, in.Chunk+1, append(open, resumepoint.Source{Name: source})
	}
	for _, barrier := range opened.Barriers {
		r.fold(places, barrier.Name, activities.FoldInput{Kind: activities.FoldEnd})
	}
	return opened
}

// process sends a chunk through the steps, that of a source ahead of its turn as well.
func (r *rig) process(in activities.PassInput) activities.PassResult {
	r.t.Helper()
	if !r.ordered {
		return callEach[activities.PassResult](r, act.Pass, []activities.PassInput{in})[0]
	}
	if r.barriers[in.Source] == nil {
		in.Mode = activities.PassAhead
		call[activities.PassResult](r, act.Pass, in)
	}
	in.Mode, in.Before, r.turns = activities.PassTurn, r.turns, r.turns+1
	return call[activities.PassResult](r, act.Pass, in)
}

// pass sends a chunk through the steps, to the sinks and to the barriers, and what comes out of these as well.
func (r *rig) pass(places places, in activities.PassInput) {
	r.t.Helper()
	processed := r.process(in)
	var writes []activities.WriteInput
	for _, part := range processed.Parts {
		if write := places.next(in, part); r.skip == nil || !r.skip(write) {
			writes = append(writes, write)
		}
	}
	callEach[activities.WriteResult](r, act.Write, writes)
	for _, barrier := range processed.Barriers {
		r.fold(places, barrier, activities.FoldInput{Kind: activities.FoldChunk, Source: in.Source, Chunk: in.Chunk})
	}
}

// fold lets a barrier take a step, some time after the one before, and passes on what comes out.
func (r *rig) fold(places places, barrier string, step activities.FoldInput) {
	r.t.Helper()
	in := r.barriers[barrier]
	in.Kind, in.Source, in.Chunk, in.At = step.Kind, step.Source, step.Chunk, in.At+cmp.Or(r.pace, time.Second).Microseconds()
	out := callEach[activities.FoldResult](r, act.Fold, []activities.FoldInput{*in})[0]
	first := in.Chunks
	in.Fold, in.Rows, in.Chunks = in.Fold+1, in.Rows+out.Rows, in.Chunks+out.Chunks
	if out.Saved.Digest != "" {
		in.Saved = out.Saved
	}
	for chunk := first; chunk < first+out.Chunks; chunk++ {
		r.pass(places, activities.PassInput{Mode: activities.PassNow, Source: barrier, Chunk: chunk})
	}
}

// begin plays until the first chunk is through the steps, and returns the writes that come next.
func (r *rig) begin() []activities.WriteInput {
	r.t.Helper()
	opened := call[resumepoint.Plan](r, act.OpenRun, r.open())
	in := activities.ReadInput{Source: opened.Sources[0].Name}
	call[activities.ReadResult](r, act.Read, in)
	first := activities.PassInput{Mode: activities.PassNow, Source: in.Source}
	if opened.Ordered {
		first.Mode = activities.PassTurn
	}
	places := newPlaces(opened)
	var writes []activities.WriteInput
	for _, part := range call[activities.PassResult](r, act.Pass, first).Parts {
		writes = append(writes, places.next(first, part))
	}
	return writes
}

// places is where each sink's next part belongs.
type places map[string]*activities.WriteInput

func newPlaces(opened resumepoint.Plan) places {
	p := places{}
	for _, sink := range opened.Sinks {
		p[sink.Name] = &activities.WriteInput{Source: opened.Sources[0].Name, Sink: sink.Name, Offset: sink.HeaderBytes}
	}
	return p
}

// next gives the part its place behind the earlier ones.
func (p places) next(in activities.PassInput, part activities.PartSize) activities.WriteInput {
	write := *p[part.Sink]
	write.Source, write.Chunk = in.Source, in.Chunk
	p[part.Sink].Ordinal++
	p[part.Sink].Offset += part.Bytes
	return write
}

// open stores the document, outside of every fate, and returns what begins the run.
func (r *rig) open() activities.OpenInput {
	r.t.Helper()
	digest := payload.Of([]byte(r.document))
	r.objects.Plant(string(digest), []byte(r.document))
	return activities.OpenInput{Run: runID, Document: string(digest), File: "pipeline.yaml", Folder: r.folder, Actor: "tester"}
}
