package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
	"waymark/tests/services/pg"
)

// inTable makes two runs that wrote a person's rows into a table of their own database.
func inTable(t *testing.T, binary string, server *pg.Server, mode string) (*program, *pgx.Conn) {
	t.Helper()
	dsn := server.Database(t).DSN()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	p := in(t, binary, "orders.csv")
	p.env = []string{"WAYMARK_SECRET_DW=" + dsn, "WAYMARK_ALLOW_NETWORK=127.0.0.0/8"}
	p.write(t, "people.csv", people(60))
	document := "name: people\nchunk: {rows: 20}\n" +
		"sources: {people: {csv: {path: people.csv}, key: [customer], schema: {fields: {customer: string, total: int}}}}\n" +
		"steps: [{name: id, set: {id: row.customer + string(row.total)}}]\n" +
		"sinks: {out: {postgres: {dsn: \"${secret:DW}\", table: out, create: true, " + mode + "}}}\n"
	p.write(t, "people.yaml", document)
	p.run(t, 0, "run", "people.yaml", "--run-id", "first")
	p.write(t, "people.csv", strings.ReplaceAll(people(70), "\nperson-3-of-all,4\n", "\nperson-3-of-all,40\n"))
	p.run(t, 0, "run", "people.yaml", "--run-id", "second")
	return p, conn
}

// rowsOf returns how many rows of a person the table has, and of others.
func rowsOf(t *testing.T, conn *pgx.Conn, person string) (theirs, others int) {
	t.Helper()
	err := conn.QueryRow(t.Context(), "select count(*) filter (where customer = $1), count(*) filter (where customer <> $1) from out", person).Scan(&theirs, &others)
	require.NoError(t, err)
	return theirs, others
}

// Wherever the deletion of a person's rows in a table is killed, the next command finishes it: each row is deleted once, its recorded outcome is that of an undisturbed
// deletion, rows of others stay, and attestations miss nothing.
func TestForgettingInATableIsKilled(t *testing.T) {
	sample.Rarely(t)
	binary, server := build(t), pg.Private(t)
	for mode, want := range map[string]string{
		"mode: upsert, key: [id]": "out row 4 (sink out): a later row with its key was written",
		"mode: insert":            "out row 4 (sink out): deleted",
	} {
		for _, moment := range []string{
			"landscape.purges.committing", "forget.ordered", // the order
			"sink.erasing", "sink.erased", "landscape.erased.committing", "landscape.erased.committed", "forget.erased", "sink.erasing@2", "forget.erased@2", // each run's rows
			"forget.blanked", "forget.certified",
		} {
			t.Run(fmt.Sprintf("%s/%.12s", moment, mode), func(t *testing.T) {
				t.Parallel()
				p, conn := inTable(t, binary, server, mode)
				_, others := rowsOf(t, conn, "person-3-of-all")
				env := p.env
				p.at(moment+"=kill").run(t, -1, "forget", "customer=person-3-of-all", "--delete-in", "out", "--why", "request 88")
				p.env = env
				p.run(t, 0, "verify", "first")
				p.run(t, 0, "attest", "second")
				p.run(t, 0, "forget", "customer=person-3-of-all", "--delete-in", "out", "--why", "request 88, again")
				theirs, left := rowsOf(t, conn, "person-3-of-all")
				require.Zero(t, theirs)
				require.Equal(t, others, left)
				require.Empty(t, places(t, p.folder))
				var certificate string
				require.NoError(t, open(t, p.folder).QueryRow("select certificate from forgettings").Scan(&certificate), "there is one order")
				require.Contains(t, certificate, want)
				require.Equal(t, 13, strings.Count(certificate, "(sink out): "))
				require.NotContains(t, certificate, "gone already")
				for _, run := range []string{"first", "second"} {
					p.run(t, 0, "verify", run, "--deep")
					p.run(t, 0, "attest", run)
				}
				p.run(t, 0, "log", "check")
			})
		}
	}
}

