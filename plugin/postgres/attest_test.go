package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/tests/services/pg"
)

// attestedTable is a table with what runs wrote there.
type attestedTable struct {
	client
	spec   pipeline.PostgresSink
	fields []plugin.Field
	runs   []*testWriter
	gone   bool // what runs wrote cannot be computed any more

	outcomes map[string]map[int64]plugin.ErasureOutcome // of forgotten lines, by run: "" if they were not to be deleted
}

func newAttestedTable(t *testing.T, spec pipeline.PostgresSink) *attestedTable {
	d := pg.New(t).DSN()
	spec.DSN, spec.Table = d, "out"
	return &attestedTable{client: connect(t, d), spec: spec, fields: []plugin.Field{{Name: "id", Kind: row.Int}, {Name: "text", Kind: row.String, Optional: true}}}
}

// run writes the texts with the ids from on, two in a part, as a run of its own.
func (a *attestedTable) run(id string, from int64, texts ...string) {
	a.t.Helper()
	w := newWriter(a.t, a.spec, id, a.fields)
	for pair := range slices.Chunk(texts, 2) {
		var rows [][]row.Value
		for _, text := range pair {
			value := row.StringValue(text)
			if text == "null" {
				value = row.Value{}
			}
			rows = append(rows, []row.Value{row.IntValue(from), value})
			from++
		}
		w.add(rows...)
	}
	w.write()
	w.publish()
	a.runs = append(a.runs, w)
}

func (a *attestedTable) written(w *testWriter) plugin.Written {
	return plugin.Written{
		Header: w.encoder.Header(), Parts: w.parts, Look: func(plugin.Part) bool { return true }, Rows: a.rowsOf(w),
		Data: func(_ context.Context, part plugin.Part) ([]byte, error) {
			if a.gone {
				return nil, errors.New("purged")
			}
			return w.data[part.Ordinal], nil
		},
	}
}

// rowsOf returns the rows of parts without those that were forgotten.
func (a *attestedTable) rowsOf(w *testWriter) func(context.Context, plugin.Part) (plugin.PartRows, error) {
	return func(_ context.Context, part plugin.Part) (rows plugin.PartRows, err error) {
		if a.gone {
			return rows, &plugin.LostError{Err: errors.New("purged")}
		}
		if a.outcomes == nil {
			return plugin.PartRows{Data: w.data[part.Ordinal]}, nil
		}
		rows.Without = map[int]plugin.Omission{}
		written := a.written(w)
		at := written.RowsBefore(part)
		refused, err := w.target.Rejected(a.t.Context(), part)
		for i, line := range bytes.SplitAfter(w.data[part.Ordinal], []byte{'\n'})[:part.Rows] {
			if !slices.ContainsFunc(refused, func(r plugin.RejectedRow) bool { return r.Row == int64(i) }) {
				at++
			}
			if outcome, forgotten := a.outcomes[w.target.(*target).run][at]; forgotten {
				rows.Without[i] = plugin.Omission{Erased: outcome.Absent(), Why: "forgotten"}
				continue
			}
			rows.Data = append(rows.Data, line...)
		}
		return rows, err
	}
}

// attest returns what became of what a run wrote: rows equal, changed, missing, replaced, unknown, and the findings.
func (a *attestedTable) attest(run int) (counts [5]int64, findings []string) {
	a.t.Helper()
	found, err := a.runs[run].target.(plugin.Attester).Attest(a.t.Context(), a.among(run))
	require.NoError(a.t, err)
	require.Equal(a.t, plugin.Rows, found.Unit)
	counts = [5]int64{found.Equal, found.Changed, found.Missing, found.Replaced, found.Unknown}
	var sum int64
	for _, n := range counts {
		sum += n
	}
	require.Equal(a.t, found.LookedAt, sum)
	for _, f := range found.Findings {
		text := string(f.State) + " " + f.Why + f.Run
		if f.Line > 0 {
			text = string(f.State) + " " + string(rune('0'+f.Line)) + " " + f.Why + f.Run
		}
		findings = append(findings, text)
	}
	return counts, findings
}

