package crash

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// Whenever the forgetting of a person is killed, nothing accuses the runs of it, the next one finishes it, and then the person is nowhere.
func TestForgettingIsKilled(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"landscape.purges.committing", "landscape.purges.committed", "forget.ordered", // the order, its rows and the end of their salts
		"forget.blanked", "forget.blanked@2", // chunk by chunk
		"forget.stored", "landscape.deletions.committed", "forget.begun@2", // the packs
		"payload.deleted", "purge.deleted", "landscape.deleted_payloads.committing", "purge.ended",
		"forget.freed", "landscape.forgettings.committing", "forget.certified",
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
			require.NotEmpty(t, places(t, p.folder), "it is somewhere")
			p.at(moment+"=kill").run(t, -1, "forget", "customer=person-3-of-all", "--why", "request 88")
			p.env = nil
			p.run(t, 0, "verify", "first")
			p.run(t, 0, "forget", "customer=person-3-of-all", "--why", "request 88, again", "--finish")
			require.Empty(t, places(t, p.folder))
			for _, run := range []string{"first", "second"} {
				p.run(t, 0, "verify", run, "--deep")
			}
			p.run(t, 0, "log", "check")
			p.run(t, 0, "scrub")
			var unfinished int
			query := "select count(*) from purges p where not exists (select 1 from forgettings f where f.purge_id = p.purge_id)"
			require.NoError(t, open(t, p.folder).QueryRow(query).Scan(&unfinished))
			require.Zero(t, unfinished)
		})
	}
}

// people are rows of ten people; one row of each has a total that a step refuses.
func people(rows int) string {
	var b strings.Builder
	b.WriteString("customer,total\n")
	for i := range rows {
		fmt.Fprintf(&b, "person-%d-of-all,%d\n", i%10, i/10)
	}
	return b.String()
}

// places returns the files of the state folder in which the person is found.
func places(t *testing.T, folder string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(folder, ".waymark"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("person-3-of-all")) {
			found = append(found, path)
		}
		return err
	})
	require.NoError(t, err)
	return found
}
