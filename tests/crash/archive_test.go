package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
	"waymark/tests/services"
)

// Whenever archiving is killed, each run is in the landscape or in a bundle that verifies, answers as before, and the next order archives the rest.
func TestArchivingIsKilled(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"archive.exported", "archive.filled", "archive.written", "archive.verified", // nothing was removed
		"landscape.archives.committing", "landscape.archives.committed", "archive.removed",
		"archive.written@2", "landscape.archives.committing@2", "archive.removed@2", // of the second run
	} {
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
				where exists (select 1 from archives a where a.run_id = r.run_id) = exists (select 1 from passages p where p.run_id = r.run_id)`).Scan(&unproven))
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

// An order of several persons that is killed between two runs is executed once, and finished when it is executed again.
func TestApprovedArchivingIsKilled(t *testing.T) {
	sample.Rarely(t)
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		services.Missing(t, "ssh-keygen", "install openssh-client")
	}
	p := in(t, build(t), "orders.csv")
	p.write(t, "in.csv", people(20))
	p.write(t, "p.yaml", "name: p\nsources: {in: {csv: {path: in.csv}, schema: {fields: {customer: string, total: int}}}}\nsinks: {out: {csv: {path: out.csv, overwrite: true}}}\n")
	require.NoError(t, os.MkdirAll(filepath.Join(p.folder, "away"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(p.folder, ".waymark"), 0o700))
	var approvers strings.Builder
	for _, person := range []string{"ann", "bob"} {
		key := filepath.Join(p.folder, person)
		require.NoError(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).Run())
		public, err := os.ReadFile(key + ".pub")
		require.NoError(t, err)
		fields := strings.Fields(string(public))
		approvers.WriteString(person + "@example.com " + fields[0] + " " + fields[1] + "\n")
	}
	p.write(t, ".waymark/approvers", approvers.String())
	p.run(t, 0, "run", "p.yaml", "--run-id", "first")
	p.run(t, 0, "run", "p.yaml", "--run-id", "second")
	p.run(t, 0, "orders", "rule", "archive", "2", "--why", "four eyes")
	order := strings.TrimSpace(p.run(t, 0, "archive", "--older", "1us", "--to", "away", "--why", "old", "--propose", "--key", "ann"))
	p.run(t, 0, "approve", order, "--why", "they are old", "--key", "bob")
	p.at("archive.removed=kill").run(t, -1, "execute", order)
	p.env = nil
	archived := func() (runs, executions int) {
		require.NoError(t, open(t, p.folder).QueryRow(`select (select count(*) from archives), (select count(*) from approved_executions)`).Scan(&runs, &executions))
		return runs, executions
	}
	runs, executions := archived()
	require.Equal(t, []int{1, 1}, []int{runs, executions})
	p.run(t, 0, "run", "p.yaml", "--run-id", "third")
	p.run(t, 2, "archive", "--older", "1us", "--to", "away", "--why", "old")
	require.Contains(t, p.run(t, 0, "execute", order), "archived 1 run")
	runs, executions = archived()
	require.Equal(t, []int{2, 1}, []int{runs, executions}, "the third was approved by nobody")
	p.run(t, 0, "log", "check")
}