// A target that cannot be reached when an order was given leaves everything as it is, keeps no other order from being given, and can be given up.
func TestForgettingInATableThatIsAway(t *testing.T) {
	sample.Rarely(t)
	binary, server := build(t), pg.Private(t)
	p, conn := inTable(t, binary, server, "mode: insert")
	env := p.env
	p.at("forget.ordered=kill").run(t, -1, "forget", "customer=person-3-of-all", "--delete-in", "out", "--why", "request 88")
	p.env = env
	_, err := conn.Exec(t.Context(), "alter table waymark_outputs rename to elsewhere")
	require.NoError(t, err)
	told := p.run(t, 1, "forget", "--finish")
	require.Contains(t, told, "order 1 to forget: rows of postgres://")
	require.Contains(t, told, "nothing was overwritten yet")
	require.Contains(t, told, "`waymark forget --finish` continues; --leave-in gives the target up")
	var deletions int
	require.NoError(t, open(t, p.folder).QueryRow("select count(*) from deletions").Scan(&deletions))
	require.Zero(t, deletions)
	told = p.run(t, 0, "forget", "customer=person-4-of-all", "--why", "request 89")
	require.Contains(t, told, "an earlier order waits: order 1")
	p.run(t, 2, "forget", "--finish", "--leave-in", "out")
	told = p.run(t, 2, "forget", "--finish", "--leave-in", "outt", "--why", "a typo")
	require.Contains(t, told, `"outt" cannot be given up: no order is still to delete rows there, but in postgres://`)
	told = p.run(t, 0, "forget", "--finish", "--leave-in", "out", "--why", "the database is dismantled", "-o", "left.note")
	require.Contains(t, told, "rows of run first: 6 left")
	require.Empty(t, places(t, p.folder))
	theirs, _ := rowsOf(t, conn, "person-3-of-all")
	require.Equal(t, 13, theirs)
	var certificate string
	require.NoError(t, open(t, p.folder).QueryRow("select certificate from forgettings where purge_id = 1").Scan(&certificate))
	require.Contains(t, certificate, "(sink out): it was left there, because the target was given up\n")
	require.Contains(t, certificate, ": the database is dismantled\n")
	written, err := os.ReadFile(filepath.Join(p.folder, "left.note"))
	require.NoError(t, err)
	require.Equal(t, certificate, string(written))
	p.run(t, 0, "verify", "first")
}

// Orders that are given while one waits for a table leave it what it needs, wherever they are killed: it deletes the rows there when it is carried out, and then the person is nowhere.
func TestForgettingBesideAnOrderThatWaits(t *testing.T) {
	sample.Rarely(t)
	binary, server := build(t), pg.Private(t)
	for _, moment := range []string{
		"forget.blanked", "forget.stored", "landscape.deletions.committed", "purge.deleted", "forget.certified",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			p, conn := inTable(t, binary, server, "mode: insert")
			env := p.env
			p.at("forget.ordered=kill").run(t, -1, "forget", "customer=person-3-of-all", "--delete-in", "out", "--why", "request 88")
			p.env = env
			_, err := conn.Exec(t.Context(), "alter table waymark_outputs rename to elsewhere")
			require.NoError(t, err)
			p.at(moment+"=kill").run(t, -1, "forget", "customer=person-4-of-all", "--why", "request 89")
			p.env = env
			require.Contains(t, p.run(t, 1, "forget", "--finish"), "order 1 to forget: rows of postgres://")
			p.run(t, 0, "verify", "first", "--deep")
			_, err = conn.Exec(t.Context(), "alter table elsewhere rename to waymark_outputs")
			require.NoError(t, err)
			told := p.run(t, 0, "forget", "--finish")
			require.Contains(t, told, "rows of run first: 6 deleted")
			require.Contains(t, told, "rows of run second: 7 deleted")
			theirs, _ := rowsOf(t, conn, "person-3-of-all")
			require.Zero(t, theirs)
			theirs, _ = rowsOf(t, conn, "person-4-of-all")
			require.Equal(t, 13, theirs, "the second order said nothing of tables")
			require.Empty(t, places(t, p.folder))
			for _, run := range []string{"first", "second"} {
				p.run(t, 0, "verify", run, "--deep")
			}
			p.run(t, 0, "log", "check")
			p.run(t, 0, "scrub")
		})
	}
}

// An order about the same records, which another run has read since, waits for the one that still needs them.
func TestForgettingTheSameRecordsAsAnOrderThatWaits(t *testing.T) {
	sample.Rarely(t)
	binary, server := build(t), pg.Private(t)
	p, conn := inTable(t, binary, server, "mode: insert")
	env := p.env
	p.at("forget.ordered=kill").run(t, -1, "forget", "customer=person-3-of-all", "--delete-in", "out", "--why", "request 88")
	p.env = env
	p.run(t, 0, "run", "people.yaml", "--run-id", "third")
	_, err := conn.Exec(t.Context(), "alter table waymark_outputs rename to elsewhere")
	require.NoError(t, err)
	told := p.run(t, 1, "forget", "customer=person-3-of-all", "--why", "request 89")
	require.Contains(t, told, "order 2 to forget: rows of postgres://")
	require.Contains(t, told, "nothing was overwritten yet: order 1 is still to delete them, and needs the same records; when it does, `waymark forget --finish` continues")
	_, err = conn.Exec(t.Context(), "alter table elsewhere rename to waymark_outputs")
	require.NoError(t, err)
	told = p.run(t, 0, "forget", "--finish")
	require.Contains(t, told, "rows of run first: 6 deleted")
	require.Contains(t, told, "rows of run second: 7 deleted")
	require.Contains(t, told, "finished order 2")
	require.Empty(t, places(t, p.folder))
	theirs, _ := rowsOf(t, conn, "person-3-of-all")
	require.Equal(t, 7, theirs, "the second order said nothing of the table")
	for _, run := range []string{"first", "second", "third"} {
		p.run(t, 0, "verify", run, "--deep")
	}
}
