package crash

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// Whenever a purge is killed, the next one finishes it, and a run that reads the same meanwhile has all that it refers to.
func TestPurgeIsKilled(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"landscape.purges.committed", "purge.ordered", // the order
		"landscape.deletions.committed", "purge.begun", // the payloads may be deleted
		"payload.deleted", "purge.deleted@3", // some are
		"landscape.deleted_payloads.committing", "purge.ended", // all are
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			p := in(t, binary, "orders.csv")
			p.write(t, "narrow.yaml", "name: narrow\nchunk: {rows: 20}\n"+
				"sources: {orders: {csv: {path: orders.csv}, schema: {fields: {id: int, customer: string, country: \"string?\", total: decimal, placed: date}}}}\n"+
				"sinks: {out: {csv: {path: out/narrow.csv, overwrite: true}}}\n")
			p.run(t, 3, "run", "narrow.yaml", "--run-id", "first")
			p.at(moment+"=kill").run(t, -1, "purge", "--keep-source", "1ms", "--why", "to see")

			p.env = nil
			second := p.start(t, "run", "narrow.yaml", "--run-id", "second")
			p.run(t, 0, "purge", "--keep-source", "1ms", "--why", "once more", "--finish")
			require.ErrorContains(t, second.Wait(), "exit status 3", "as the first: some rows are refused")
			p.run(t, 0, "reproduce", "second")
			p.run(t, 0, "scrub")
			p.run(t, 0, "verify", "first")
			p.run(t, 0, "purge", "--keep-source", "1ms", "--why", "all", "--finish")
			p.run(t, 2, "reproduce", "second")
			p.run(t, 0, "verify", "second")
			var unfinished int
			require.NoError(t, open(t, p.folder).QueryRow("select count(*) from purged_payloads where deleted_us is null").Scan(&unfinished))
			require.Zero(t, unfinished)
		})
	}
}

// Whenever a server is killed in the middle of a turn in which it deletes what is due, the next one does the rest, and
// no run misses what it needs.
func TestRetentionIsKilled(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"landscape.retention_periods.committing", "landscape.retention_periods.committed", // the periods are in force
		"purge.ordered", "purge.begun", "payload.deleted", "purge.deleted@3", "purge.ended",
		"landscape.retention_turns.committing", "landscape.retention_turns.committed", // it is recorded what was done
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			p := in(t, binary, "orders.csv")
			p.write(t, "narrow.yaml", "name: narrow\nchunk: {rows: 20}\n"+
				"sources: {orders: {csv: {path: orders.csv}, schema: {fields: {id: int, "+
				"customer: string, country: \"string?\", total: decimal, placed: date}}}}\n"+
				"sinks: {out: {csv: {path: out/narrow.csv, overwrite: true}}}\n")
			p.run(t, 3, "run", "narrow.yaml", "--run-id", "first")
			p.write(t, "waymark.settings.yaml", "retention: {source: 1ms}\n")
			serve := []string{"serve", ".", "--port", "0", "--api", "off", "--http", "off", "--pages", "off"}
			p.at(moment+"=kill").run(t, -1, serve...)

			p.env = nil
			p.write(t, "waymark.settings.yaml", "{}\n")
			p.run(t, 0, "verify", "first")
			second := p.start(t, "run", "narrow.yaml", "--run-id", "second")
			p.run(t, 0, "purge", "--keep-source", "100d", "--why", "no process is at work", "--finish")
			require.ErrorContains(t, second.Wait(), "exit status 3", "as the first: some rows are refused")
			p.run(t, 0, "reproduce", "second")
			p.run(t, 0, "scrub")

			p.write(t, "waymark.settings.yaml", "retention: {source: 1ms}\n")
			server := p.start(t, serve...)
			db := open(t, p.folder)
			require.Eventually(t, func() bool {
				var stored, wrong int
				failed := db.QueryRow(
					"select count(*) from chunks c where not exists (select 1 from purged_payloads p " +
						"where p.payload = c.pack and p.deleted_us is not null)",
				).Scan(&stored)
				if failed == nil {
					failed = db.QueryRow("select count(*) from retention_turns where problem <> ''").Scan(&wrong)
				}
				return failed == nil && stored == 0 && wrong == 0
			}, time.Minute, 100*time.Millisecond)
			require.NoError(t, server.Process.Signal(os.Interrupt))
			require.NoError(t, server.Wait())
			p.run(t, 2, "reproduce", "second")
			for _, run := range []string{"first", "second"} {
				p.run(t, 0, "verify", run)
			}
		})
	}
}
