package pages_test

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
)

// TestPast looks at a run with forks, a gate, a filter and a barrier as it stood at every moment of which anything is recorded.
func TestPast(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	state := local.Folder(filepath.Join(folder, "state"))
	home, err := local.Open(t.Context(), local.Options{State: state})
	require.NoError(t, err)
	writeAsked(t, folder, "few", 4)
	execute(t, home, filepath.Join(folder, "few.yaml"), "few")
	require.NoError(t, home.Close())
	require.Greater(t, pastHolds(t, state, "few", 0), 20)
}

// pastHolds holds the past of a run against what SQL says of it at every moment: nothing at the beginning, never less than before, accounts that balance, and at the end what the
// run's page says. pace is the time between the moments that are looked at, besides the first and the last; 0 for all. It returns how many there are.
func pastHolds(t *testing.T, state local.Folder, run string, pace time.Duration) (moments int) {
	t.Helper()
	home, err := local.Open(t.Context(), local.Options{State: state, Existing: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, home.Close()) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(string(state), "landscape.db")+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	end, err := home.Past(t.Context(), run, 0)
	require.NoError(t, err)
	require.Equal(t, end.End, end.At)
	last, err := home.Past(t.Context(), run, end.Begun)
	require.NoError(t, err)
	require.Zero(t, last.Rows+last.Passed+last.Tokens+last.Failed+last.Chunks)
	for at := last; ; moments++ {
		saysSQL(t, db, run, at)
		balances(t, at)
		grew(t, last, at)
		if moments%7 == 0 {
			opens(t, home, run, at)
		}
		if at.At == end.At {
			break
		}
		require.Greater(t, at.After, at.At)
		last = at
		at, err = home.Past(t.Context(), run, min(max(last.After, last.At+client.Time(pace.Microseconds())), end.End))
		require.NoError(t, err)
		require.True(t, pace > 0 || at.Before == last.At)
	}
	standsNow(t, home, run, end)
	return moments
}

// saysSQL compares some figures with what plain SQL says of the same moment.
func saysSQL(t *testing.T, db *sql.DB, run string, past *client.Past) {
	t.Helper()
	sum := func(query string, args ...any) (rows int64) {
		require.NoError(t, db.QueryRowContext(t.Context(), query, append([]any{run, int64(past.At)}, args...)...).Scan(&rows))
		return rows
	}
	require.Equal(t, sum(`select coalesce(sum(c.rows), 0) from chunks c join nodes n using (run_id) where run_id = ? and read_us <= ? and n.node = c.source and n.kind = 'source'`), past.Rows)
	passed := sum(`select coalesce(sum(c.rows), 0) from chunks c join nodes n using (run_id) where run_id = ? and n.node = c.source and n.kind = 'source'
		and exists (select * from passages p where p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.finished_us <= ?)`)
	require.Equal(t, passed, past.Passed)
	require.Equal(t, past.Rows-past.Passed, past.OnWay)
	for _, sink := range past.Sinks {
		confirmed := sum(`select coalesce(sum(rows - refused), 0) from effects e where run_id = ? and kind = 'write' and state = 'finalized'
			and (select min(at_us) from effect_events v where v.run_id = e.run_id and v.sink = e.sink and v.source = e.source and v.chunk = e.chunk and v.event = 'finalized') <= ? and sink = ?`, sink.Sink)
		require.Equal(t, confirmed, sink.Finalized, sink.Sink)
	}
}

// balances holds that what came to each node went on, ended or is held there; of a sink, that no more is confirmed than came.
func balances(t *testing.T, past *client.Past) {
	t.Helper()
	require.LessOrEqual(t, past.Passed, past.Rows)
	for _, n := range past.Nodes {
		came, went := n.In+n.Created, n.Out+n.Dropped+n.Diverted+n.Consumed+n.Held
		require.GreaterOrEqual(t, n.Held, int64(0), n.Node)
		if n.Kind == landscape.SinkNode {
			require.LessOrEqual(t, went, came, n.Node)
			continue
		}
		require.Equal(t, came, went, "%s at %d", n.Node, past.At)
	}
}

// grew holds that nothing that happened is undone.
func grew(t *testing.T, before, now *client.Past) {
	t.Helper()
	require.GreaterOrEqual(t, now.Rows, before.Rows)
	require.GreaterOrEqual(t, now.Passed, before.Passed)
	for i := range before.Edges {
		require.Equal(t, before.Edges[i].ID, now.Edges[i].ID)
		require.GreaterOrEqual(t, now.Edges[i].Rows, before.Edges[i].Rows, now.Edges[i].ID)
	}
	for i := range before.Sinks {
		require.GreaterOrEqual(t, now.Sinks[i].Planned, before.Sinks[i].Planned)
		require.GreaterOrEqual(t, now.Sinks[i].Finalized, before.Sinks[i].Finalized)
		require.GreaterOrEqual(t, now.Sinks[i].Completed, before.Sinks[i].Completed)
	}
}

// opens holds that behind each edge and sink there are as many rows as were there.
func opens(t *testing.T, home *local.Home, run string, past *client.Past) {
	t.Helper()
	for _, e := range past.Edges {
		rows, err := home.Rows(t.Context(), run, client.RowFilter{Edge: e.ID, At: past.At}, "", 0)
		require.NoError(t, err)
		require.Len(t, rows, int(e.Rows), e.ID)
	}
	for _, s := range past.Sinks {
		rows, err := home.Rows(t.Context(), run, client.RowFilter{Sink: s.Sink, At: past.At}, "", 0)
		require.NoError(t, err)
		require.Len(t, rows, int(s.Finalized), s.Sink)
	}
}

// standsNow holds that the last moment is as the run stands now.
func standsNow(t *testing.T, home *local.Home, run string, end *client.Past) {
	t.Helper()
	now, err := home.Counts(t.Context(), run)
	require.NoError(t, err)
	now.Policies, now.Totals = nil, nil
	now.Files, err = home.Files(t.Context(), run)
	require.NoError(t, err)
	for i := range now.Sinks {
		now.Sinks[i].Attested = nil
	}
	is, err := json.Marshal(now)
	require.NoError(t, err)
	was, err := json.Marshal(end.Status)
	require.NoError(t, err)
	require.JSONEq(t, string(is), string(was))
	edges, err := home.Edges(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, edges, end.Edges)
}

// slider moves through the past of a run with the keyboard: the figures are those of each moment, and the address says which that is.
func (s *pageServer) slider(t *testing.T) {
	window := s.opened(t)
	complaints := window.Complaints(t)
	window.Do(t, chromedp.Navigate(s.URL+"/runs/"+s.ordersRun+"/past"))
	window.Await(t, "so it stands now", "3 records read")
	require.True(t, window.Holds(t, "document.querySelector('#moment input').focus() === undefined"))
	window.Do(t, chromedp.KeyEvent(kb.Home))
	window.Await(t, "0 records read", "0.000 s after the run began")
	require.Equal(t, "?at=0", window.Evaluate(t, "location.search"))
	window.Do(t, chromedp.KeyEvent(kb.End))
	window.Await(t, "so it stands now", "3 records read")
	window.Tab(t, "‹ change before", true)
	window.Await(t, "running")
	require.Empty(t, serious(complaints()))
}
