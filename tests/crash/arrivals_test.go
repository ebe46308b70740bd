package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
	"waymark/tests/services/pg"
)

// Whatever a server was about to do for a file that arrived when it was killed: the file is in one complete run.
func TestServeIsKilledAtMomentsOfAnArrival(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"arrival.found", "arrival.taken", "arrival.started", "landscape.triggers.committed", "landscape.watches.begin", "landscape.watches.committing", "landscape.watches.committed", "landscape.watches.inserted@2",
		"landscape.watches.committing@2", "landscape.watches.committed@2", "landscape.watches.committing@3", "landscape.watches.committed@3", "activity.OpenRun.begin", "landscape.runs.committed", "activity.OpenRun.end", "activity.FinishRun.end",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			filesArrive(t, binary, moment)
		})
	}
}

// filesArrive serves a trigger, until three files that arrived are done; but kills the server at the moment, if one is given, and serves again. It
// returns the log of moments.
func filesArrive(t *testing.T, binary, moment string) []byte {
	t.Helper()
	p := in(t, binary, "plain.yaml", "orders.csv")
	text := "name: beats\nparams: {part: {type: string, default: all}}\n" +
		"sources: {in: {csv: {path: \"" + p.folder + "/in/*.csv\"}, schema: {fields: {id: int}}}}\n" +
		"sinks: {out: {csv: {path: \"" + p.folder + "/out/${param:part}.csv\"}}}\n" +
		"triggers: {drop: {source: in, every: 100ms, quiet: 100ms, run_id: part}}\n"
	p.write(t, "beats.yaml", text)
	require.NoError(t, os.Mkdir(filepath.Join(p.folder, "in"), 0o700))
	for i := range 3 {
		p.write(t, fmt.Sprintf("in/%d.csv", i), fmt.Sprintf("id\n%d\n", i))
	}
	serving := p.serveAgain(t, moment, "landscape.triggers.committed")
	db := open(t, p.folder)
	require.Eventually(t, func() bool {
		var done int
		err := db.QueryRow("select count(*) from arrivals where state = 'done'").Scan(&done)
		return err == nil && done == 3
	}, patience, 100*time.Millisecond)
	var complete, others, lists int
	require.NoError(t, db.QueryRow("select count(*) from runs where status = 'completed'").Scan(&complete))
	require.NoError(t, db.QueryRow("select count(*) from runs where status <> 'completed'").Scan(&others))
	require.NoError(t, db.QueryRow("select count(*) from arrival_runs").Scan(&lists))
	require.Equal(t, []int{3, 0, 3}, []int{complete, others, lists})
	require.ElementsMatch(t, []string{"0", "1", "2"}, p.written(t))
	return p.drain(t, serving)
}

// written returns the ids in all outputs of runs that a trigger began.
func (p *program) written(t *testing.T) (ids []string) {
	t.Helper()
	outputs, err := filepath.Glob(filepath.Join(p.folder, "out", "*.csv"))
	require.NoError(t, err)
	for _, output := range outputs {
		content, err := os.ReadFile(output)
		require.NoError(t, err)
		ids = append(ids, strings.Fields(strings.TrimPrefix(string(content), "id\n"))...)
	}
	return ids
}

// Whatever a server was about to do for rows that it found in a table when it was killed: each row is in one complete run.
func TestServeIsKilledAtMomentsOfRows(t *testing.T) {
	sample.Rarely(t)
	binary, server := build(t), pg.Private(t)
	for _, moment := range []string{
		"arrival.stored", "arrival.stored@2", "arrival.found", "landscape.watches.committing@2", "landscape.watches.committed@2", "arrival.taken", "arrival.started", "activity.FinishRun.end",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			rowsArrive(t, binary, server, moment)
		})
	}
}

// rowsArrive serves a trigger of rows, until all of a table are done; but kills the server at the moment, and serves
// again. It returns the log of the process that serves last.
func rowsArrive(t *testing.T, binary string, server *pg.Server, moment string) []byte {
	t.Helper()
	dsn := server.Database(t).DSN()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	write := func(statement string) {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	write("create table beats (id int primary key, tx xid8 not null default pg_current_xact_id()); insert into beats select generate_series(0, 4)")
	p := in(t, binary, "plain.yaml", "orders.csv")
	p.env = []string{"WAYMARK_SECRETS_DIR=" + filepath.Join(p.folder, "secrets"), "WAYMARK_ALLOW_NETWORK=127.0.0.0/8"}
	require.NoError(t, os.MkdirAll(filepath.Join(p.folder, "secrets", "beats"), 0o700))
	p.write(t, "secrets/beats/DW", dsn)
	p.write(t, "beats.yaml", "name: beats\nparams: {part: {type: string, default: all}}\n"+
		"sources: {in: {postgres: {dsn: \"${secret:DW}\", table: beats}, schema: {fields: {id: int}}}}\n"+
		"sinks: {out: {csv: {path: \""+p.folder+"/out/${param:part}.csv\"}}}\n"+
		"triggers: {new: {source: in, every: 100ms, rows: {by: [tx, id], most: 2}, run_id: part}}\n")
	serving := p.serveAgain(t, moment, "landscape.triggers.committed")
	write("insert into beats values (5), (6)")
	db := open(t, p.folder)
	t.Cleanup(func() {
		var look string
		if t.Failed() && db.QueryRow("select error from watches").Scan(&look) == nil {
			t.Log("the last look: " + look)
		}
	})
	require.Eventually(t, func() bool {
		var done int
		err := db.QueryRow("select coalesce(sum(json_extract(place, '$.rows')), 0) from arrivals where state = 'done'").Scan(&done)
		return err == nil && done == 7
	}, patience, 100*time.Millisecond)
	var others int
	require.NoError(t, db.QueryRow("select count(*) from runs where status <> 'completed'").Scan(&others))
	require.Zero(t, others)
	require.ElementsMatch(t, []string{"0", "1", "2", "3", "4", "5", "6"}, p.written(t))
	return p.drain(t, serving)
}
