package sqlitestore_test

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/tests/sample"
)

// forked returns a store in which the graph was played by these steps, and its database for strangers.
func forked(t *testing.T, steps func(g graph) []error) (*sqlitestore.Store, *sql.DB) {
	t.Helper()
	store, path := create(t)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for _, err := range steps(graph{run: "r", log: landscape.New(store, nil)}) {
		require.NoError(t, err)
	}
	return store, stranger(t, path, "")
}

// list returns the rows of a query, one text each.
func list(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	require.NoError(t, err, query)
	defer rows.Close()
	found := []string{}
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		found = append(found, text)
	}
	require.NoError(t, rows.Err(), query)
	return found
}

func TestGraphIsWhole(t *testing.T) {
	store, db := forked(t, func(g graph) []error { return []error{g.play(t.Context())} })
	findings, err := store.Sweep(t.Context(), "r", true)
	require.NoError(t, err)
	require.Nil(t, findings)
	require.Empty(t, list(t, db, `select token_id from token_outcomes where not completed or path = 'buffered' or outcome is null`))
	require.Empty(t, list(t, db, `
		select node from chunk_node_counts
		where in_rows + created_rows <> out_rows + dropped_rows + diverted_rows + consumed_rows + held_rows or held_rows <> 0`))
	require.Equal(t, []string{"5 5 36 20 0"}, list(t, db, `
		select format('%d %d %d %d %d', rows_read, rows_passed, tokens, tokens_transient, tokens_held) from run_summary`))
	require.Equal(t, []string{"branch 16", "error 1", "flow 27"}, list(t, db, `select kind || ' ' || count(*) from routing_events group by kind`))
	require.Equal(t, []string{"batch 4", "coalesce 11", "continue 2", "expand 3", "fork 16"}, list(t, db, `
		select relation || ' ' || count(*) from token_parents group by relation`))
	require.Equal(t, []string{"known", "decide"}, list(t, db, `select node from node_states where token_id = 'items:1/by_species' order by seq`),
		"what it did before the fork is its parent's")
	require.Equal(t, []string{"items:1", "decide"}, list(t, db, `select fork_group_id from tokens where token_id = 'items:1/by_cost'
		union all select last_node from token_outcomes where token_id = 'items:1/by_cost' and join_group_id = 'items:1/decide'`))
}

// TestHashesGoOn holds that a token comes to its first own node with the hash with which its parent came to the fork.
func TestHashesGoOn(t *testing.T) {
	_, db := forked(t, func(g graph) []error { return []error{g.play(t.Context())} })
	require.Equal(t, []string{"16"}, list(t, db, `
		select count(*) from token_parents p
		join node_states c on c.token_id = p.token_id
		join token_outcomes o on o.token_id = p.parent_token_id
		join node_states f on f.token_id = p.parent_token_id and f.node = o.last_node
		where p.relation = 'fork' and c.seq = (select min(seq) from node_states where token_id = p.token_id)
			and c.input_hash = f.output_hash and length(c.input_hash) = 64`))
	require.Equal(t, []string{"11"}, list(t, db, `
		select count(*) from node_states s join nodes n using (run_id, node)
		where s.seq = 0 and n.hashes = 'record' and s.input_hash is null and s.output_hash = (
			select lower(hex(substr(r.raw_hashes, 32 * (s.row - c.first_row) + 1, 32)))
			from chunks c join chunk_rows r using (run_id, source, chunk) where c.source = s.source and c.chunk = s.chunk)`))
	require.Empty(t, list(t, db, `select token_id from node_states where output_hash is not null and length(output_hash) <> 64
		or input_hash is not null and length(input_hash) <> 64`))
}

