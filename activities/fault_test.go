package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// simpleDocument has one file, one step and one sink.
const simpleDocument = `name: simple
chunk: {rows: 2}
sources:
  in:
    csv: {path: in.csv}
    schema: {fields: {id: int, text: string}}
    on_invalid: INVALID
steps: [{name: half, set: {half: 100 / row.id}, on_error: INVALID}]
sinks: {out: {csv: {path: out/a.csv}}}
`

func simple(onInvalid string) string { return strings.ReplaceAll(simpleDocument, "INVALID", onInvalid) }

const simpleRows = "id,text\n1,a\n2,b\n3,c\n4,d\n"

var (
	readInput = activities.ReadInput{Source: "in"}
	passInput = activities.PassInput{Mode: activities.PassNow, Source: "in"}
)

func TestDocumentWithProblems(t *testing.T) {
	valid := simple("quarantine")
	for affinity, document := range map[string]string{
		"pipeline.yaml:7:":  strings.Replace(valid, "quarantine", "quarantene", 1),
		"pipeline.yaml:8:":  strings.Replace(valid, "100 / row.id", "100 / row.number", 1),
		"pipeline.yaml:9:":  strings.Replace(valid, "csv: {path: out", "cvs: {path: out", 1),
		"pipeline.yaml:10:": valid + "unknown: 1\n",
	} {
		r := newRig(t, document, map[string]string{"in.csv": simpleRows})
		_, err := try[resumepoint.Plan](r, act.OpenRun, r.open())
		require.Contains(t, requireFinal(t, err, activities.TypeDocument), affinity)
		records := r.records()
		delete(records, "starts")
		require.Empty(t, records, "a document with problems begins no run")
	}
}

func TestSourceThatIsNotThere(t *testing.T) {
	r := newRig(t, simple("quarantine"), nil)
	_, err := try[resumepoint.Plan](r, act.OpenRun, r.open())
	require.Contains(t, requireFinal(t, err, activities.TypeSource), "in.csv")
}

func TestTargetThatMustNotBeOverwritten(t *testing.T) {
	r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
	r.write("out/a.csv", "somebody's work")
	_, err := try[resumepoint.Plan](r, act.OpenRun, r.open())
	require.Contains(t, requireFinal(t, err, activities.TypeTarget), "TARGET_EXISTS")
	require.Equal(t, "somebody's work", r.outputs()["a.csv"])
}

func TestSourceThatChangesBetweenChunks(t *testing.T) {
	for name, restart := range map[string]bool{"in one process": false, "in two processes": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
			call[resumepoint.Plan](r, act.OpenRun, r.open())
			read := call[activities.ReadResult](r, act.Read, readInput)
			r.write("in.csv", simpleRows+"5,e\n")
			if restart {
				r.restart()
			}
			_, err := try[activities.ReadResult](r, act.Read, activities.ReadInput{Source: "in", Chunk: 1, Cursor: read.Cursor})
			require.Contains(t, requireFinal(t, err, activities.TypeSource), "SOURCE_CHANGED")
			require.Len(t, r.records()["chunks"], 1)
		})
	}
}

func TestPlanThatChangesUnderARun(t *testing.T) {
	t.Setenv("REGION", "north")
	r := newRig(t, strings.Replace(simple("quarantine"), "out/a.csv", `"out/${REGION}.csv"`, 1), map[string]string{"in.csv": simpleRows})
	writes := r.begin()
	t.Setenv("REGION", "south")
	r.restart()
	_, err := try[none](r, act.Write, writes[0])
	require.Contains(t, requireFinal(t, err, activities.TypePlanChanged), "run r1 began with plan ")
	t.Setenv("REGION", "north")
	r.restart()
	call[none](r, act.Write, writes[0])
}

func TestNodeThatThePlanDoesNotHave(t *testing.T) {
	r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
	r.begin()
	_, err := try[none](r, act.Write, activities.WriteInput{Source: "in", Sink: "half"})
	require.Equal(t, `run r1 has no sink named "half"`, requireFinal(t, err, activities.TypePlanChanged))
	_, err = try[none](r, act.Publish, activities.Batch[activities.PublishInput]{Run: "r2", Each: []activities.PublishInput{{Sink: "out"}}})
	requireFinal(t, err, activities.TypeUnknownRun)
}

func TestPayloadThatIsGoneOrWrong(t *testing.T) {
	r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
	r.begin()
	pack := r.pack()
	good, err := r.objects.Read(t.Context(), pack, payload.DefaultMaxBytes)
	require.NoError(t, err)

	bad := append([]byte{}, good...)
	bad[len(bad)/2] ^= 1
	r.objects.Plant(pack, bad)
	r.restart()
	_, err = try[activities.PassResult](r, act.Pass, passInput)
	require.Contains(t, requireFinal(t, err, activities.TypeCorrupt), pack)

	require.NoError(t, r.objects.Delete(t.Context(), pack))
	_, err = try[activities.PassResult](r, act.Pass, passInput)
	require.Contains(t, requireFinal(t, err, activities.TypeMissing), pack)

	r.objects.Plant(pack, good)
	call[activities.PassResult](r, act.Pass, passInput)
}

// pack returns the payload of the first chunk.
func (r *rig) pack() string {
	r.t.Helper()
	chunk, err := r.log.Chunk(r.t.Context(), runID, landscape.ChunkKey{Source: "in", Chunk: 0})
	require.NoError(r.t, err)
	return chunk.Pack
}

