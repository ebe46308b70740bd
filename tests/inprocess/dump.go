package inprocess

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"waymark/landscape"
)

// Dump returns everything that is on record about a run: the lines of every table, by its name.
func (r *Record) Dump(t testing.TB, run string) map[string][]string {
	t.Helper()
	return r.dump(t, run, func(string, string) bool { return true })
}

// Work returns what is on record of the work of a run, without anything that tells when, how often and by whom it was done: two
// runs of a document leave the same, however often their processes died.
func (r *Record) Work(t testing.TB, run string) map[string][]string {
	t.Helper()
	work := r.dump(t, run, func(table, column string) bool {
		return column != "run_id" && !strings.HasSuffix(column, "_us") && !slices.Contains(accidental[table], column) && !slices.Contains(accidental[""], column)
	})
	for _, table := range []string{"resumptions", "effect_events", "run_events", "actions"} {
		delete(work, table)
	}
	return work
}

// accidental are the columns that tell of attempts, by table; those of "" in all tables. That folds do not all keep the state of
// their barrier is a matter of which process did them.
var accidental = map[string][]string{
	"":       {"attempt", "worker", "host", "epoch", "fence", "claim"},
	"folds":  {"state"},
	"merges": {"arrivals", "wait_ms"},
}

func (r *Record) dump(t testing.TB, run string, wanted func(table, column string) bool) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range landscape.Tables() {
		var names []string
		for _, column := range table.Columns {
			if wanted(table.Name, column.Name) {
				names = append(names, column.Name)
			}
		}
		if table.Columns[0].Name == "run_id" || table.Name == "retried" {
			all[table.Name] = r.lines(t, run, table.Name, names)
		}
	}
	return all
}

func (r *Record) lines(t testing.TB, run, table string, columns []string) []string {
	t.Helper()
	var lines []string
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	query := fmt.Sprintf("select %s from %s where run_id = ? order by %[1]s", strings.Join(columns, ", "), table)
	r.Query(t, run, query, func(rows *sql.Rows) error {
		err := rows.Scan(targets...)
		line := ""
		for i, column := range columns {
			line += fmt.Sprintf("%s=%q ", column, fmt.Sprint(values[i]))
		}
		lines = append(lines, strings.ReplaceAll(line, run, "RUN"))
		return err
	})
	return lines
}
