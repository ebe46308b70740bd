package tests

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/landscape/pgstore"
	"waymark/tests/services/buckets"
	"waymark/tests/services/pg"
)

// exampleDocuments are all examples: by folder and name, what their documents need of the environment.
var exampleDocuments = []string{
	"bird-strikes/pipeline.yaml", "bird-strikes/daily-roll-up.yaml", "bird-strikes/second-opinion.yaml", "orders/pipeline.yaml", "sensor/pipeline.yaml",
}

// requireReproduced runs a document, executes the run again, and requires that both made the same, and that nothing else was touched.
func requireReproduced(t *testing.T, home *local.Home, file string, params map[string]string) *local.Reproduction {
	t.Helper()
	execution, err := home.Start(t.Context(), client.StartRequest{File: file, Params: params})
	require.NoError(t, err)
	status, err := execution.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, execution.Close())
	outputs := filesBelow(t, filepath.Dir(file))
	began := time.Now()
	made, err := home.Reproduce(t.Context(), execution.Run)
	require.NoError(t, err)
	require.True(t, made.Equal, "%s: %+v", file, made)
	require.Equal(t, status.Status, made.Status)
	require.Equal(t, status.Rows, made.Rows)
	require.Positive(t, made.Hashes)
	require.Equal(t, outputs, filesBelow(t, filepath.Dir(file)), "the second run wrote something")
	runs, _, err := home.Runs(t.Context(), 0)
	require.NoError(t, err)
	report, err := home.Verify(t.Context(), execution.Run, audit.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.False(t, slices.ContainsFunc(runs, func(r client.Run) bool { return r.Started > client.Time(landscape.MicrosOf(began)) }), "the second run is on record")
	return made
}

// filesBelow are the files of a folder with their sizes and times.
func filesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			found = append(found, fmt.Sprintf("%s %d %s", path, info.Size(), info.ModTime()))
		}
		return err
	}))
	return found
}

// exampleOn are the storages, by their numbers, on which examples are tried by day. TestReadmeCommands executes
// bird-strikes/pipeline.yaml, and bird-strikes/second-opinion.yaml is for the night.
var exampleOn = map[string]int{
	"bird-strikes/daily-roll-up.yaml": 0,
	"orders/pipeline.yaml":            2,
	"sensor/pipeline.yaml":            0,
}

// birdStrikesByDay is how many reports are tried by day: enough for two windows of 1,000 and what is left.
const birdStrikesByDay = 2_300

// shorten leaves the header of a file, and so many lines after it.
func shorten(t *testing.T, path string, lines int) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	all := bytes.SplitAfter(content, []byte("\n"))
	require.Greater(t, len(all), lines)
	require.NoError(t, os.WriteFile(path, bytes.Join(all[:1+lines], nil), 0o600))
}

// TestExamplesAreReproduced executes examples twice, each on one of three storages; with -everywhere every one on each.
func TestExamplesAreReproduced(t *testing.T) {
	t.Setenv("REGION", "alps")
	bucket := buckets.New(t)
	bucket.Setenv(t)
	migrated := func(t *testing.T) string {
		url := pg.New(t).DSN()
		_, _, err := pgstore.Migrate(t.Context(), url)
		require.NoError(t, err)
		return url
	}
	for i, storage := range []struct {
		name    string
		options func(t *testing.T) local.Options
	}{
		{"SQLite and a folder", func(*testing.T) local.Options { return local.Options{} }},
		{"Postgres and a folder", func(t *testing.T) local.Options { return local.Options{Landscape: migrated(t)} }},
		{"Postgres and S3", func(t *testing.T) local.Options {
			return local.Options{Landscape: migrated(t), Payloads: bucket.URL("payloads")}
		}},
	} {
		t.Run(storage.name, func(t *testing.T) {
			if i == 1 && !*everywhere {
				t.Skip("-everywhere tries it")
			}
			folder := t.TempDir()
			require.NoError(t, os.CopyFS(folder, os.DirFS("../examples")))
			if !*everywhere {
				shorten(t, filepath.Join(folder, "bird-strikes/data/birdstrikes.csv"), birdStrikesByDay)
			}
			o := storage.options(t)
			o.State = local.Folder(t.TempDir())
			home, err := local.Open(t.Context(), o)
			require.NoError(t, err)
			for _, document := range exampleDocuments {
				if on, tried := exampleOn[document]; !*everywhere && (!tried || on != i) {
					continue
				}
				require.Positive(t, requireReproduced(t, home, filepath.Join(folder, document), nil).Parts)
			}
			require.NoError(t, home.Close())
		})
	}
}

// TestAReproductionRefusesWhatATableRefused: the second run writes to no table, and quarantines the rows that the table refused all the same.
func TestAReproductionRefusesWhatATableRefused(t *testing.T) {
	database := pg.New(t)
	connection, err := pgx.Connect(t.Context(), database.DSN())
	require.NoError(t, err)
	_, err = connection.Exec(t.Context(),
		`create table decisions (id bigint primary key, total bigint check (total < 100))`)
	require.NoError(t, err)
	folder := t.TempDir()
	rows := strings.Builder{}
	rows.WriteString("id,total\n")
	for i := range 200 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(rows.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "p.yaml"), []byte(`name: p
chunk: {rows: 60}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, total: int}}}}
sinks: {decisions: {postgres: {dsn: "${secret:DECISIONS}", table: decisions}}}
`), 0o600))
	t.Setenv("WAYMARK_SECRET_DECISIONS", database.DSN())
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(t.TempDir()), Networks: []string{"127.0.0.0/8", "::1/128"}})
	require.NoError(t, err)
	defer home.Close()
	made := requireReproduced(t, home, filepath.Join(folder, "p.yaml"), nil)
	errors := int64(0)
	for _, table := range made.Records {
		if table.Table == "errors" {
			errors = table.Records
		}
	}
	require.Equal(t, int64(100), errors)
	var count int
	require.NoError(t, connection.QueryRow(t.Context(), `select count(*) from decisions`).Scan(&count))
	require.Equal(t, 100, count)
	require.NoError(t, connection.Close(t.Context()))
}
