package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/plugintest"
)

// tableDocument writes into tables: two branches of a fork into one, rejected rows into another, what a barrier gives into a third.
const tableDocument = `name: tables
chunk: {rows: 4}
sources:
  in: {csv: {path: in.csv}, schema: {fields: {id: string, kind: string, n: int}}, on_invalid: quarantine}
steps:
  - {name: half, set: {half: 100 / row.n}, on_error: rejects}
  - {name: sides, fork: [left, right, other]}
  - {name: named, from: left, set: {id: "row.id + row.kind"}}
  - {name: kept, from: right, filter: "row.kind != 'x'"}
  - {name: sums, from: other, aggregate: {group_by: [kind], compute: {id: first(row.id), n: count()}}, trigger: {rows: 2}}
sinks:
  pairs: {jsonl: {path: out/pairs.jsonl}, from: [named, kept]}
  rejects: {jsonl: {path: out/rejects.jsonl}}
  totals: {jsonl: {path: out/totals.jsonl}, from: sums}
`

// tableFiles: ids that come twice within a chunk and across chunks, rows that half rejects for one reason, and a row that the source
// rejects.
var tableFiles = map[string]string{
	"in.csv": "id,kind,n\na,x,1\nb,y,2\nb,y,3\nc,y,0\nd,x,0\na,x,5\nay,z,6\na,y,7\ne,y,many\nf,,1\nf,,2\ng,y,0\n",
}

// tables are the targets of a document's sinks, by name, in memory.
type tables map[string]*plugintest.MemoryTable

// tabled puts tables in the place of the rig's sinks.
func tabled(r *rig) tables {
	ts := tables{"pairs": {Name: "pairs", Key: "id"}, "rejects": {Name: "rejects", Key: "node"}, "totals": {Name: "totals", Key: "kind"}}
	for _, table := range ts {
		table.OnWrite = func() (bool, error) { return r.driver.fate("table") }
	}
	inner := r.planner
	r.planner = planFunc(func(request plan.Request) (*plan.Plan, error) {
		compiled, err := inner.Plan(request)
		if err != nil {
			return nil, err
		}
		seen := *compiled // plans are shared
		seen.Nodes = slices.Clone(compiled.Nodes)
		for _, i := range seen.Sinks() {
			seen.Nodes[i].Sink = ts[seen.Nodes[i].Name].Sink(seen.Nodes[i].Sink)
		}
		return &seen, nil
	})
	ts.reset(r.t, r)
	return ts
}

func (ts tables) reset(t *testing.T, r *rig) {
	t.Helper()
	for _, table := range ts {
		table.Clear()
	}
	r.reset(t)
	r.write("out/nothing", "all goes into tables")
}

// lines returns what every table holds.
func (ts tables) lines() map[string][]string {
	all := map[string][]string{}
	for name, table := range ts {
		all[name] = table.Lines()
	}
	return all
}

// late returns what is recorded as rejected by targets: token, sink, code and record.
func (r *rig) late() []string {
	r.t.Helper()
	var found []string
	for _, source := range []string{"in", "sums"} {
		errors, err := landscape.Select[landscape.RowError](r.t.Context(), r.driver, runID, source)
		require.NoError(r.t, err)
		for _, e := range errors {
			if !strings.HasPrefix(e.Code, "SINK_") {
				continue
			}
			require.Equal(r.t, pipeline.QuarantineSink, e.SentTo)
			id, err := r.log.TokenID(r.t.Context(), runID, landscape.Token{Source: source, Lane: e.Lane, Row: e.Row})
			require.NoError(r.t, err)
			found = append(found, fmt.Sprintf("%s %s %s %s line %d at %d: %s", id, e.Node, e.Code, e.Field, e.Line, e.ByteOffset, e.Raw))
		}
	}
	return found
}

func TestRowsThatATargetRefuses(t *testing.T) {
	r := newRig(t, tableDocument, tableFiles)
	ts := tabled(r)
	require.Equal(t, pipeline.CompletedWithFailures, r.play().Status)
	r.requireWhole()
	require.Equal(t, []string{
		"in:3/left pairs SINK_UNIQUE id line 4 at 22: b,y,3", "in:3/right pairs SINK_UNIQUE id line 4 at 22: b,y,3",
		"in:5 rejects SINK_UNIQUE node line 6 at 34: d,x,0", "in:6/left pairs SINK_UNIQUE id line 7 at 40: a,x,5",
		"in:8/left pairs SINK_UNIQUE id line 9 at 53: a,y,7", "in:10/right pairs SINK_UNIQUE id line 11 at 68: f,,1",
		"in:11/left pairs SINK_UNIQUE id line 12 at 73: f,,2", "in:11/right pairs SINK_UNIQUE id line 12 at 73: f,,2",
		"in:12 rejects SINK_UNIQUE node line 13 at 78: g,y,0",
	}, r.late()[:9])
	require.Greater(t, len(r.late()), 9, "and rows that came out of the barrier")
	sum, err := r.log.Summary(t.Context(), runID)
	require.NoError(t, err)
	var rejected int64
	for _, sink := range sum.Sinks {
		require.EqualValues(t, len(ts[sink.Sink].Lines()), sink.Finalized, sink.Sink)
		require.Equal(t, sink.Planned, sink.Finalized+sink.Refused)
		rejected += sink.Refused
	}
	require.EqualValues(t, len(r.late()), rejected)
	require.EqualValues(t, rejected+1, sum.Quarantined, "and the one that the source refused")
	artifacts, err := r.log.Artifacts(t.Context(), runID)
	require.NoError(t, err)
	for _, artifact := range artifacts {
		require.EqualValues(t, len(ts[artifact.Sink].Lines()), artifact.Rows)
		r.requireLines(artifact.Sink, ts[artifact.Sink].Lines())
	}
}