// among is what a run wrote, among what the others did.
func (a *attestedTable) among(run int) plugin.Written {
	written := a.written(a.runs[run])
	written.Later = func(context.Context) (later []plugin.WrittenBy, err error) {
		for _, w := range slices.Backward(a.runs[run+1:]) {
			later = append(later, plugin.WrittenBy{Run: w.target.(*target).run, Sink: w.target.(*target).name, Written: a.written(w)})
		}
		return later, nil
	}
	written.Others = func(context.Context) (others []plugin.WrittenBy, err error) {
		for i, w := range a.runs {
			if i != run {
				others = append(others, plugin.WrittenBy{Run: w.target.(*target).run, Sink: w.target.(*target).name, Written: a.written(w)})
			}
		}
		return others, nil
	}
	return written
}

// requireFound compares what became of the first run's rows.
func (a *attestedTable) requireFound(want [5]int64, findings ...string) {
	a.t.Helper()
	counts, found := a.attest(0)
	require.Equal(a.t, findings, found)
	require.Equal(a.t, want, counts)
}

// TestAttestByKey names rows of an upsert that were updated, deleted and inserted, and those that a later run replaced.
func TestAttestByKey(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{Create: true, Mode: pipeline.UpsertMode, Key: []string{"id"}})
	a.run("one", 1, "a", "b\t\\", "null", "d", "e")
	a.requireFound([5]int64{5, 0, 0, 0, 0})
	a.exec("update out set text = 'edited' where id = 3")
	a.exec("delete from out where id = 4")
	a.exec("insert into out values (9, 'new')")
	a.requireFound([5]int64{3, 2, 1, 0, 0}, "changed 3 the row has other values", "missing 4 the row is gone", "changed the table has 1 row that no run wrote")
	a.exec("update out set text = null where id = 3")
	a.exec("insert into out values (4, 'd')")
	a.exec("delete from out where id = 9")
	a.requireFound([5]int64{5, 0, 0, 0, 0})

	a.run("two", 2, "B", "c")
	a.exec("update out set text = 'edited' where id = 1")
	a.requireFound([5]int64{2, 1, 0, 2, 0}, "changed 1 the row has other values", "replaced 2 a later run wrote a row with this keytwo", "replaced 3 a later run wrote a row with this keytwo")
	counts, _ := a.attest(1)
	require.Equal(t, [5]int64{2, 0, 0, 0, 0}, counts)
	a.exec("update out set text = 'edited' where id = 2")
	a.requireFound([5]int64{2, 2, 0, 1, 0}, "changed 1 the row has other values", "changed 2 the row has other values", "replaced 3 a later run wrote a row with this keytwo")

	a.runs = a.runs[:1] // the later run is one of another landscape
	counts, findings := a.attest(0)
	require.Equal(t, [5]int64{2, 0, 0, 0, 3}, counts)
	require.Contains(t, findings[0], "run two wrote to the table since")
}

// equalForms are texts of values that a type takes as equal.
var equalForms = map[string][]string{
	"numeric": {"5", "5.00", "5.0"}, "numeric(10,2)": {"5", "5.00", "5.0"}, "double precision": {"0", "-0", "0e1"},
	"interval": {"1 day", "24 hours", "1 day"},
}

// TestAttestEqualKeys writes keys that are equal in other forms: the table has the form that was written last, and an
// earlier row is replaced, in a part, in another one, and by a later run. (1.5 CPU-s.)
func TestAttestEqualKeys(t *testing.T) {
	for kind, forms := range equalForms {
		a := newAttestedTable(t, pipeline.PostgresSink{Mode: pipeline.UpsertMode, Key: []string{"id"}})
		a.fields = []plugin.Field{{Name: "id", Kind: row.String}, {Name: "text", Kind: row.String}}
		a.exec("create table out (id " + kind + " primary key, text text)")
		write := func(run string, parts ...[]string) {
			w := newWriter(t, a.spec, run, a.fields)
			for _, forms := range parts {
				var rows [][]row.Value
				for _, form := range forms {
					rows = append(rows, []row.Value{row.StringValue(form), row.StringValue(run)})
				}
				w.add(rows...)
			}
			w.write()
			w.publish()
			a.runs = append(a.runs, w)
		}
		write("one", forms[:1])
		a.requireFound([5]int64{1, 0, 0, 0, 0})
		write("two", forms[1:2])
		require.Equal(t, a.one("select $1::text::"+kind+"::text || 'two'", forms[1]), a.one("select id::text || text from out"))
		counts, findings := a.attest(1)
		require.Equal(t, [5]int64{1, 0, 0, 0, 0}, counts, "%s %s", kind, findings)
		a.requireFound([5]int64{0, 0, 0, 1, 0}, "replaced 1 a later run wrote a row with this keytwo")
		write("three", []string{forms[0], forms[0], forms[1]}, forms[2:])
		counts, findings = a.attest(2)
		require.Equal(t, [5]int64{4, 0, 0, 0, 0}, counts, "%s %s", kind, findings)
		a.exec("update out set text = 'edited'")
		counts, findings = a.attest(2)
		require.Equal(t, [5]int64{3, 1, 0, 0, 0}, counts, "%s %s", kind, findings)
		a.exec("update out set text = 'three'")
		require.Equal(t, "[replaced]", a.erase(0, 1), kind)
		require.Equal(t, "[replaced replaced replaced deleted]", a.erase(2, 1, 2, 3, 4), kind)
	}
}

