package sqlitestore_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/sample"
)

// fate is how a row of a scene ended, reckoned without the record.
type fate struct {
	outcome, path, sink, last string
	late                      string // the sink whose target refused it
}

// oracle reckons how every row of a scene ended, and what every sink holds, without the record.
type oracle struct {
	fates   []fate                     // by row, from 1
	lines   map[string][]int64         // rows by sink, in order
	nodes   map[string]map[string]int  // counts by node
	refused map[string]map[int64]int64 // by sink and chunk
	failed  map[int64]int64            // tokens by chunk
}

func reckon(s landscapetest.Scene) oracle {
	o := oracle{fates: []fate{{}}, lines: map[string][]int64{}, nodes: map[string]map[string]int{}, refused: map[string]map[int64]int64{}, failed: map[int64]int64{}}
	count := func(node, what string) {
		if o.nodes[node] == nil {
			o.nodes[node] = map[string]int{}
		}
		o.nodes[node][what]++
	}
	for row := int64(1); row <= int64(s.Chunks*s.ChunkRows); row++ {
		chunk := (row - 1) / int64(s.ChunkRows)
		way := landscapetest.Ways()[s.Way(row)]
		f := fate{outcome: string(way.Path.Outcome()), path: string(way.Path), sink: way.Sink, last: way.Last()}
		for i, step := range way.Steps {
			count(step.Node, "in")
			switch {
			case i < len(way.Steps)-1 || way.Path.Outcome() == pipeline.Success && way.Sink != "":
				count(step.Node, "out")
			case way.Path.Outcome() == pipeline.Failure:
				count(step.Node, "diverted")
			default:
				count(step.Node, "dropped")
			}
		}
		if way.ToSink() {
			count(way.Sink, "in")
			if s.Late(way.Sink, row) {
				count(way.Sink, "diverted")
				f = fate{outcome: "failure", path: "on_error_routed", sink: "__quarantine__", last: way.Sink, late: way.Sink}
				if o.refused[way.Sink] == nil {
					o.refused[way.Sink] = map[int64]int64{}
				}
				o.refused[way.Sink][chunk]++
			} else {
				count(way.Sink, "out")
				o.lines[way.Sink] = append(o.lines[way.Sink], row)
			}
		}
		if f.outcome == "failure" {
			o.failed[chunk]++
		}
		o.fates = append(o.fates, f)
	}
	return o
}

// random is a scene in which targets refuse any rows, all rows of a part, or none. Every sink gets a row of every chunk.
func random(seed uint64) landscapetest.Scene {
	r := rand.New(rand.NewPCG(seed, 7))
	s := landscapetest.Scene{Run: fmt.Sprint("random ", seed), Chunks: 1 + r.IntN(3), ChunkRows: 3 + r.IntN(60)}
	ways, late := map[int64]int{}, map[int64]bool{}
	often := r.IntN(4)
	for row := int64(1); row <= int64(s.Chunks*s.ChunkRows); row++ {
		ways[row] = r.IntN(len(landscapetest.Ways()))
		if at := (row - 1) % int64(s.ChunkRows); at < 3 {
			ways[row] = []int{0, 1, 6}[at] // to review, all and rejects
		}
		late[row] = r.IntN(3) < often
	}
	s.Way = func(row int64) int { return ways[row] }
	s.Late = func(_ string, row int64) bool { return late[row] }
	return s
}

// TestRefusedRows compares views, questions and sweeps with an oracle, of runs in which the targets of sinks refused rows.
func TestRefusedRows(t *testing.T) {
	store, path := create(t)
	defer store.Close()
	log, db := landscape.New(store, nil), stranger(t, path, "")
	refused := 0
	for _, seed := range sample.Of(2, []uint64{0, 1, 2, 3, 4, 5}) {
		s := random(seed)
		require.NoError(t, s.Play(t.Context(), log))
		findings, err := log.Sweep(t.Context(), s.Run, true)
		require.NoError(t, err)
		require.Nil(t, findings)
		o := reckon(s)
		for _, chunks := range o.refused {
			refused += len(chunks)
		}
		agreeRows(t, db, s.Run, o)
		agreeSinks(t, log, db, s.Run, o)
		agreeCounts(t, log, db, s, o)
	}
	require.Greater(t, refused, 5, "the scenes refuse too little")
}