// requireLines requires that the n-th row of a table is that of the token that the record names.
func (r *rig) requireLines(sink string, lines []string) {
	r.t.Helper()
	for n, line := range lines {
		token, err := r.log.SinkLine(r.t.Context(), runID, sink, int64(n)+1)
		require.NoError(r.t, err)
		if sink != "pairs" {
			continue
		}
		var row struct{ ID string }
		require.NoError(r.t, json.Unmarshal([]byte(line), &row))
		record := strings.Split(strings.Split(tableFiles["in.csv"], "\n")[token.Row], ",")
		id, err := r.log.TokenID(r.t.Context(), runID, token)
		require.NoError(r.t, err)
		want := record[0]
		if strings.HasSuffix(id, "/left") {
			want += record[1]
		}
		require.Equal(r.t, want, row.ID, "line %d of %s is %s", n+1, sink, id)
	}
}

// TestFatesOfATable loses every write of a run once, those of the tables as well: its request, and its reply. The tables hold what they
// hold without faults, and so does the record.
func TestFatesOfATable(t *testing.T) {
	r := newRig(t, tableDocument, tableFiles)
	ts := tabled(r)
	records, outputs := playOnce(r)
	held := ts.lines()
	for _, forgetful := range []bool{false, true} {
		ts.reset(t, r)
		r.forgetful, r.twice = forgetful, true
		requireSame(r, records, outputs)
		require.Equal(t, held, ts.lines())
		r.twice = false
		ts.reset(t, r)
		requireSame(r, records, outputs)
		kinds, writes := r.driver.kinds, r.driver.writes.Load()
		require.Greater(t, kinds["table"], 5)
		for broken := int64(0); broken < writes; broken += *fateStride {
			for _, keep := range []bool{false, true} {
				t.Run(fmt.Sprintf("write %d, kept %v, forgetful %v", broken, keep, forgetful), func(t *testing.T) {
					ts.reset(t, r)
					r.driver.broken, r.driver.keep = broken, keep
					requireSame(r, records, outputs)
					require.Equal(t, 1, r.faults, "the fault was swallowed")
					require.Equal(t, held, ts.lines())
					requireFinalizedOnce(r)
				})
			}
		}
		t.Logf("%d fates tried, writes of a run, forgetful %v: %v", 2*((writes+*fateStride-1) / *fateStride), forgetful, kinds)
	}
	r.t = t
}

// TestWriteSaysHowManyRowsTheTargetRefused holds that a repeat, by a process that knows nothing, says the same; and that rows which a
// node had rejected before are not counted twice.
func TestWriteSaysHowManyRowsTheTargetRefused(t *testing.T) {
	r := newRig(t, tableDocument, tableFiles)
	tabled(r)
	opened := call[resumepoint.Plan](r, act.OpenRun, r.open())
	places, read := newPlaces(opened), activities.ReadInput{Source: "in"}
	said := map[string][]int64{}
	for ; ; read.Chunk++ {
		got := call[activities.ReadResult](r, act.Read, read)
		if got.Done {
			break
		}
		in := activities.PassInput{Mode: activities.PassNow, Source: "in", Chunk: read.Chunk}
		for _, part := range call[activities.PassResult](r, act.Pass, in).Parts {
			write := places.next(in, part)
			result := call[activities.WriteResult](r, act.Write, write)
			said[part.Sink] = append(said[part.Sink], result.Refused)
			r.restart()
			require.Equal(t, result, call[activities.WriteResult](r, act.Write, write))
		}
		read.Cursor = got.Cursor
	}
	require.Equal(t, map[string][]int64{"pairs": {2, 2, 3}, "rejects": {0, 0, 0}}, said)
}

