package sqlitestore_test

import (
	"database/sql"
	"encoding/hex"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
)

// page is the page under test.
const page = "../../docs/landscape.md"

// documented plays the runs that the page's examples are about: two over the same input, one that forks, joins and gathers, one
// that was resumed and stopped again, one that feeds records of the first one again, and one with tables for sinks, of which one
// refuses rows. It returns the landscape's path.
func documented(t *testing.T) string {
	t.Helper()
	return copied(t, "documented", func(t *testing.T, store *sqlitestore.Store) { document(t, store) })
}

// document plays the documented runs into a landscape.
func document(t *testing.T, d landscape.Driver) {
	t.Helper()
	at := time.Date(2025, 3, 1, 8, 0, 0, 0, time.UTC)
	log := landscape.New(d, func() time.Time { at = at.Add(time.Second); return at })
	for _, run := range []string{"0190-a", "0190-b"} {
		require.NoError(t, landscapetest.Scene{Run: run, Chunks: 2, ChunkRows: 30, Amounts: true}.Play(t.Context(), log))
	}
	require.NoError(t, graph{run: "0190-c", log: log}.play(t.Context()))
	require.NoError(t, stopped(t.Context(), log, "0190-d"))
	require.NoError(t, retry(t.Context(), log, "0190-e", "0190-a"))
	late := func(sink string, row int64) bool { return sink == "review" && row > 10 }
	require.NoError(t, landscapetest.Scene{Run: "0190-f", Chunks: 1, ChunkRows: 30, Late: late}.Play(t.Context(), log))
	require.NoError(t, asked(t.Context(), log, "0190-g"))
	for _, digit := range []string{"1", "2"} {
		bundle, version := landscapetest.VersionOf("bird-strikes", digit, strings.Repeat(digit, 64))
		_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
		require.NoError(t, err)
	}
	_, _, err := log.SetEnvironment(t.Context(), landscape.Environment{Name: "prod", Actor: "ann", Why: "moved"}, map[string]string{"REGION": "eu-west-1"}, nil)
	require.NoError(t, err)
	require.NoError(t, landscapetest.Nightly(t.Context(), log, "bird-strikes", "0190-d", "0190-a"))
}

var example = regexp.MustCompile("(?s)```sql\n(.*?)```\n\n```text\n(.*?)```")

// sqliteShell is the program sqlite3. Without it the test is skipped, and fails in CI.
func sqliteShell(t *testing.T) string {
	t.Helper()
	shell, err := exec.LookPath("sqlite3")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("no sqlite3 on the path")
	}
	require.NoError(t, err)
	return shell
}

// TestPageAnswers runs every query of docs/landscape.md in the sqlite3 shell and compares the answer with the page. With
// UPDATE set, it writes the answers into the page.
func TestPageAnswers(t *testing.T) {
	shell := sqliteShell(t)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	path := documented(t)
	answer := func(query string) string {
		out, err := exec.CommandContext(t.Context(), shell, "-readonly", path, query).CombinedOutput()
		require.NoError(t, err, "%s\n%s", query, out)
		return string(out)
	}
	if os.Getenv("UPDATE") != "" {
		text = example.ReplaceAllFunc(text, func(block []byte) []byte {
			query := string(example.FindSubmatch(block)[1])
			return []byte("```sql\n" + query + "```\n\n```text\n" + answer(query) + "```")
		})
		require.NoError(t, os.WriteFile(page, text, 0o644))
	}
	blocks := example.FindAllStringSubmatch(string(text), -1)
	require.GreaterOrEqual(t, len(blocks), 10)
	require.Equal(t, strings.Count(string(text), "```sql"), len(blocks), "every query has an answer")
	for _, b := range blocks {
		require.Equal(t, b[2], answer(b[1]), b[1])
	}
}

// TestPageIsComplete holds that the page names every column of every table and view in its section.
func TestPageIsComplete(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n### `")[1:] {
		name, body, _ := strings.Cut(section, "`\n")
		body, _, _ = strings.Cut(body, "\n## ")
		sections[name] = body
	}
	db, err := sql.Open("sqlite", documented(t))
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query(`
		select t.name, c.name from pragma_table_list t join pragma_table_info(t.name) c
		where t.schema = 'main' and t.name not like 'sqlite%' and t.name not like 'goose%' order by t.name, c.cid`)
	require.NoError(t, err)
	defer rows.Close()
	seen := map[string]bool{}
	for rows.Next() {
		var table, column string
		require.NoError(t, rows.Scan(&table, &column))
		seen[table] = true
		require.Contains(t, sections[table], "`"+column+"`", "section %s", table)
	}
	require.NoError(t, rows.Err())
	require.Len(t, seen, len(sections), "a section without a table")
	for _, table := range landscape.Tables() {
		require.True(t, seen[table.Name], table.Name)
	}
}

// TestViews holds that every view can be read whole by the driver as well, and agrees with the queries of Log.
func TestViews(t *testing.T) {
	path := documented(t)
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	log := landscape.New(store, nil)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query(`select row, node, output_hash from node_states where run_id = '0190-a' and output_hash is not null order by row, seq`)
	require.NoError(t, err)
	defer rows.Close()
	count := 0
	for rows.Next() {
		var row int64
		var node, hash string
		require.NoError(t, rows.Scan(&row, &node, &hash))
		want, ok, err := log.HashAt(t.Context(), "0190-a", landscape.Token{Source: "strikes", Row: row}, node)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, hexOf(want), hash)
		count++
	}
	require.NoError(t, rows.Err())
	require.Equal(t, 54+48+42+30+6, count, "rows that strikes, score, keep, triage and tidy did not refuse")
}

func hexOf(hash [landscape.HashBytes]byte) string { return hex.EncodeToString(hash[:]) }

// TestWhatIsTakenOnTrustIsNamed: of each table that no seal of a run binds, the page says what is believed of it, or who compares it. The root of a
// chunk, which a seal binds, binds the other ones.
func TestWhatIsTakenOnTrustIsNamed(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, trust, _ := strings.Cut(string(text), "### What `verify` takes on trust")
	trust, _, _ = strings.Cut(trust, "\n## ")
	for table, why := range landscape.Unsealed() {
		if !strings.Contains(why, "the root of its chunk") {
			require.Contains(t, trust, "`"+table+"`", why)
		}
	}
}
