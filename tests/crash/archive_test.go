package crash

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// Whenever archiving is killed, each run is in the landscape or in a bundle that verifies, answers as before, and the next order archives the rest.
func TestArchivingIsKilled(t *testing.T) {
	binary := build(t)
	for _, moment := range sample.Of(4, []string{
		"archive.exported", "archive.filled", "archive.written", "archive.verified", // nothing was removed
		"landscape.archives.committing", "landscape.archives.committed", "archive.removed",
		"archive.written@2", "landscape.archives.committing@2", "archive.removed@2", // of the second run
	}) {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			p := in(t, binary, "orders.csv")
			p.write(t, "people.csv", people(60))
			p.write(t, "people.yaml", "name: people\nchunk: {rows: 20}\n"+
				"sources: {people: {csv: {path: people.csv}, key: [customer], schema: {fields: {customer: string, total: int}}, on_invalid: quarantine}}\n"+
				"steps: [{name: share, set: {share: 100 / row.total}, on_error: quarantine}, {name: order, sort: {by: {total: asc}}}]\n"+
				"sinks: {out: {csv: {path: out/people.csv, overwrite: true}}}\n")
			p.run(t, 3, "run", "people.yaml", "--run-id", "first")
			p.run(t, 3, "run", "people.yaml", "--run-id", "second")
			away := filepath.Join(p.folder, "away")
			require.NoError(t, os.Mkdir(away, 0o700))
			p.at(moment+"=kill").run(t, -1, "archive", "--older", "1us", "--to", "away", "--why", "old")
			p.env = nil
			db := open(t, p.folder)
			var unproven int
			require.NoError(t, db.QueryRow(`select count(*) from runs r
				where exists (select 1 from archives a where a.run_id = r.run_id) = exists (select 1 from nodes n where n.run_id = r.run_id)`).Scan(&unproven))
			require.Zero(t, unproven, "a run is here or there")
			for _, run := range []string{"first", "second"} {
				p.run(t, 0, "verify", run)
			}
			p.run(t, 0, "log", "check")
			p.run(t, 0, "archive", "--older", "1us", "--to", "away", "--why", "old, again")
			for _, run := range []string{"first", "second"} {
				p.run(t, 0, "verify", run)
				p.run(t, 0, "explain", run, "--row", "3")
			}
			p.run(t, 0, "log", "check")
			var archived, rest int
			require.NoError(t, db.QueryRow(`select (select count(*) from archives), (select count(*) from chunk_rows)`).Scan(&archived, &rest))
			require.Equal(t, 2, archived)
			require.Zero(t, rest)
			bundles, err := filepath.Glob(filepath.Join(away, "*.zip"))
			require.NoError(t, err)
			require.Len(t, bundles, 2, "one that was there already was taken")
		})
	}
}