// TestHeldTokens holds that what a barrier holds is open, and nothing is out of balance meanwhile.
func TestHeldTokens(t *testing.T) {
	_, db := forked(t, func(g graph) []error { return []error{g.begin(t.Context()), g.read(t.Context()), g.items(t.Context())} })
	require.Equal(t, []string{
		"both:1 by_state:1", "both:2 by_state:1", "both:3 by_state:2",
		"items:1/decide/ranked top:1", "items:2/decide/ranked top:1", "items:3/decide/ranked top:1",
	}, list(t, db, `select token_id || ' ' || batch_id from token_outcomes
		where not completed and path = 'buffered' and outcome is null order by token_id`))
	require.Equal(t, list(t, db, `select token_id from tokens where not completed and barrier is not null order by token_id`),
		list(t, db, `select token_id from node_states where status = 'held' and output_hash is null order by token_id`))
	require.Equal(t, []string{"top 3", "by_state 3"}, list(t, db, `
		select node || ' ' || held_rows from node_counts where held_rows <> 0 order by seq`))
	require.Empty(t, list(t, db, `
		select node from chunk_node_counts
		where kind <> 'sink' and in_rows + created_rows <> out_rows + dropped_rows + diverted_rows + consumed_rows + held_rows`))
	require.Equal(t, []string{"6"}, list(t, db, `select tokens_held from run_summary`))
	require.Equal(t, []string{"3"}, list(t, db, `select count(*) from batch_members where node = 'top' and batch = 1`), "though it did not fire")
}

// branchesInOnePart records that both branches of two rows went to a sink.
func branchesInOnePart(t *testing.T, g graph) []error {
	t.Helper()
	toSink := stories{
		westLane:             {"west > score > split (fork_parent)", "west > score > split (fork_parent)"},
		westLane + byCost:    {"west > score > split[by_cost] | rejects (default_flow)", "west > score > split[by_cost] | rejects (default_flow)"},
		westLane + bySpecies: {"west > score > split[by_species] | known > rejects (default_flow)", "west > score > split[by_species] | known > rejects (default_flow)"},
	}
	lost := allCame()
	lost.Arrived, lost.Collisions, lost.Origins, lost.FiredBy, lost.Result = nil, nil, nil, "lost", landscape.MergeNothing
	lost.Lost = []landscape.LostBranch{{Branch: "by_cost", Reason: pipeline.DefaultFlow}, {Branch: "by_species", Reason: pipeline.DefaultFlow}}
	join := landscape.LaneMerges{Lane: westLane + decided, Kinds: []landscape.MergeKind{lost}, Codes: []uint16{0, 0}}
	return []error{g.begin(t.Context()), g.read(t.Context()), g.pass(t.Context(), "west", 0, 1, toSink, join), g.write(t.Context(), "rejects", "west")}
}

// TestLanesInOnePart holds that tokens of one record stand in the order of their lanes in a part, and the next record after them.
func TestLanesInOnePart(t *testing.T) {
	store, db := forked(t, func(g graph) []error { return branchesInOnePart(t, g) })
	want := []string{"west:1/by_cost", "west:1/by_species", "west:2/by_cost", "west:2/by_species"}
	require.Equal(t, want, list(t, db, `select token_id from sink_rows where sink = 'rejects' order by line_number`))
	log := landscape.New(store, nil)
	for i, id := range want {
		token, err := log.SinkLine(t.Context(), "r", "rejects", int64(i)+1)
		require.NoError(t, err)
		text, err := log.TokenID(t.Context(), "r", token)
		require.NoError(t, err)
		require.Equal(t, id, text)
	}
	require.Equal(t, []string{"west:1 nothing [] none", "west:2 nothing [] none"}, list(t, db, `
		select fork_group_id || ' ' || result || ' ' || arrival_order || ' ' || coalesce(merged_token_id, merged_hash, 'none') from coalesce_events
		order by row`))
}

// TestGraphAgreesWithLog compares batches, merges and parents in the views with the answers of Log.
func TestGraphAgreesWithLog(t *testing.T) {
	store, db := forked(t, func(g graph) []error { return []error{g.play(t.Context())} })
	agree(t, landscape.New(store, nil), db, "r")
}

// TestSlicesAgreeWithLog does the same with members and branches in several slices of a chunk.
func TestSlicesAgreeWithLog(t *testing.T) {
	store, path := create(t)
	defer store.Close()
	log, scene := landscape.New(store, nil), sliced()
	if sample.All() {
		scene = landscapetest.GraphScene{Run: "r", Chunks: 3, ChunkRows: 2_100}
	}
	require.NoError(t, scene.PlayToEnd(t.Context(), log))
	findings, err := log.Sweep(t.Context(), "r", true)
	require.NoError(t, err)
	require.Nil(t, findings)
	agree(t, log, stranger(t, path, ""), "r")
}

