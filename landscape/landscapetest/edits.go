package landscapetest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/sweep"
	"waymark/pipeline"
)

var edits = flag.Int("edits", -1,
	"how many changes of the record a sweep and a count of packed columns must find alike; "+
		"0: all; -1: what the test says")

// An Editor changes records past every trigger and check, as the owner of a database can.
type Editor interface {
	// Exec executes a statement in which ? stands for each argument. What the database refuses is an error.
	Exec(query string, args ...any) error
}

// Edits changes single values of records, and takes records away, one after the other, and requires that sweep.Packed finds what a deep
// sweep of the driver finds about tokens: with exact under the same names, at the same places, and nothing else; without, at least
// something of every chunk. Each change is undone. At most so many changes are made, unless a flag says otherwise.
func Edits(t *testing.T, d landscape.Driver, editor Editor, most int, exact bool) {
	t.Helper()
	if *edits >= 0 {
		most = *edits
	}
	log := landscape.New(d, nil)
	scene := Scene{Run: "rows", Chunks: 2, ChunkRows: 12, Late: func(sink string, row int64) bool { return sink == "rejects" || row%5 == 0 }}
	require.NoError(t, scene.PlayToEnd(t.Context(), log))
	graph := GraphScene{Run: "tokens", Chunks: 2, ChunkRows: 6}
	require.NoError(t, graph.PlayToEnd(t.Context(), log))
	all := slices.Concat(editsOf(t, d, scene.Run), editsOf(t, d, graph.Run))
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if most > 0 {
		all = all[:min(most, len(all))]
	}
	done, noticed := 0, 0
	for _, e := range all {
		if editor.Exec(e.change.query, e.change.args...) != nil {
			continue
		}
		done++
		swept, err := tokenFindings(t.Context(), d, e.run)
		require.NoError(t, err, e.name)
		counted, err := sweep.Packed(t.Context(), d, e.run, nil)
		require.NoError(t, err, e.name)
		found, also := places(swept, exact), places(counted, exact)
		if !exact || strings.HasPrefix(e.name, "lane of ways ") { // which views of SQLite do not look at
			maps.DeleteFunc(also, func(f landscape.Finding, _ bool) bool { return !found[f] })
		}
		require.Equal(t, found, also, e.name)
		if len(swept) > 0 {
			noticed++
		}
		require.NoError(t, editor.Exec(e.undo.query, e.undo.args...), "undo %s", e.name)
	}
	t.Logf("%d of %d changes were possible, of %d something was found", done, len(all), noticed)
	require.Greater(t, noticed, done/10)
}

// places are what findings name, but for what they say. Where a row is in two chunks, either may be named.
func places(findings []landscape.Finding, exact bool) map[landscape.Finding]bool {
	names := map[landscape.Finding]bool{}
	for _, f := range findings {
		if f.Check == "token_twice" {
			f.Chunk = -1
		}
		f.Detail = ""
		if !exact {
			f.Check, f.Node = "", ""
		}
		names[f] = true
	}
	return names
}

// tokenFindings returns what a deep sweep finds besides counts.
func tokenFindings(ctx context.Context, d landscape.Driver, run string) (found []landscape.Finding, err error) {
	all, err := d.Sweep(ctx, run, true)
	for _, f := range all {
		if slices.Contains(sweep.OfTokens, f.Check) {
			found = append(found, f)
		}
	}
	return found, err
}

// edit is a change of one record, and what undoes it.
type edit struct {
	name, run    string
	change, undo statement
}

type statement struct {
	query string
	args  []any
}

// editsOf returns changes of the first, a middle and the last record of each table of a run.
func editsOf(t *testing.T, d landscape.Driver, run string) (all []edit) {
	for _, table := range landscape.Tables() {
		if table.Columns[0].Name != "run_id" {
			continue
		}
		var records [][]any
		require.NoError(t, d.Read(t.Context(), table.Zero(), landscape.Query{Prefix: []any{run}}, func(r landscape.Record) bool {
			records = append(records, table.AppendValues(nil, r))
			return true
		}))
		for _, at := range slices.Compact([]int{0, len(records) / 2, len(records) - 1}) {
			if at >= 0 && at < len(records) {
				all = append(all, editsOfRecord(table, run, records[at])...)
			}
		}
	}
	return all
}

func editsOfRecord(table *landscape.Table, run string, values []any) (all []edit) {
	var marks []string
	for range table.Columns {
		marks = append(marks, "?")
	}
	all = append(all, edit{
		name: fmt.Sprintf("%s without %s", table.Name, table.Key(values)), run: run, change: where(table, "delete from "+table.Name, nil, values),
		undo: statement{fmt.Sprintf("insert into %s (%s) values (%s)", table.Name, columnNames(table), strings.Join(marks, ", ")), values},
	})
	for i, column := range table.Columns {
		if column.Name == "run_id" {
			continue // whose other records then are of another run
		}
		for _, other := range others(values[i]) {
			changed := slices.Clone(values)
			changed[i] = other
			set := fmt.Sprintf("update %s set %s = ?", table.Name, quoted(column.Name))
			all = append(all, edit{
				name: fmt.Sprintf("%s of %s %s: %v instead of %v", column.Name, table.Name, table.Key(values), other, values[i]), run: run,
				change: where(table, set, []any{other}, values), undo: where(table, set, []any{values[i]}, changed),
			})
		}
	}
	return all
}

func columnNames(table *landscape.Table) string {
	var names []string
	for _, c := range table.Columns {
		names = append(names, quoted(c.Name))
	}
	return strings.Join(names, ", ")
}

func quoted(name string) string { return `"` + name + `"` }

// where adds which record a statement is about.
func where(table *landscape.Table, query string, args, values []any) statement {
	for i, c := range table.Columns[:table.Keys] {
		query += []string{" where ", " and "}[min(i, 1)] + quoted(c.Name) + " = ?"
		args = append(args, values[i])
	}
	return statement{query, args}
}

// others returns other values of the same kind.
func others(value any) []any {
	switch value := value.(type) {
	case nil:
		return []any{int64(1)}
	case int64:
		return []any{value + 1, value - 1, value + 1000}
	case string:
		return []any{value + "x", "", string(pipeline.Coalesced), string(pipeline.FilterDropped), "review", "failure"}
	case []byte:
		if len(value) == 0 {
			return []any{[]byte{1}}
		}
		first, last := bytes.Clone(value), bytes.Clone(value)
		first[0] ^= 1
		last[len(last)-1] ^= 1
		return []any{first, last, value[:len(value)-1], append(bytes.Clone(value), value...), make([]byte, len(value)), bytes.Repeat([]byte{0xFF}, len(value))}
	}
	panic(fmt.Sprintf("a value %T", value))
}