// TestUpsertEqualKeysAlone updates the form of a key in a table without other columns.
func TestUpsertEqualKeysAlone(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{Mode: pipeline.UpsertMode, Key: []string{"id"}})
	a.fields = []plugin.Field{{Name: "id", Kind: row.String}}
	a.exec("create table out (id numeric primary key)")
	for run, form := range []string{"5", "5.00"} {
		w := newWriter(t, a.spec, fmt.Sprint(run), a.fields)
		w.add([]row.Value{row.StringValue(form)})
		w.write()
		w.publish()
		a.runs = append(a.runs, w)
		require.Equal(t, form, a.one("select id from out"))
		counts, findings := a.attest(run)
		require.Equal(t, [5]int64{1, 0, 0, 0, 0}, counts, findings)
	}
}

// TestAttestBesideOtherColumns compares by the keys and columns of each run: a run that wrote nothing, or another column, makes no edited row unknown.
func TestAttestBesideOtherColumns(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{Mode: pipeline.UpsertMode, Key: []string{"id"}})
	a.exec("create table out (id bigint primary key, text text, more text)")
	a.run("one", 1, "a", "b", "c", "d")
	failed := newWriter(t, a.spec, "failed", a.fields) // which wrote nothing
	_, err := failed.target.Open(t.Context(), failed.encoder.Header())
	require.NoError(t, err)
	few := a.fields
	a.fields = append(slices.Clone(few), plugin.Field{Name: "more", Kind: row.String, Optional: true})
	w := newWriter(t, a.spec, "wider", a.fields)
	w.add([]row.Value{row.IntValue(2), row.StringValue("B"), row.StringValue("x")})
	w.write()
	w.publish()
	a.runs = append(a.runs, w)
	a.exec("update out set text = 'edited' where id = 3")
	a.requireFound([5]int64{2, 1, 0, 1, 0}, "replaced 2 a later run wrote a row with this keywider", "changed 3 the row has other values")

	a.fields = []plugin.Field{few[0], {Name: "more", Kind: row.String, Optional: true}}
	w = newWriter(t, a.spec, "narrow", a.fields)
	w.add([]row.Value{row.IntValue(4), row.StringValue("y")})
	w.write()
	w.publish()
	a.runs = append(a.runs, w)
	a.requireFound([5]int64{2, 1, 0, 1, 0}, "replaced 2 a later run wrote a row with this keywider", "changed 3 the row has other values")
	a.exec("update out set text = 'edited' where id = 4")
	a.requireFound([5]int64{1, 1, 0, 1, 1}, "replaced 2 a later run wrote a row with this keywider", "changed 3 the row has other values",
		"unknown 4 the row has other values, and run narrow wrote some of its columns since: who changed the others is not known")
}

