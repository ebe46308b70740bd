package graphs_test

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/tests/graphs"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/storages"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed of TestRealRuns and TestRunsDieAndGoOn")
	seeds     = flag.Uint64("seeds", 4, "how many seeds TestRealRuns tries; make nightly tries 80")
	onStorage = flag.String("storage", "", "the one storage of all seeds, such as postgres+s3; without it "+storages.Memory+" has them all, and the others the first few")
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }

// few is how many seeds a storage has that is not asked for by its name.
const few = 3

// perRecord is how many runs share one database: a new one takes as long as a few runs, and a full one answers slowly.
const perRecord = 50

// TestRealRuns runs random documents by the real workflow and the real activities over real databases and payload stores, and
// holds everything that is recorded afterwards, read back by SQL, against what the interpreter says: `go test ./tests/graphs
// -run TestRealRuns -storage NAME -seed N -seeds 1` repeats one.
func TestRealRuns(t *testing.T) {
	onEach(t, *seeds, storages.Durable, func(t *testing.T, r *record, seed uint64) { r.check(t, seed) })
}

// onEach checks so many seeds on the storage that is asked for. Without one it checks them in memory, and if every case
// is tried the first few of them on others.
func onEach(t *testing.T, count uint64, others []string, check func(t *testing.T, r *record, seed uint64)) {
	t.Helper()
	names := []string{storages.Memory}
	if sample.All() {
		names = append(names, others...)
	}
	if *onStorage != "" {
		names = []string{*onStorage}
	}
	for i, name := range names {
		tried := count
		if i > 0 {
			tried = min(few, count)
		}
		t.Run(name, func(t *testing.T) {
			t.Logf("%s: seeds %d to %d", name, *firstSeed, *firstSeed+tried-1)
			eachRecord(t, storages.Use(t, name), tried, check)
		})
	}
}

// eachRecord checks so many seeds from the first on, several side by side, until one fails.
func eachRecord(t *testing.T, storage *storages.Storage, count uint64, check func(t *testing.T, r *record, seed uint64)) {
	t.Helper()
	queue, workers := make(chan uint64), sync.WaitGroup{}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for first := range queue {
				t.Run(fmt.Sprintf("from %d", first), func(t *testing.T) {
					r := &record{inprocess.NewOn(t, storage)}
					for seed := first; seed < min(first+perRecord, *firstSeed+count); seed++ {
						t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { check(t, r, seed) })
					}
				})
			}
		})
	}
	for seed := *firstSeed; seed < *firstSeed+count && !t.Failed(); seed += perRecord {
		queue <- seed
	}
	close(queue)
	workers.Wait()
}

// record is the record of many runs.
type record struct{ *inprocess.Record }

// check runs the document of a seed and compares.
func (r *record) check(t *testing.T, seed uint64) {
	t.Helper()
	doc, files := random(t, seed)
	r.Split = int64(seed % 2) // every second run is split, whatever it holds
	r.compare(t, fmt.Sprintf("seed-%d", seed), doc, files)
}

// compare runs a document, and holds what it leaves against what the interpreter says.
func (r *record) compare(t *testing.T, run string, doc *pipeline.Document, files map[string]string) {
	t.Helper()
	want := interpret(t, doc, files)
	folder := filepath.Join(r.Folder, run)
	require.NoError(t, r.Run(t, run, string(doc.Source), files, nil), "%s\n%s", run, doc.Source)
	findings, err := r.Log.Sweep(t.Context(), run, true)
	require.NoError(t, err)
	require.Empty(t, findings, "%s\n%s", run, doc.Source)
	got := sections(r.read(t, run, folder, want))
	for name, text := range sections(want) {
		require.Equal(t, text, got[name], "%s, %s\n%s", run, name, doc.Source)
	}
	r.requireTotals(t, run, doc, files, want)
	require.NoError(t, os.RemoveAll(folder))
}

// sections returns the result as text. Merges and batches of several nodes have no order of their own.
func sections(result *graphs.Result) map[string]string {
	text := result.Text()
	for _, unordered := range []string{"merges", "batches"} {
		lines := strings.Split(text[unordered], "\n")
		slices.Sort(lines)
		text[unordered] = strings.Join(lines, "\n")
	}
	return text
}

// read reads back what the run left: its outputs, and its record by SQL.
func (r *record) read(t *testing.T, run, folder string, like *graphs.Result) *graphs.Result {
	t.Helper()
	got := &graphs.Result{Lines: map[string][]string{}, Refused: map[string][]graphs.Refused{}, Nodes: map[string]*graphs.Counts{}, Tokens: map[string]*graphs.Token{}}
	for sink := range like.Lines {
		got.Lines[sink] = lines(t, filepath.Join(folder, sink+".jsonl"))
	}
	for sink := range like.Refused {
		for _, line := range lines(t, filepath.Join(folder, sink+".jsonl")) {
			var refused graphs.Refused
			require.NoError(t, json.Unmarshal([]byte(line), &refused))
			got.Refused[sink] = append(got.Refused[sink], refused)
		}
	}
	r.readNodes(t, run, got)
	r.readTokens(t, run, got)
	r.readMerges(t, run, got)
	r.readBatches(t, run, got)
	r.RequireViews(t, run)
	return got
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return slices.Collect(strings.SplitSeq(strings.TrimSuffix(string(content), "\n"), "\n"))[:strings.Count(string(content), "\n")]
}

