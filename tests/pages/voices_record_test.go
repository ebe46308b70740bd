package pages_test

import (
	"database/sql"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/schema"
)

// onRecord is what SQL says of a run.
type onRecord struct {
	run    string
	counts counts
	tokens []client.Row        // by source, row and lane
	at     map[string][]string // ids of tokens that came to a node or began there, by node
	edges  map[string][]string // of those that took an edge, by its id
	held   map[string][]string // of those that a sink's target holds, by sink
	lines  map[string]sinkLine // by token
	visits map[string][]string // nodes that a token visited, by token
}

// sinkLine is where a row is in an output.
type sinkLine struct {
	sink string
	line int64
}

// query calls scan with each row of a result; each ? of the query is the run.
func (v *voice) query(t *testing.T, run, query string, scan func(*sql.Rows) error) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(v.Folder, ".waymark/landscape.db")+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), query, sql.Named("run", run))
	require.NoError(t, err, query)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		require.NoError(t, scan(rows), query)
	}
	require.NoError(t, rows.Err())
}

// record reads what is recorded of a run, in SQL alone.
func (v *voice) record(t *testing.T, run string) *onRecord {
	t.Helper()
	r := &onRecord{
		run: run, at: map[string][]string{}, edges: map[string][]string{}, held: map[string][]string{}, lines: map[string]sinkLine{},
		visits: map[string][]string{},
	}
	v.readCounts(t, r)
	v.readTokens(t, r)
	v.readEdges(t, r)
	for _, lists := range []map[string][]string{r.at, r.edges, r.held} {
		for name := range maps.Clone(lists) {
			lists[name] = r.ordered(lists[name])
		}
	}
	return r
}

// ordered are tokens by source, row and lane, each once.
func (r *onRecord) ordered(tokens []string) (sorted []string) {
	wanted := map[string]bool{}
	for _, token := range tokens {
		wanted[token] = true
	}
	for _, row := range r.tokens {
		if wanted[row.Token] {
			sorted = append(sorted, row.Token)
		}
	}
	return sorted
}

func (v *voice) readCounts(t *testing.T, r *onRecord) {
	t.Helper()
	v.query(t, r.run, `select rows_read, rows_passed, rows_succeeded, rows_failed, rows_quarantined, rows_filtered, rows_discarded, tokens from run_summary where run_id = @run`,
		func(rows *sql.Rows) error {
			c := &r.counts.summary
			return rows.Scan(&c.Read, &c.Passed, &c.Succeeded, &c.Failed, &c.Quarantined, &c.Filtered, &c.Discarded, &c.Tokens)
		})
	v.query(t, r.run, `select n.node, n.kind, coalesce(in_rows, 0), coalesce(created_rows, 0), coalesce(out_rows, 0), coalesce(dropped_rows, 0), coalesce(diverted_rows, 0),
			coalesce(consumed_rows, 0), coalesce(held_rows, 0)
		from nodes n left join node_counts c on c.run_id = n.run_id and c.node = n.node where n.run_id = @run order by n.seq`,
		func(rows *sql.Rows) error {
			var n landscape.NodeCount
			err := rows.Scan(&n.Node, &n.Kind, &n.In, &n.Created, &n.Out, &n.Dropped, &n.Diverted, &n.Consumed, &n.Held)
			r.counts.Nodes = append(r.counts.Nodes, n)
			return err
		})
	v.query(t, r.run, `select s.sink, planned_rows, finalized_rows, coalesce(artifact_path, ''), coalesce(artifact_bytes, 0), coalesce(artifact_sha256, ''),
			coalesce(sum(c.state = 'completed'), 0), coalesce(sum(c.state = 'missing'), 0), coalesce(sum(c.state = 'unknown'), 0),
			coalesce((select schema from artifacts a where a.run_id = s.run_id and a.sink = s.sink), '')
		from sink_totals s left join sink_chunks c on c.run_id = s.run_id and c.sink = s.sink where s.run_id = @run group by s.sink`,
		func(rows *sql.Rows) error {
			var s client.Sink
			var fields string
			err := rows.Scan(&s.Sink, &s.Planned, &s.Finalized, &s.Path, &s.Bytes, &s.SHA256, &s.Completed, &s.Missing, &s.Unknown, &fields)
			if err == nil {
				s.Schema, err = schema.Parse(fields)
			}
			r.counts.Sinks = append(r.counts.Sinks, s)
			return err
		})
}