// TestAttestRowsWithoutKey finds rows by all their values, equal ones as often as they were written.
func TestAttestRowsWithoutKey(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{Create: true})
	a.run("one", 1, "a", "b", "null")
	a.requireFound([5]int64{3, 0, 0, 0, 0})
	a.exec("update out set text = 'edited' where id = 2")
	a.requireFound([5]int64{2, 1, 1, 0, 0}, "missing 2 no row of the table has all these values", "changed the table has 1 row that no run wrote: \"out\" ctid (0,4)")
	a.exec("delete from out where text = 'edited'")
	a.requireFound([5]int64{2, 0, 1, 0, 0}, "missing 2 no row of the table has all these values")
	a.exec("insert into out values (2, 'b')")

	a.run("two", 1, "a", "b", "null")
	a.requireFound([5]int64{3, 0, 0, 0, 0})
	a.exec("delete from out where ctid = (select ctid from out where id = 1 limit 1)")
	a.requireFound([5]int64{2, 0, 1, 0, 0}, "missing 1 the table has 1 of 2 rows with these values, which runs one, two wrote: whose are gone nothing tells")
	a.exec("insert into out values (42, 'MALLORY')") // as many rows as were written
	for run := range a.runs {
		counts, findings := a.attest(run)
		require.Equal(t, [5]int64{2, 1, 1, 0, 0}, counts)
		require.Equal(t, "changed the table has 1 row that no run wrote: \"out\" ctid (0,9)", findings[1])
	}

	a.exec("delete from out where id = 42")
	a.exec("insert into out values (1, 'a')")
	a.run("three", 1, "a", "x")
	a.runs = a.runs[:2] // the third run is one of another landscape
	a.requireFound([5]int64{3, 0, 0, 0, 1}, "unknown rows of the table of which it is not known here who wrote them: 2; run three wrote 2: it is not recorded here as published")
	a.exec("delete from out where id = 1")
	a.requireFound([5]int64{2, 0, 1, 0, 1}, "missing 1 the table has 0 of 2 rows with these values, which runs one, two wrote: whose are gone nothing tells",
		"unknown rows of the table of which it is not known here who wrote them: 1; run three wrote 2: it is not recorded here as published")
}

// TestAttestRowsOfOthersThatAreGone counts rows of other runs that are gone from a table with a key.
func TestAttestRowsOfOthersThatAreGone(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{})
	a.exec("create table out (id bigint primary key, text text)")
	a.run("one", 1, "a")
	a.run("two", 2, "b", "c")
	a.exec("delete from out where id = 2")
	a.requireFound([5]int64{1, 0, 0, 0, 1}, "unknown a row that a run wrote here is gone: it is not known which one")
	a.exec("delete from out where id = 3")
	a.requireFound([5]int64{1, 0, 0, 0, 2}, "unknown 2 rows that runs wrote here are gone: it is not known which ones")
}

// TestAttestWhatIsGone looks at a table without entries, without a column, that is gone, and of which nobody knows any more what was written.
func TestAttestWhatIsGone(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{})
	a.exec("create table out (id bigint primary key, text varchar(10))")
	a.run("one", 1, "a", "b", "c")
	a.exec("insert into out values (9, 'of others')")
	a.requireFound([5]int64{3, 0, 0, 0, 1}, "unknown the table has 1 row that no run wrote")
	a.exec("update out set text = 'edited' where id = 3")
	a.exec("update waymark_parts set bytes = 1 where ordinal = 1")
	a.requireFound([5]int64{2, 2, 0, 0, 0}, "changed waymark_parts does not hold part 1 as this run wrote it", "changed 3 the row has other values")
	a.gone = true
	a.requireFound([5]int64{0, 1, 0, 0, 3}, "changed waymark_parts does not hold part 1 as this run wrote it", "unknown purged", "unknown purged")
	a.gone = false
	a.exec("alter table out alter column text type bytea using '\\\\x00'")
	counts, findings := a.attest(0)
	require.Equal(t, [5]int64{0, 4, 0, 0, 0}, counts)
	require.Equal(t, "changed 1 the row has other values", findings[1])
	a.exec("alter table out alter column text type int using 1")
	counts, findings = a.attest(0)
	require.Equal(t, [5]int64{0, 4, 0, 0, 0}, counts)
	require.Equal(t, "changed a column of the table has another type: it does not take what was written", findings[1], "no value is in it")
	a.exec("drop table waymark_parts")
	a.requireFound([5]int64{0, 0, 1, 0, 3}, "missing there is no waymark_outputs or waymark_parts",
		"unknown the entry of part 0 in waymark_parts is gone: it said which rows the table refused", "unknown the entry of part 1 in waymark_parts is gone: it said which rows the table refused")
	a.exec("alter table out drop column text")
	a.requireFound([5]int64{0, 0, 4, 0, 0}, "missing there is no waymark_outputs or waymark_parts",
		"missing the table public.out has no column text any more", "missing the table public.out has no column text any more")
	a.exec("drop table out")
	counts, _ = a.attest(0)
	require.Equal(t, [5]int64{0, 0, 4, 0, 0}, counts)
}