// TestResumeCountsRejectedRows adds up what the activities of a run said, and compares it with what a process says
// that takes the run up before its end.
func TestResumeCountsRejectedRows(t *testing.T) {
	r := newRig(t, tableDocument, tableFiles)
	tabled(r)
	r.playWrites()
	sum, err := r.log.Summary(t.Context(), runID)
	require.NoError(t, err)
	r.restart()
	state := call[resumepoint.State](r, act.ResumeRun, activities.ResumeInput{Run: runID, Epoch: 1})
	require.Equal(t, sum.Failed, state.Refused)
	progress, err := r.log.Progress(t.Context(), runID)
	require.NoError(t, err)
	require.Equal(t, progress.Failed, state.Refused)
	require.Greater(t, state.Refused, int64(10))
}

// TestDeathBetweenTheTargetAndTheRecord lets the process die after the target took the part, and another one go on.
func TestDeathBetweenTheTargetAndTheRecord(t *testing.T) {
	r := newRig(t, tableDocument, tableFiles)
	ts := tabled(r)
	write := r.begin()[0]
	require.Equal(t, "pairs", write.Sink)
	r.breakNext(2, false) // the attempt begins, the table writes, and the end is lost
	_, err := try[activities.WriteResult](r, act.Write, write)
	require.ErrorContains(t, err, errLost.Error())
	held := ts["pairs"].Lines()
	require.NotEmpty(t, held)
	require.Empty(t, r.late(), "nothing of the end is recorded")
	r.restart()
	require.Equal(t, activities.WriteResult{Rows: int64(len(held)), Refused: 2}, call[activities.WriteResult](r, act.Write, write))
	require.Equal(t, held, ts["pairs"].Lines())
	require.Len(t, r.late(), 2)
	require.Equal(t, []string{"1 began", "2 began", "2 reconciled exactly", "2 finalized"}, r.story(write))
}

// TestRecordsThatATargetRefusedAreFedAgain holds that a record is retried if the target rejected what came of it and nothing else of it
// went on: each once.
func TestRecordsThatATargetRefusedAreFedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		rows     []int64
	}{
		"one sink": {`name: plain
chunk: {rows: 4}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: string, kind: string, n: int}}, on_invalid: quarantine}}
sinks: {pairs: {jsonl: {path: out/pairs.jsonl}}}
`, []int64{3, 6, 8, 9, 11}},
		"forks and refused rows": {tableDocument, []int64{5, 9, 12}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.document, tableFiles)
			ts := tabled(r)
			r.play()
			for _, table := range ts {
				table.Name += " again" // another place
			}
			in := r.open()
			in.Run, in.Retry = retryID, &activities.RetryInput{Of: runID}
			call[resumepoint.Plan](r, act.OpenRun, in)
			retried, err := r.log.Retried(t.Context(), retryID)
			require.NoError(t, err)
			var rows []int64
			for _, row := range retried {
				require.Equal(t, "in", row.Source)
				rows = append(rows, row.Row)
			}
			require.Equal(t, c.rows, rows)
			in.Run = "r3"
			_, err = try[resumepoint.Plan](r, act.OpenRun, in)
			require.Contains(t, requireFinal(t, err, activities.TypeNotRetryable), "no record of run r1 is left to be retried")
		})
	}
}

// TestTargetThatRefusesWhatItDidNotGet holds that an answer which cannot be is not believed.
func TestTargetThatRefusesWhatItDidNotGet(t *testing.T) {
	for name, answer := range map[string][]plugin.RejectedRow{
		"a row behind the part": {{Row: 99, Rejection: plugin.Rejection{Code: "X"}}},
		"a row before it":       {{Row: -1, Rejection: plugin.Rejection{Code: "X"}}},
		"a row twice":           {{Row: 1, Rejection: plugin.Rejection{Code: "X"}}, {Row: 1, Rejection: plugin.Rejection{Code: "X"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tableDocument, tableFiles)
			tabled(r)
			answering(r, answer)
			_, err := try[activities.WriteResult](r, act.Write, r.begin()[0])
			require.Contains(t, requireFinal(t, err, activities.TypeTarget), "sink pairs, chunk 0: the target says that it refused row")
			require.Empty(t, r.late())
		})
	}
}

// answering lets the targets answer for the rows that they rejected.
func answering(r *rig, answer []plugin.RejectedRow) {
	inner := r.planner
	r.planner = planFunc(func(request plan.Request) (*plan.Plan, error) {
		compiled, err := inner.Plan(request)
		if err != nil {
			return nil, err
		}
		for _, i := range compiled.Sinks() {
			compiled.Nodes[i].Sink = answeringSink{compiled.Nodes[i].Sink, answer}
		}
		return compiled, nil
	})
	r.restart()
}

type answeringSink struct {
	plugin.Sink
	answer []plugin.RejectedRow
}

func (s answeringSink) Target(run string) plugin.Target {
	return answeringTarget{s.Sink.Target(run), s.answer}
}

type answeringTarget struct {
	plugin.Target
	answer []plugin.RejectedRow
}

func (t answeringTarget) Rejected(context.Context, plugin.Part) ([]plugin.RejectedRow, error) {
	return t.answer, nil
}