// agreeRows compares what the views say of every row.
func agreeRows(t *testing.T, db *sql.DB, run string, o oracle) {
	t.Helper()
	var ends, errs, states, edges []string
	for row, f := range o.fates[1:] {
		sink := f.sink
		if sink == "" {
			sink = "-"
		}
		ends = append(ends, fmt.Sprintf("%d %s %s %s", row+1, f.outcome, f.path, sink))
		if f.sink == "__quarantine__" {
			errs = append(errs, fmt.Sprintf("%d %s", row+1, f.last))
			edges = append(edges, fmt.Sprintf("%d %s quarantine", row+1, f.last))
		}
		if f.outcome == "failure" {
			states = append(states, fmt.Sprintf("%d %s", row+1, f.last))
		}
	}
	where := fmt.Sprintf(" where run_id = '%s'", run)
	require.Equal(t, ends, list(t, db, `select row || ' ' || outcome || ' ' || path || ' ' || coalesce(sink, '-') from rows`+where+` and completed order by row`))
	require.Equal(t, ends, list(t, db, `select row || ' ' || outcome || ' ' || path || ' ' || coalesce(sink, '-') from token_outcomes`+where+` and completed order by row`))
	require.Equal(t, orNone(errs), list(t, db, `select row || ' ' || node from quarantined_rows`+where+` order by row`))
	require.Equal(t, orNone(edges), list(t, db, `select row || ' ' || node || ' ' || to_node from routing_events`+where+` and to_node = 'quarantine' and kind = 'error' order by row`))
	require.Equal(t, orNone(states), list(t, db, `
		select s.row || ' ' || s.node from node_states s
		where s.run_id = '`+run+`' and s.status = 'failed' and s.seq = (select max(seq) from node_states l where l.run_id = s.run_id and l.row = s.row and l.status = 'failed')
		order by s.row`))
	require.Empty(t, list(t, db, `select token_id from token_outcomes`+where+` and (outcome = 'failure') <> (error_hash is not null)`))
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// agreeSinks compares what sinks hold, line by line.
func agreeSinks(t *testing.T, log *landscape.Log, db *sql.DB, run string, o oracle) {
	t.Helper()
	for _, sink := range []string{"review", "all", "rejects"} {
		var lines []string
		for n, row := range o.lines[sink] {
			lines = append(lines, fmt.Sprint(n+1, " ", row))
			token, err := log.SinkLine(t.Context(), run, sink, int64(n)+1)
			require.NoError(t, err)
			require.Equal(t, row, token.Row)
			at, line, err := log.SinkPosition(t.Context(), run, token)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(sink, n+1), fmt.Sprint(at, line))
		}
		_, err := log.SinkLine(t.Context(), run, sink, int64(len(lines))+1)
		require.ErrorIs(t, err, landscape.ErrNotFound)
		require.Equal(t, orNone(lines), list(t, db, fmt.Sprintf(`select line_number || ' ' || row from sink_rows where run_id = '%s' and sink = '%s' order by line_number`, run, sink)))
		var refused int64
		for _, rows := range o.refused[sink] {
			refused += rows
		}
		require.Equal(t, []string{fmt.Sprint(len(lines)+int(refused), " ", len(lines), " ", refused, " ", len(lines))}, list(t, db, fmt.Sprintf(`
			select planned_rows || ' ' || finalized_rows || ' ' || refused_rows || ' ' || (select rows from artifacts a where a.run_id = s.run_id and a.sink = s.sink)
			from sink_totals s where run_id = '%s' and sink = '%s'`, run, sink)))
	}
	for row, f := range o.fates[1:] {
		token := landscape.Token{Source: landscapetest.Source, Row: int64(row) + 1}
		way, err := log.WayOf(t.Context(), run, token)
		require.NoError(t, err)
		refusal, err := log.LateRowError(t.Context(), run, token, way)
		require.NoError(t, err)
		require.Equal(t, f.late != "", refusal != nil)
		if f.late != "" {
			_, _, err := log.SinkPosition(t.Context(), run, token)
			require.ErrorIs(t, err, landscape.ErrNotFound)
			require.ErrorContains(t, err, "refused it")
		}
	}
}

// agreeCounts compares what the views and Log count.
func agreeCounts(t *testing.T, log *landscape.Log, db *sql.DB, s landscapetest.Scene, o oracle) {
	t.Helper()
	var succeeded, failed, quarantined int64
	for _, f := range o.fates[1:] {
		switch {
		case f.outcome == "success":
			succeeded++
		case f.sink == "__quarantine__":
			failed, quarantined = failed+1, quarantined+1
		default:
			failed++
		}
	}
	want := fmt.Sprint(succeeded, " ", failed, " ", quarantined)
	require.Equal(t, []string{want}, list(t, db, fmt.Sprintf(`select rows_succeeded || ' ' || rows_failed || ' ' || rows_quarantined from run_summary where run_id = '%s'`, s.Run)))
	sum, err := log.Summary(t.Context(), s.Run)
	require.NoError(t, err)
	require.Equal(t, want, fmt.Sprint(sum.Succeeded, " ", sum.Failed, " ", sum.Quarantined))
	progress, err := log.Progress(t.Context(), s.Run)
	require.NoError(t, err)
	require.Equal(t, failed, progress.Failed)
	require.Equal(t, progress.Planned, progress.Finalized+progress.Refused)
	status := pipeline.Completed
	if failed > 0 {
		status = pipeline.CompletedWithFailures
	}
	require.Equal(t, status, sum.Run.Status)

	var counts []string
	for _, n := range sum.Nodes {
		c := o.nodes[n.Node]
		line := fmt.Sprint(n.Node, " ", c["in"], " ", c["out"], " ", c["dropped"], " ", c["diverted"])
		require.Equal(t, line, fmt.Sprint(n.Node, " ", n.In, " ", n.Out, " ", n.Dropped, " ", n.Diverted))
		if c["in"] > 0 {
			counts = append(counts, line)
		}
	}
	require.Equal(t, counts, list(t, db, fmt.Sprintf(`
		select node || ' ' || in_rows || ' ' || out_rows || ' ' || dropped_rows || ' ' || diverted_rows from node_counts where run_id = '%s' order by seq`, s.Run)))
	require.Empty(t, list(t, db, `select node from chunk_node_counts
		where in_rows + created_rows <> out_rows + dropped_rows + diverted_rows + consumed_rows + held_rows`))

	marks, err := log.PassageMarks(t.Context(), s.Run, landscapetest.Source)
	require.NoError(t, err)
	for _, mark := range marks {
		require.Equal(t, o.failed[mark.Chunk], mark.Refused, "chunk %d", mark.Chunk)
	}
	groups, err := log.ErrorGroups(t.Context(), s.Run)
	require.NoError(t, err)
	for sink, chunks := range o.refused {
		at := slices.IndexFunc(groups, func(g landscape.ErrorGroup) bool { return g.Node == sink && g.Code == "SINK_UNIQUE" })
		require.GreaterOrEqual(t, at, 0)
		var rows int64
		for n := range maps.Values(chunks) {
			rows += n
		}
		require.Equal(t, rows, groups[at].Count)
	}
}