func agree(t *testing.T, log *landscape.Log, db *sql.DB, run string) {
	t.Helper()
	id := func(token landscape.Token) string {
		text, err := log.TokenID(t.Context(), run, token)
		require.NoError(t, err)
		return text
	}
	for _, node := range list(t, db, `select distinct node from batches order by node`) {
		batches, err := landscape.Select[landscape.BatchRecord](t.Context(), log, run, node)
		require.NoError(t, err)
		for _, b := range batches {
			members, err := log.MembersOf(t.Context(), run, node, b.Batch)
			require.NoError(t, err)
			want := []string{}
			for i, m := range members {
				want = append(want, fmt.Sprint(i, " ", id(m)))
			}
			require.Equal(t, want, list(t, db, fmt.Sprintf(`select ordinal || ' ' || token_id from batch_members
				where run_id = '%s' and node = '%s' and batch = %d order by ordinal`, run, node, b.Batch)))
			rows, err := log.CameOf(t.Context(), run, node, b.Fold, map[int64][]landscape.Token{b.Batch: nil})
			require.NoError(t, err)
			require.Equal(t, []string{fmt.Sprint(len(rows), " ", b.Rows)}, list(t, db, fmt.Sprintf(`select out_rows || ' ' || rows
				from batch_totals where run_id = '%s' and node = '%s' and batch = %d`, run, node, b.Batch)))
		}
	}
	agreeJoins(t, log, db, run, id)
}

func agreeJoins(t *testing.T, log *landscape.Log, db *sql.DB, run string, id func(landscape.Token) string) {
	t.Helper()
	keys := list(t, db, `select distinct fork_group_id from coalesce_events order by 1 limit 50`)
	require.NotEmpty(t, keys)
	for _, key := range keys {
		token, err := log.ParseToken(t.Context(), run, key)
		require.NoError(t, err)
		join, err := log.MergeOfFork(t.Context(), run, token)
		require.NoError(t, err)
		want := []string{fmt.Sprint(join.Kind.FiredBy, " ", join.Kind.Result, " ", join.Kind.Code)}
		for _, a := range join.Arrivals {
			want = append(want, fmt.Sprint(a.Branch, " ", id(a.Token), " ", a.Offset.Milliseconds()))
		}
		require.Equal(t, want, list(t, db, fmt.Sprintf(`
			select fired_by || ' ' || result || ' ' || code from coalesce_events where run_id = '%[1]s' and fork_group_id = '%[2]s'
			union all
			select json_extract(a.value, '$.branch') || ' ' || json_extract(a.value, '$.token_id') || ' ' || json_extract(a.value, '$.offset_ms')
			from coalesce_events e, json_each(e.arrival_order) a where e.run_id = '%[1]s' and e.fork_group_id = '%[2]s'`, run, key)))
	}
}

// TestParentsOfLargeNumbers holds that batches, lanes and rows of parents are read with all their bytes.
func TestParentsOfLargeNumbers(t *testing.T) {
	store, db := forked(t, func(g graph) []error { return []error{g.play(t.Context())} })
	g, fold := graph{run: "r"}, int64(2)
	chunk, _ := g.chunk("top", 1, 70_001, 1_025)
	chunk.Fold, chunk.Read = &fold, 1
	parents := landscape.ParentsRecord{
		Run: "r", Source: "top", Chunk: 1, Slice: 1, Rows: 1, Batches: []byte{1, 2, 3, 4},
		Tokens: binary.BigEndian.AppendUint64(nil, 12<<48|1<<40|2<<32|3<<24|4<<16|5<<8|6),
	}
	require.NoError(t, store.Commit(t.Context(), landscape.Tx{Insert: []landscape.Record{chunk, parents}}))
	require.Equal(t, []string{fmt.Sprintf("top:71025 %d items:%d/decide/ranked", 1<<24|2<<16|3<<8|4, 1<<40|2<<32|3<<24|4<<16|5<<8|6)},
		list(t, db, `select token_id || ' ' || batch || ' ' || parent_token_id from batch_rows where node = 'top' and chunk = 1`))
}
