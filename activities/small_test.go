package activities_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/pipeline"
)

const littleDocument = `
name: little
sources:
  in: {csv: {path: in.csv}, schema: {fields: {id: int, total: decimal}}}
  more: {jsonl: {path: more.jsonl}, schema: {fields: {id: int, total: decimal}}}
steps: [{name: triage, from: [in, more], gate: row.total > 10, routes: {"true": large, "false": all}}]
sinks:
  large: {csv: {path: out/large.csv}}
  all: {jsonl: {path: out/all.jsonl}}
`

// TestSmallRun does a small run in two activities, each twice, and the same run in many: the answers, the outputs and the state that they lead to are the same.
func TestSmallRun(t *testing.T) {
	files := map[string]string{"in.csv": "id,total\n1,5\n2,50\nx,1\n", "more.jsonl": `{"id": 3, "total": "11"}` + "\n"}
	apart := newRig(t, littleDocument, files)
	want := apart.play()

	r := newRig(t, littleDocument, files)
	r.twice = true
	opened := call[resumepoint.Plan](r, act.OpenRun, r.open())
	require.True(t, opened.Small)
	before := resumepoint.NewState(opened)
	did := call[activities.SmallRunResult](r, act.SmallRun, activities.SmallRunInput{Run: runID, State: before})
	require.Equal(t, resumepoint.NewState(opened), before)
	require.Len(t, did.Reads, 4, "a chunk of each source, and their ends")
	require.Len(t, did.Passes, 2)
	require.Len(t, did.Writes, 3)
	got := call[activities.FinishResult](r, act.FinishRun, activities.FinishInput{Run: runID, Sinks: []string{"large", "all"}})
	require.Equal(t, []string{"large", "all"}, got.Published)
	require.Equal(t, pipeline.CompletedWithFailures, got.Status)
	require.Equal(t, want.RefusedBy, got.RefusedBy)
	for i, output := range want.Outputs {
		require.Equal(t, []any{output.Sink, output.SHA256, output.Rows}, []any{got.Outputs[i].Sink, got.Outputs[i].SHA256, got.Outputs[i].Rows})
		written, err := os.ReadFile(filepath.Join(r.folder, strings.TrimPrefix(output.Path, apart.folder)))
		require.NoError(t, err)
		require.NotEmpty(t, written)
	}
	found, err := r.log.Sweep(t.Context(), runID, true)
	require.NoError(t, err)
	require.Empty(t, found)
}

// TestWhatIsSmall does nothing as a whole that gathers rows, has small chunks or values that must be unique, or whose size is not known to be small.
func TestWhatIsSmall(t *testing.T) {
	for name, change := range map[string][2]string{
		"small chunks":  {"name: little", "name: little\nchunk: {rows: 100}"},
		"unique values": {"id: int, total: decimal}}}\n  more", "id: {type: int, unique: true}, total: decimal}}}\n  more"},
		"an aggregate":  {"steps: [", "steps: [{name: sums, from: in, aggregate: {compute: {n: count()}}}, "},
	} {
		t.Run(name, func(t *testing.T) {
			document := strings.Replace(littleDocument, change[0], change[1], 1)
			if name == "an aggregate" {
				document = strings.NewReplacer("from: [in, more]", "from: more", "all: {jsonl: {path: out/all.jsonl}}", "all: {jsonl: {path: out/all.jsonl}}\n  counted: {jsonl: {path: out/sums.jsonl}, from: sums}").Replace(document)
			}
			r := newRig(t, document, map[string]string{"in.csv": "id,total\n1,5\n", "more.jsonl": `{"id": 3, "total": "11"}`})
			require.False(t, call[resumepoint.Plan](r, act.OpenRun, r.open()).Small)
		})
	}
	r := newRig(t, littleDocument, map[string]string{"in.csv": "id,total\n" + strings.Repeat("1,5\n", 10_000), "more.jsonl": `{"id": 3, "total": "11"}`})
	require.False(t, call[resumepoint.Plan](r, act.OpenRun, r.open()).Small, "40 KB")
}
