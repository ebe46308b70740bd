package tests

import (
	"context"
	"database/sql"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/client"
	"waymark/landscape"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
)

// auditing is a host that answers questions about rows.
type auditing struct {
	client.Host
	record *inprocess.Record
}

func (a auditing) Auditor(context.Context) (*audit.Auditor, error) {
	return audit.New(a.record.Log.Reader, a.record.Payloads, a.record.Planner), nil
}

// TestRowsBehindEdges runs a graph with forks, coalesces, a gate, filters, barriers and refused rows. Its edges are those of the record's own
// view, as many rows come into a node as leave it, behind each edge are as many rows as it counts, and each of them can be explained.
func TestRowsBehindEdges(t *testing.T) {
	archive, err := txtar.ParseFile("cli/tokens.txtar")
	require.NoError(t, err)
	files := map[string]string{}
	for _, file := range archive.Files {
		files[file.Name] = string(file.Data)
	}
	record := inprocess.New(t)
	require.NoError(t, record.Run(t, "shop", files["shop.yaml"], files, nil))
	c := client.New(record.Log, "memory", auditing{record: record})
	edges, err := c.Edges(t.Context(), "shop")
	require.NoError(t, err)
	require.Equal(t, routed(t, record, "shop"), asRouted(edges))

	balance, taken := map[string]int64{}, 0
	for _, e := range edges {
		balance[e.From] -= e.Rows
		balance[e.To] += e.Rows
		rows, err := c.Rows(t.Context(), "shop", client.RowFilter{Edge: e.ID}, "", 0)
		require.NoError(t, err)
		require.Len(t, rows, int(e.Rows), e.ID)
		if e.Rows > 0 {
			taken++
		}
	}
	require.Greater(t, taken, 40)
	summary, err := record.Log.Summary(t.Context(), "shop")
	require.NoError(t, err)
	for _, n := range summary.Nodes {
		require.Equal(t, map[bool]int64{true: n.Out}[n.Kind == landscape.SinkNode], balance[n.Node], n.Node)
		require.Equal(t, n.In+n.Created, behindNode(t, c, n.Node), n.Node)
	}

	every, err := c.Rows(t.Context(), "shop", client.RowFilter{}, "", 0)
	require.NoError(t, err)
	require.Len(t, every, int(summary.Tokens))
	for _, row := range sample.Of(4, every) {
		story, err := c.Explain(t.Context(), audit.Question{Run: "shop", Token: row.Token})
		require.NoError(t, err, row.Token)
		require.True(t, story.True())
		require.Equal(t, row.Token, story.Token)
	}
}

// behindNode counts the rows that came to a node or began there, read five at a time.
func behindNode(t *testing.T, c *client.Client, node string) (count int64) {
	t.Helper()
	for after := ""; ; {
		rows, err := c.Rows(t.Context(), "shop", client.RowFilter{Node: node}, after, 5)
		require.NoError(t, err)
		if len(rows) == 0 {
			return count
		}
		count, after = count+int64(len(rows)), rows[len(rows)-1].Token
	}
}

// route is an edge as the view routing_events has it. Of the labels, those of gates and forks name an edge.
type route struct{ from, to, kind, label string }

// routed counts the edges in the view.
func routed(t *testing.T, record *inprocess.Record, run string) map[route]int64 {
	t.Helper()
	counts := map[route]int64{}
	const query = `select node, to_node, case kind when 'branch' then 'route' else kind end, label from routing_events where run_id = ?`
	record.Query(t, run, query, func(rows *sql.Rows) error {
		var r route
		err := rows.Scan(&r.from, &r.to, &r.kind, &r.label)
		if r.kind != string(landscape.RouteEdge) {
			r.label = ""
		}
		counts[r]++
		return err
	})
	return counts
}

// asRouted leaves out what the view does not have: edges that no row took, and where rows began and ended.
func asRouted(edges []client.Edge) map[route]int64 {
	counts := map[route]int64{}
	for _, e := range edges {
		if e.Rows > 0 && e.From != "" && e.To != "" {
			counts[route{e.From, e.To, string(e.Kind), e.Label}] = e.Rows
		}
	}
	return counts
}
