package landscapetest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/rowview"
)

// RequireViews requires that every view that a driver computes from columns has the rows that the database itself computes, in the same order. db is the
// database as strangers ask it; run selects a run, "" none.
func RequireViews(t testing.TB, driver landscape.RelationReader, db *sql.DB, run string) {
	t.Helper()
	for _, r := range landscape.Relations() {
		if !rowview.Has(r.Name) {
			continue
		}
		var got []string
		require.NoError(t, driver.ReadRelation(t.Context(), r, run, func(values []any) bool {
			got = append(got, shown(values))
			return true
		}))
		require.Equal(t, selected(t, db, r, run), got, r.Name)
		rows := 0
		require.NoError(t, driver.ReadRelation(t.Context(), r, run, func([]any) bool { rows++; return false }))
		require.Equal(t, min(1, len(got)), rows, "it stops when it is asked to: %s", r.Name)
	}
}

func selected(t testing.TB, db *sql.DB, r landscape.Relation, run string) (found []string) {
	t.Helper()
	condition := ""
	if run != "" {
		condition = "run_id = '" + strings.ReplaceAll(run, "'", "''") + "'"
	}
	rows, err := db.QueryContext(t.Context(), r.Select(condition))
	require.NoError(t, err)
	defer rows.Close()
	values, targets := make([]any, len(r.Columns)), make([]any, len(r.Columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		require.NoError(t, rows.Scan(targets...))
		found = append(found, shown(values))
	}
	require.NoError(t, rows.Err())
	return found
}

// shown is a row as a text in which NULL, texts and numbers differ.
func shown(values []any) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%#v|", v)
	}
	return b.String()
}
