package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/tests/services/pg"
)

// alike has types in which texts are equal that are not the same.
const alike = `
	create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	create domain ci_text as text collate ci; `

// TestAttestAndEraseExactly edits a text into one that its type takes as equal: the row is not as it was written, and
// is not deleted. (1 CPU-s.)
func TestAttestAndEraseExactly(t *testing.T) {
	const declared = `<?xml version="1.0"?><a/>`
	edits := []struct{ column, was, is string }{
		{"text", "abc", "ABC"}, {"v", "abc", "ABC"}, {"d", "abc", "ABC"}, {"b", "ab  ", "ab "}, {"x", declared, "<a/>"},
	}
	for _, shape := range []struct {
		key   []string
		fate  string
		found [5]int64
	}{
		{[]string{"id"}, "[edited]", [5]int64{0, 1, 0, 0, 0}},
		{[]string{"text", "v", "d", "b"}, "[edited]", [5]int64{0, 1, 0, 0, 0}},
		{nil, "[gone]", [5]int64{0, 0, 1, 0, 1}},
	} {
		spec, primary := pipeline.PostgresSink{}, ""
		if shape.key != nil {
			spec.Mode, spec.Key = pipeline.UpsertMode, shape.key
			primary = ", primary key (" + list(shape.key) + ")"
		}
		a := newAttestedTable(t, spec)
		a.exec(alike + "create table out (id bigint, text text collate ci, v varchar(9) collate ci, d ci_text, b bpchar, x xml" +
			primary + ")")
		written := []row.Value{row.IntValue(1)}
		for _, e := range edits {
			if e.column != "text" {
				a.fields = append(a.fields, plugin.Field{Name: e.column, Kind: row.String})
			}
			written = append(written, row.StringValue(e.was))
		}
		w := newWriter(t, a.spec, "one", a.fields)
		w.add(written)
		w.write()
		w.publish()
		a.runs = append(a.runs, w)
		check := func(fate string, counts [5]int64, column string) {
			t.Helper()
			found, findings := a.attest(0)
			require.Equal(t, counts, found, "%s by %s: %s", column, shape.key, findings)
			fates, err := w.target.(plugin.Eraser).TryErase(t.Context(), a.among(0), []int64{1})
			require.NoError(t, err)
			require.Equal(t, fate, fmt.Sprint(fates), "%s by %s", column, shape.key)
		}
		check("[deleted]", [5]int64{1, 0, 0, 0, 0}, "nothing")
		for _, e := range edits {
			a.exec("update out set " + e.column + " = '" + e.is + "'")
			check(shape.fate, shape.found, e.column)
			a.exec("update out set " + e.column + " = '" + e.was + "'")
			check("[deleted]", [5]int64{1, 0, 0, 0, 0}, e.column)
		}
	}
}

// TestChangesThatATriggerDropsExactly writes texts that their types take as equal to those that a trigger keeps there.
// (0.3 CPU-s.)
func TestChangesThatATriggerDropsExactly(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(alike + `create table t (k text primary key, v text collate ci, b bpchar);
		create function keeps() returns trigger language plpgsql as $$ begin return null; end $$;
		create trigger keeps before update on t for each row execute function keeps();
		insert into t values ('a', 'abc', 'ab'), ('b', 'abc', 'ab'), ('c', 'abc', 'ab ')`)
	spec := pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: pipeline.UpsertMode, Key: []string{"k"}}
	w := newWriter(t, spec, "run", columns("k", "v", "b"))
	w.add(texts("a|ABC|ab", "b|abc|ab ", "c|abc|ab ")...)
	w.write()
	require.Equal(t, []string{"0" + droppedSaid, "1" + droppedSaid}, w.refused(0), "c is in the table as it was to be")
}