// TestRowThatStopsTheRun holds that the error, which travels through workflow history, holds nothing of the row.
func TestRowThatStopsTheRun(t *testing.T) {
	for name, row := range map[string]string{"at the source": "zebra,giraffe", "at a step": "0,giraffe"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, simple("fail"), map[string]string{"in.csv": "id,text\n1,a\n" + row + "\n"})
			call[resumepoint.Plan](r, act.OpenRun, r.open())
			call[activities.ReadResult](r, act.Read, readInput)
			_, err := try[activities.PassResult](r, act.Pass, passInput)
			message := requireFinal(t, err, activities.TypeRow)
			require.Contains(t, message, "row 2 (line 3)")
			require.NotContains(t, err.Error(), "zebra")
			require.NotContains(t, err.Error(), "giraffe")
			require.Empty(t, r.records()["passages"])

			stop := activities.StopInput{Run: runID, Status: pipeline.Failed, Reason: message}
			r.twice = true
			call[none](r, act.StopRun, stop)
			run, err := r.log.Run(t.Context(), runID)
			require.NoError(t, err)
			require.Equal(t, pipeline.Failed, run.Status)
			require.Equal(t, message, run.Reason)
		})
	}
}

func TestStoppingARunThatNeverBegan(t *testing.T) {
	r := newRig(t, simple("fail"), nil)
	call[none](r, act.StopRun, activities.StopInput{Run: runID, Status: pipeline.Failed, Reason: "no document"})
	require.Empty(t, r.records())
}

func TestSinkWithAnOpenPartIsNotPublished(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	r.begin()
	_, err := try[none](r, act.Publish, activities.PublishInput{Sink: "review"})
	require.Contains(t, requireFinal(t, err, activities.TypeImbalance), "in 1 rows, out 1 prepared")
	require.NotContains(t, r.outputs(), "review.csv")
}

// TestNoActivityCanBeLeftOut leaves out one activity of a run, and continues as far as it can: the run must not complete.
func TestNoActivityCanBeLeftOut(t *testing.T) {
	after := activities.ReadInput{Source: "in", Chunk: 1}
	steps := []struct {
		name string
		do   func(*rig) error
	}{
		{"end of source", func(r *rig) error { _, err := try[activities.ReadResult](r, act.Read, after); return err }},
		{"process", func(r *rig) error {
			_, err := try[activities.PassResult](r, act.Pass, passInput)
			return err
		}},
		{"write", func(r *rig) error {
			_, err := try[none](r, act.Write, activities.WriteInput{Source: "in", Sink: "out", Offset: int64(len("id,text,half\n"))})
			return err
		}},
		{"publish", func(r *rig) error {
			_, err := try[none](r, act.Publish, activities.PublishInput{Sink: "out"})
			return err
		}},
	}
	for out := -1; out < len(steps); out++ {
		r := newRig(t, simple("quarantine"), map[string]string{"in.csv": "id,text\n1,a\n2,b\n"})
		call[resumepoint.Plan](r, act.OpenRun, r.open())
		after.Cursor = call[activities.ReadResult](r, act.Read, readInput).Cursor
		failed := false
		for i, step := range steps {
			failed = i != out && step.do(r) != nil || failed
		}
		_, err := try[activities.FinishResult](r, act.FinishRun, activities.FinishInput{Run: runID})
		if out < 0 {
			require.NoError(t, err)
			require.False(t, failed)
			continue
		}
		requireFinal(t, err, activities.TypeImbalance)
		run, err := r.log.Run(t.Context(), runID)
		require.NoError(t, err)
		require.Equal(t, pipeline.Running, run.Status, steps[out].name)
	}
}

// TestLostEffectIsFound loses one sink's last part from the record, together with its write: what is left fits together,
// and rows are missing.
func TestLostEffectIsFound(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	r.driver.onBatch = func(b landscape.Tx) {
		for i, record := range b.Insert {
			if effect, ok := record.(landscape.Effect); ok && effect.Sink == "ledger" && effect.Chunk == lastLedgerChunk {
				b.Insert[i] = b.Insert[0] // twice is as good as once
			}
		}
	}
	r.skip = func(write activities.WriteInput) bool {
		return write.Sink == "ledger" && write.Chunk == lastLedgerChunk
	}
	for _, sink := range r.playWrites().Sinks {
		_, err := try[none](r, act.Publish, activities.PublishInput{Sink: sink.Name})
		message := requireFinal(t, err, activities.TypeImbalance)
		require.Contains(t, message, "sink_rows")
		require.Contains(t, message, "ledger")
	}
	for name := range r.outputs() {
		require.Contains(t, name, ".partial", "something of an unbalanced run is published")
	}
}

// lastLedgerChunk is the last chunk of the orders of which the ledger gets a row.
const lastLedgerChunk = 2

func TestFinalCancelDiscardsStaged(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	r.begin()
	staged := r.outputs()
	require.NotEmpty(t, staged)
	order := activities.StopInput{Run: runID, Status: pipeline.Cancelled, Reason: "enough", Actor: "ann", Why: "it was a mistake"}
	for range 2 {
		call[none](r, act.StopRun, order)
		require.Equal(t, staged, r.outputs(), "somebody may continue with it")
	}
	order.Final = true
	for range 2 {
		call[none](r, act.StopRun, order)
		require.Empty(t, r.outputs())
	}
	run, err := r.log.Run(t.Context(), runID)
	require.NoError(t, err)
	require.Equal(t, pipeline.Cancelled, run.Status)
	require.True(t, run.Final)
}
