package storages

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// Dump returns everything that is recorded about a run: the lines of every table, sorted, by its name.
func Dump(t testing.TB, driver landscape.Driver, run string) map[string][]string {
	t.Helper()
	return dump(t, driver, run, func(string, string) bool { return true })
}

// Work returns what is recorded of the work of a run, without anything that tells when, how often and by whom it was done: two
// runs of a document leave the same, however often their processes died, and wherever their record is.
func Work(t testing.TB, driver landscape.Driver, run string) map[string][]string {
	t.Helper()
	work := dump(t, driver, run, func(table, column string) bool {
		return column != "run_id" && !strings.HasSuffix(column, "_us") && !slices.Contains(accidental[table], column) && !slices.Contains(accidental[""], column)
	})
	for _, table := range []string{"resumptions", "executions", "effect_events", "run_events", "actions", "run_seals", "outbox"} {
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

	"salts": {"keys"}, "chunk_seals": {"root"}, // each run has salts of its own
}

func dump(t testing.TB, driver landscape.Driver, run string, wanted func(table, column string) bool) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range landscape.Tables() {
		if of := slices.IndexFunc(table.Columns, func(c landscape.Column) bool { return c.Name == "run_id" }); of >= 0 {
			all[table.Name] = lines(t, driver, table, of, run, wanted)
		}
	}
	return all
}

// lines are the records of a table whose column number of names the run.
func lines(t testing.TB, driver landscape.Driver, table *landscape.Table, of int, run string, wanted func(table, column string) bool) []string {
	t.Helper()
	var found []string
	var prefix []any
	if of == 0 {
		prefix = []any{run}
	}
	require.NoError(t, driver.Read(t.Context(), table.Zero(), landscape.Query{Prefix: prefix}, func(r landscape.Record) bool {
		values := table.AppendValues(nil, r)
		if values[of] != run {
			return true
		}
		line := ""
		for i, column := range table.Columns {
			if wanted(table.Name, column.Name) {
				line += fmt.Sprintf("%s=%q ", column.Name, fmt.Sprint(values[i]))
			}
		}
		found = append(found, strings.ReplaceAll(line, run, "RUN"))
		return true
	}), table.Name)
	slices.Sort(found)
	return found
}
