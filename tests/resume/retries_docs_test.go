package resume_test

import (
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks returns the code blocks of the language on the page about feeding records again.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/retry.md")
	require.NoError(t, err)
	var found []string
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, block[1])
	}
	return found
}

func TestThePageTellsWhatHappens(t *testing.T) {
	documents, queries, answers := blocks(t, "yaml"), blocks(t, "sql"), blocks(t, "text")
	b := newRetrying(t, map[string]string{"orders.csv": blocks(t, "csv")[0]})
	b.first(documents[0])
	b.retry("second", "first", documents[1])
	require.Equal(t, "id,amount\n1,10.00\n3,30.00\n", b.read("all.csv"))
	require.Equal(t, "id,amount\n2,\n", b.read("mended.csv"))
	db, err := sql.Open("sqlite", b.Database)
	require.NoError(t, err)
	defer db.Close()
	require.Len(t, answers, len(queries))
	for i, query := range queries {
		require.Equal(t, strings.TrimSpace(answers[i]), answer(t, db, query))
	}
}

// answer returns the rows of a query as sqlite3 prints them.
func answer(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var lines []string
	for rows.Next() {
		cells, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		require.NoError(t, rows.Scan(into...))
		lines = append(lines, strings.Join(cells, "|"))
	}
	require.NoError(t, rows.Err())
	return strings.Join(lines, "\n")
}