func (r *record) readNodes(t *testing.T, run string, got *graphs.Result) {
	t.Helper()
	r.Query(t, run, `select n.node, coalesce(in_rows, 0), coalesce(created_rows, 0), coalesce(out_rows, 0), coalesce(dropped_rows, 0),
			coalesce(diverted_rows, 0), coalesce(consumed_rows, 0) + coalesce(held_rows, 0)
		from nodes n left join node_counts c on c.run_id = n.run_id and c.node = n.node where n.run_id = ?`, func(rows *sql.Rows) error {
		var node string
		var c graphs.Counts
		err := rows.Scan(&node, &c.In, &c.Created, &c.Out, &c.Dropped, &c.Diverted, &c.Consumed)
		got.Nodes[node] = &c
		return err
	})
}

func (r *record) readTokens(t *testing.T, run string, got *graphs.Result) {
	t.Helper()
	r.Query(t, run, `select o.token_id, o.source, o.row, substr(o.token_id, length(o.source || ':' || o.row) + 2), o.path,
			case when o.path in ('default_flow', 'gate_routed') then o.sink else o.last_node end, coalesce(x.code, ''), coalesce(x.field, '')
		from token_outcomes o
		left join errors x on x.run_id = o.run_id and x.source = o.source and x.row = o.row and x.lane = o.lane
		where o.run_id = ? and o.completed = 1`, func(rows *sql.Rows) error {
		var token graphs.Token
		var refusal graphs.Refusal
		err := rows.Scan(&token.ID, &token.Source, &token.Number, &token.Lane, &token.Path, &token.Node, &refusal.Code, &refusal.Field)
		if refusal.Code != "" {
			token.Refused = &refusal
		}
		got.Tokens[token.ID] = &token
		return err
	})
	r.Query(t, run, `select token_id, parent_token_id from token_parents where run_id = ? order by token_id, ordinal`, func(rows *sql.Rows) error {
		var id, parent string
		err := rows.Scan(&id, &parent)
		got.Tokens[id].Parents = append(got.Tokens[id].Parents, parent)
		return err
	})
}

func (r *record) readMerges(t *testing.T, run string, got *graphs.Result) {
	t.Helper()
	r.Query(t, run, `select node, fork_group_id, coalesce(merged_token_id, ''), policy, branches_expected, branches_lost, branches_not_needed, arrival_order,
			fired_by, result, code, collisions, (merged_hash is not null) = (result = 'merged')
		from coalesce_events where run_id = ?`, func(rows *sql.Rows) error {
		var m graphs.Merge
		var expected, lost, notNeeded, arrived, collisions string
		var hashed bool
		if err := rows.Scan(&m.Node, &m.Key, &m.Merged, &m.Policy, &expected, &lost, &notNeeded, &arrived, &m.FiredBy, &m.Result, &m.Code, &collisions, &hashed); err != nil {
			return err
		}
		require.True(t, hashed, "the merged row of %s has a hash if there is one", m.Key)
		got.Merges = append(got.Merges, &m)
		fill(t, &m, expected, lost, notNeeded, arrived, collisions)
		return nil
	})
}

func fill(t *testing.T, m *graphs.Merge, expected, lost, notNeeded, arrived, collisions string) {
	t.Helper()
	decode(t, expected, &m.Expected)
	decode(t, notNeeded, &m.NotNeeded)
	decode(t, collisions, &m.Collisions)
	var order []struct {
		Branch string `json:"branch"`
		Token  string `json:"token_id"`
	}
	decode(t, arrived, &order)
	for _, arrival := range order {
		require.NotEmpty(t, arrival.Token)
		m.Arrived = append(m.Arrived, graphs.Arrived(arrival))
	}
	reasons := map[string]pipeline.Path{}
	decode(t, lost, &reasons)
	for _, branch := range m.Expected {
		if reason, is := reasons[branch]; is {
			m.Lost = append(m.Lost, graphs.LostOne{Branch: branch, Reason: reason})
		}
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), into), text)
}

func (r *record) readBatches(t *testing.T, run string, got *graphs.Result) {
	t.Helper()
	r.Query(t, run, `select b.node, b.trigger, b.path,
			(select coalesce(string_agg(m.token_id, ' ' order by m.ordinal), '') from batch_members m
				where m.run_id = b.run_id and m.node = b.node and m.batch = b.batch),
			(select coalesce(string_agg(o.token_id, ' ' order by o.row), '') from batch_rows o
				where o.run_id = b.run_id and o.node = b.node and o.batch = b.batch)
		from batches b join nodes n on n.run_id = b.run_id and n.node = b.node
		where b.run_id = ? and n.operation <> 'coalesce' order by b.node, b.fold, b.batch`, func(rows *sql.Rows) error {
		var b graphs.Batch
		var members, outs string
		err := rows.Scan(&b.Node, &b.Trigger, &b.Path, &members, &outs)
		b.Members, b.Outs = strings.Fields(members), strings.Fields(outs)
		got.Batches = append(got.Batches, &b)
		return err
	})
}
