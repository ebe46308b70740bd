package crash

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to damage a landscape

	"waymark/landscape"
	"waymark/tests/crash/lab"
	"waymark/tests/held"
	"waymark/tests/programs"
	"waymark/tests/sample"
)

// TestAKilledRunIsWhole kills a run of the usual program in its middle, and resumes it: the audit of the laboratory
// finds nothing wrong with what it leaves. Then it damages that, in one way after the other, and the audit finds each.
func TestAKilledRunIsWhole(t *testing.T) {
	undisturbed, p := killed(t)
	whole := filepath.Join(t.TempDir(), "whole")
	require.NoError(t, os.CopyFS(whole, os.DirFS(p.folder)))

	for _, c := range sample.Of(6, []struct {
		name   string
		damage func(t *testing.T, folder string)
		kind   lab.Kind
		says   string
	}{
		{
			"a row less in an output",
			edit("out/review.csv", func(text string) string {
				return text[:strings.LastIndex(text[:len(text)-1], "\n")+1]
			}),
			lab.Lost, "out/review.csv lacks",
		},
		{
			"a row twice in an output",
			edit("out/totals.jsonl", func(text string) string { return text + text[:strings.Index(text, "\n")+1] }),
			lab.Duplicated, "too often",
		},
		{
			"an output that is not the recorded one",
			edit("out/review.csv", func(text string) string { return strings.Replace(text, "1,", "2,", 1) }),
			lab.Differing, "is recorded",
		},
		{
			"an output cut off", edit("out/review.csv", func(text string) string { return text[:len(text)-3] }),
			lab.Torn, "ends within a line",
		},
		{"an output that is missing", remove("out/review.csv"), lab.Lost, "out/review.csv"},
		{"a part that is missing", remove("out/middle/part-00001.csv"), lab.Lost, "part-00001.csv is not there"},
		{"a part too many", put("out/middle/part-00009.csv"), lab.Duplicated, "part-00009.csv should not be there"},
		{"a staging left behind", put("out/.review.csv.lab.partial"), lab.Torn, "was left behind"},
		{"a name of the latest output that is missing", remove("out/latest.csv"), lab.Lost, "out/latest.csv"},
		{
			"a name of the latest output that leads astray", lead("out/latest.csv", "middle"),
			lab.Lost, "out/latest.csv lacks",
		},
		{"a payload that is missing", removePayload, lab.Lost, "refers, is not there"},
		{"a payload that is cut off", cutPayload, lab.Torn, "payload"},
		{
			"a refused row that is not recorded",
			execute("drop trigger errors_stay", "delete from errors where row = 5"),
			lab.Lost, "table errors lacks",
		},
		{
			"a chunk that did not pass",
			execute("drop trigger chunk_ways_stay", "delete from chunk_ways where chunk = 1"),
			lab.Differing, "sweep: ",
		},
		{
			"another count in a fold's record",
			execute("drop trigger folds_keep", "update folds set held_rows = held_rows + 1 where fold = 0"),
			lab.Differing, "table folds",
		},
		{
			"a run that did not come to its end",
			execute("drop trigger runs_status", "update runs set status = 'interrupted'"),
			lab.Stuck, "the run is interrupted",
		},
		{
			"a payload that was healed",
			execute("insert into heals values ('" + strings.Repeat("0", 64) + "', 1, 'torn', '')"),
			lab.Torn, "was poisoned",
		},
	}) {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(p.folder))
			require.NoError(t, os.CopyFS(p.folder, os.DirFS(whole)))
			c.damage(t, p.folder)
			findings, err := lab.Audit(t.Context(), undisturbed, p.folder)
			require.NoError(t, err)
			var said []string
			for _, f := range findings {
				said = append(said, f.String())
			}
			require.Condition(t, func() bool {
				for _, f := range findings {
					if f.Kind == c.kind && strings.Contains(f.What, c.says) {
						return true
					}
				}
				return false
			}, "%v", said)
		})
	}
}

// killed returns a folder with what an undisturbed run left, and the program in another one, with what a run left that
// was killed when it had read half of its source, and was resumed.
func killed(t *testing.T) (undisturbed string, p *program) {
	t.Helper()
	binary, err := programs.Waymark()
	require.NoError(t, err)
	p = in(t, binary, "orders.csv")
	web := held.Serve(p.folder)
	t.Cleanup(web.Close)
	p.env = []string{"WAYMARK_ALLOW_NETWORK=" + held.Networks}
	document, err := os.ReadFile("reference.yaml")
	require.NoError(t, err)
	text := strings.Replace(string(document), "path: orders.csv", "path: "+web.URL+"/orders.csv", 1)
	p.write(t, "reference.yaml", text)
	run := []string{"run", "reference.yaml", "--run-id", lab.RunID}
	p.run(t, 3, run...)
	undisturbed = filepath.Join(t.TempDir(), "undisturbed")
	require.NoError(t, os.CopyFS(undisturbed, os.DirFS(p.folder)))
	require.NoError(t, os.RemoveAll(filepath.Join(p.folder, "out")))
	require.NoError(t, os.RemoveAll(filepath.Join(p.folder, ".waymark")))

	web.Hold(30)
	process := p.start(t, run...)
	p.awaitWrites(t, 2)
	require.NoError(t, process.Process.Kill())
	require.ErrorContains(t, process.Wait(), "killed")
	web.Release()
	p.run(t, 3, "resume", lab.RunID)
	findings, err := lab.Audit(t.Context(), undisturbed, p.folder)
	require.NoError(t, err)
	require.Empty(t, findings)
	p.run(t, 0, "verify", lab.RunID)
	return undisturbed, p
}

// awaitWrites waits until so many parts are confirmed. It only reads the record: the process makes it.
func (p *program) awaitWrites(t *testing.T, parts int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.folder, ".waymark/landscape.db")+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	const query = "select count(*) from effects where kind = ? and state = ?"
	require.Eventually(t, func() bool {
		var confirmed int
		err := db.QueryRow(query, landscape.WriteEffect, landscape.Finalized).Scan(&confirmed)
		return err == nil && confirmed >= parts
	}, patience, 10*time.Millisecond)
}

func edit(name string, change func(string) string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		changed := change(string(text))
		require.NotEqual(t, string(text), changed)
		require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
	}
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, folder string) { require.NoError(t, os.Remove(filepath.Join(folder, name))) }
}

func lead(name, to string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Symlink(to, path))
	}
}

func put(name string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("id\n1\n"), 0o600))
	}
}

// aPayload returns the path of the first chunk's pack.
func aPayload(t *testing.T, folder string) string {
	var digest string
	db := open(t, folder)
	require.NoError(t, db.QueryRow("select pack from chunks order by source, chunk limit 1").Scan(&digest))
	return filepath.Join(folder, ".waymark/payloads/objects", digest[:2], digest)
}

func removePayload(t *testing.T, folder string) { require.NoError(t, os.Remove(aPayload(t, folder))) }

func cutPayload(t *testing.T, folder string) {
	path := aPayload(t, folder)
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Truncate(path, 10))
}

func execute(statements ...string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		db := open(t, folder)
		for _, statement := range statements {
			_, err := db.Exec(statement)
			require.NoError(t, err, statement)
		}
		require.NoError(t, db.Close())
	}
}

func open(t *testing.T, folder string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(folder, ".waymark/landscape.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
