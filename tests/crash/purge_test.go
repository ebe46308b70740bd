package crash

import (
	"testing"

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