func (v *voice) readTokens(t *testing.T, r *onRecord) {
	t.Helper()
	v.query(t, r.run, `with o as materialized (select * from token_outcomes where run_id = @run), t as materialized (select * from tokens where run_id = @run)
		select o.token_id, coalesce(o.path, ''), o.last_node, coalesce(o.sink, ''), coalesce(t.barrier, ''), coalesce(nullif(l.node, ''), o.source)
		from o join t on t.token_id = o.token_id join lanes l on l.run_id = @run and l.lane = o.lane order by o.source, o.row, o.lane`,
		func(rows *sql.Rows) error {
			var row client.Row
			var barrier, begun string
			err := rows.Scan(&row.Token, &row.Path, &row.Node, &row.Sink, &barrier, &begun)
			r.tokens = append(r.tokens, row)
			r.at[begun] = append(r.at[begun], row.Token)
			r.edges[":"+begun] = append(r.edges[":"+begun], row.Token)
			switch {
			case barrier != "":
				r.ends(barrier, string(pipeline.Buffered), row.Token)
			case row.Sink == "" && row.Path != pipeline.GateDiscarded:
				r.ends(row.Node, string(row.Path), row.Token)
			}
			return err
		})
	v.query(t, r.run, `select sink, token_id, line_number from sink_rows where run_id = @run`, func(rows *sql.Rows) error {
		var token string
		var at sinkLine
		err := rows.Scan(&at.sink, &token, &at.line)
		r.held[at.sink], r.lines[token] = append(r.held[at.sink], token), at
		return err
	})
	v.query(t, r.run, `select token_id, node from node_states where run_id = @run order by source, row, lane, seq`, func(rows *sql.Rows) error {
		var token, node string
		err := rows.Scan(&token, &node)
		r.visits[token], r.at[node] = append(r.visits[token], node), append(r.at[node], token)
		return err
	})
}

func (r *onRecord) ends(node, label, token string) {
	r.edges[node+"::"+label] = append(r.edges[node+"::"+label], token)
}

// readEdges reads which tokens took each edge. A branch of a fork is taken by the copies.
func (v *voice) readEdges(t *testing.T, r *onRecord) {
	t.Helper()
	v.query(t, r.run, `with e as materialized (select * from routing_events where run_id = @run),
			t as materialized (select token_id, fork_group_id, lane from tokens where run_id = @run and fork_group_id is not null)
		select e.node || ':' || e.to_node || case when e.kind in ('route', 'branch') and e.label <> '' then ':' || e.label else '' end, e.to_node, coalesce(c.token_id, e.token_id)
		from e left join (select t.token_id, t.fork_group_id, l.node, l.branch from t join lanes l on l.run_id = @run and l.lane = t.lane) c
			on e.kind = 'branch' and c.fork_group_id = e.token_id and c.node = e.node and c.branch = e.label`,
		func(rows *sql.Rows) error {
			var id, to, token string
			err := rows.Scan(&id, &to, &token)
			r.edges[id] = append(r.edges[id], token)
			if to == pipeline.Quarantine || to == pipeline.Discard {
				r.at[to] = append(r.at[to], token)
			}
			return err
		})
}

// names are the tokens of rows.
func names(rows []client.Row) (tokens []string) {
	for _, row := range rows {
		tokens = append(tokens, row.Token)
	}
	return tokens
}

// rowsOf are the rows with these tokens.
func (r *onRecord) rowsOf(tokens []string) (rows []client.Row) {
	for _, row := range r.tokens {
		if slices.Contains(tokens, row.Token) {
			rows = append(rows, row)
		}
	}
	return rows
}
