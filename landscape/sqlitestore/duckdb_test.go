package sqlitestore_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/interop"
	"waymark/landscape"
	"waymark/landscape/pgstore"
	"waymark/landscape/sqlitestore"
	"waymark/tests/sample"
	"waymark/tests/services"
)

// TestPageAnswersInDuckDB asks DuckDB every question of docs/landscape.md, from the Parquet files of the record in each database, and compares the
// answers with the page. Both databases give the same files.
func TestPageAnswersInDuckDB(t *testing.T) {
	sample.Rarely(t)
	modules := services.NodeModules(t, "@duckdb/node-api")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	blocks := example.FindAllStringSubmatch(string(text), -1)
	require.GreaterOrEqual(t, len(blocks), 10)
	var queries, want []string
	for _, b := range blocks {
		queries, want = append(queries, b[1]), append(want, b[2])
	}
	folders := map[string]string{"sqlite": parquetOfSQLite(t, ""), "postgres": parquetOfPostgres(t)}
	for name, folder := range folders {
		answers := askDuckDB(t, modules, folder, queries)
		require.Len(t, answers, len(queries))
		for i, answer := range answers {
			require.Equal(t, want[i], answer, "%s: %s", name, queries[i])
		}
	}
	requireSameFiles(t, folders["sqlite"], folders["postgres"])
}

// TestParquetOfOneRun holds that the files of a run have its rows and no others, and what is of no run is left out.
func TestParquetOfOneRun(t *testing.T) {
	modules := services.NodeModules(t, "@duckdb/node-api")
	folder := parquetOfSQLite(t, "0190-a")
	require.NoFileExists(t, filepath.Join(folder, "current_versions.parquet"))
	require.NoFileExists(t, filepath.Join(folder, "salts.parquet"))
	answers := askDuckDB(t, modules, folder, []string{
		`select run_id, count(*) from rows group by run_id`, `select run_id, rows_read from run_summary`, `select * from environments`,
	})
	require.Equal(t, []string{"0190-a|60\n", "0190-a|60\n"}, answers[:2])
	require.Contains(t, answers[2], "does not exist")
}

func parquetOfSQLite(t *testing.T, run string) string {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), documented(t), sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	return parquetOf(t, store, run)
}

func parquetOfPostgres(t *testing.T) string {
	t.Helper()
	store, err := pgstore.Open(t.Context(), inPostgres(t, "documented", document).DSN())
	require.NoError(t, err)
	defer store.Close()
	return parquetOf(t, store, "")
}

func parquetOf(t *testing.T, d landscape.Driver, run string) string {
	t.Helper()
	folder := t.TempDir()
	_, err := interop.Parquet(t.Context(), landscape.NewReader(d), run, folder)
	require.NoError(t, err)
	return folder
}

func askDuckDB(t *testing.T, modules, folder string, queries []string) (answers []string) {
	t.Helper()
	program, err := filepath.Abs("testdata/duckdb.cjs")
	require.NoError(t, err)
	asked, err := json.Marshal(queries)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", program)
	cmd.Dir, cmd.Stdin, cmd.Stderr = folder, bytes.NewReader(asked), os.Stderr
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &answers))
	return answers
}

func requireSameFiles(t *testing.T, one, other string) {
	t.Helper()
	entries, err := os.ReadDir(one)
	require.NoError(t, err)
	require.Greater(t, len(entries), len(landscape.Tables()))
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join(one, e.Name()))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(other, e.Name()))
		require.NoError(t, err)
		require.Equal(t, want, got, e.Name())
	}
}

// TestRelations holds that the list of relations names every table and view but for salts and those that only one database has, with every column and
// the type that it has in Postgres.
func TestRelations(t *testing.T) {
	conn := search(t, inPostgres(t, "documented", document).DSN())
	rows, err := conn.Query(t.Context(), `
		select table_name, column_name, case data_type when 'bigint' then 1 when 'bytea' then 2 else 0 end
		from information_schema.columns
		where table_schema = 'waymark' and table_name not in ('salts', 'slices', 'way_places', 'way_edges',
			'goose_db_version', 'schema_versions', 'numbers', 'bytes')`)
	require.NoError(t, err)
	defer rows.Close()
	want := map[string]landscape.ColumnType{}
	for rows.Next() {
		var table, column string
		var kind landscape.ColumnType
		require.NoError(t, rows.Scan(&table, &column, &kind))
		want[table+"."+column] = kind
	}
	require.NoError(t, rows.Err())
	got := map[string]landscape.ColumnType{}
	for _, r := range landscape.Relations() {
		for _, c := range r.Columns {
			got[r.Name+"."+c.Name] = c.Type
		}
	}
	require.Equal(t, want, got)
}
