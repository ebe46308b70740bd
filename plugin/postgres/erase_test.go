package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
)

// erase deletes lines of a run, twice with the same answer, and notes what became of them.
func (a *attestedTable) erase(run int, lines ...int64) string {
	a.t.Helper()
	eraser := a.runs[run].target.(plugin.Eraser)
	before := a.all("select id, text from out order by 1, 2")
	fates, err := eraser.TryErase(a.t.Context(), a.among(run), lines)
	require.NoError(a.t, err)
	require.Equal(a.t, before, a.all("select id, text from out order by 1, 2"))
	outcomes, err := eraser.Erase(a.t.Context(), a.among(run), lines)
	require.NoError(a.t, err)
	require.Equal(a.t, fates, outcomes)
	table := a.all("select id, text from out order by 1, 2")
	again, err := eraser.Erase(a.t.Context(), a.among(run), lines)
	require.NoError(a.t, err)
	require.Equal(a.t, outcomes, again)
	require.Equal(a.t, table, a.all("select id, text from out order by 1, 2"))
	of := a.runs[run].target.(*target).run
	if a.outcomes == nil {
		a.outcomes = map[string]map[int64]plugin.ErasureOutcome{}
	}
	if a.outcomes[of] == nil {
		a.outcomes[of] = map[int64]plugin.ErasureOutcome{}
	}
	for i, line := range lines {
		a.outcomes[of][line] = outcomes[i]
	}
	return fmt.Sprint(outcomes)
}

// mayErase asks whether any rows could be deleted.
func mayErase(t *testing.T, eraser plugin.Eraser, w plugin.Written) error {
	_, err := eraser.TryErase(t.Context(), w, nil)
	return err
}

// TestEraseByKey deletes the rows of an upsert that are as the run wrote them, and those alone; and an attestation misses only what it did not delete.
func TestEraseByKey(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{Create: true, Mode: pipeline.UpsertMode, Key: []string{"id"}})
	a.run("one", 1, "a", "b\t\\", "null", "d", "e", "f", "g")
	a.exec("update out set text = 'edited' where id = 2")
	a.exec("delete from out where id = 4")
	require.Equal(t, "[deleted edited deleted gone]", a.erase(0, 1, 2, 3, 4))
	require.Equal(t, []string{"2|edited", "5|e", "6|f", "7|g"}, a.all("select id, text from out order by 1"))
	require.Equal(t, []string{"one|out|1|deleted", "one|out|2|edited", "one|out|3|deleted", "one|out|4|gone"},
		a.all("select run, sink, line, outcome from waymark_erased order by 3"))
	a.requireFound([5]int64{3, 0, 0, 0, 1}, "unknown 2 forgotten")
	a.exec("delete from out where id = 5")
	a.requireFound([5]int64{2, 0, 1, 0, 1}, "unknown 2 forgotten", "missing 5 the row is gone")
	a.exec("insert into out values (5, 'e'), (1, 'a')")
	a.exec("delete from out where id = 2")
	a.outcomes["one"][2] = plugin.RowGone
	a.requireFound([5]int64{3, 1, 0, 0, 0}, "changed the table has 1 row that no run wrote")
	for column, want := range map[string]map[string]int64{"text": {"e": 1, "f": 1, "b": 0}, "id": {"7": 1}, "absent": {"e": -1}, "ctid": {"(0,1)": -1}} {
		for value, count := range want {
			rows, err := a.runs[0].target.(plugin.Eraser).RowsWith(t.Context(), column, value)
			require.NoError(t, err)
			require.Equal(t, count, rows, "%s = %s", column, value)
		}
	}
}

// TestEraseWhatALaterRunWrote leaves rows with a key that a later run wrote, equal or not, and what another landscape may have written.
func TestEraseWhatALaterRunWrote(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{Create: true, Mode: pipeline.UpsertMode, Key: []string{"id"}})
	a.run("one", 1, "a", "b", "c", "d", "e")
	a.run("two", 2, "b", "C")
	require.Equal(t, "[deleted replaced replaced]", a.erase(0, 1, 2, 3), "row 2 has what both wrote")
	require.Equal(t, []string{"2|b", "3|C", "4|d", "5|e"}, a.all("select id, text from out order by 1"))
	require.Equal(t, "[deleted]", a.erase(1, 1))
	a.requireFound([5]int64{2, 0, 0, 0, 2}, "unknown 2 forgotten", "unknown 3 forgotten")
	counts, findings := a.attest(1)
	require.Equal(t, [5]int64{1, 0, 0, 0, 0}, counts, findings)

	a.run("three", 4, "D")
	a.runs = a.runs[:2] // the third run is one of another landscape
	a.exec("delete from out where id = 5")
	require.Equal(t, "[edited gone]", a.erase(0, 4, 5))
	require.Equal(t, "[unclear]", a.erase(1, 2))
	require.Equal(t, []string{"3|C", "4|D"}, a.all("select id, text from out order by 1"))
}

// TestEraseARowThatReplacedOne: that the row of another run is gone with the one that replaced it is nobody's fault; that more are gone is.
func TestEraseARowThatReplacedOne(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{Create: true, Mode: pipeline.UpsertMode, Key: []string{"id"}})
	a.run("one", 1, "a", "b", "c")
	a.run("two", 2, "B")
	require.Equal(t, "[deleted]", a.erase(1, 1))
	const why = "the row is gone, and rows that a later run wrote were deleted by order: this may be one that it had replaced"
	a.requireFound([5]int64{2, 0, 0, 0, 1}, "unknown 2 "+why)
	a.exec("delete from out where id = 3")
	a.requireFound([5]int64{1, 0, 2, 0, 0}, "missing 2 the row is gone", "missing 3 the row is gone")
}

// TestEraseRowsOfInserts finds rows by the table's own key, of which the document says nothing.
func TestEraseRowsOfInserts(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{})
	a.exec("create table out (id bigint primary key, text varchar(10), place serial)")
	a.run("one", 1, "a", "b", "too long for it", "d")
	a.run("two", 5, "e", "f")
	a.exec("update out set text = 'edited' where id = 2")
	require.Equal(t, "[deleted edited deleted]", a.erase(0, 1, 2, 3), "the third row that the table took")
	require.Equal(t, []string{"2|edited", "5|e", "6|f"}, a.all("select id, text from out order by 1"))
	a.requireFound([5]int64{0, 0, 0, 0, 1}, "unknown 2 forgotten")
	counts, _ := a.attest(1)
	require.Equal(t, [5]int64{2, 0, 0, 0, 0}, counts)
}

// TestEraseCopies deletes as many of equal rows as the run wrote of those that are forgotten, and leaves those of others.
func TestEraseCopies(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{Create: true})
	a.run("one", 1, "a", "b", "null")
	a.run("two", 1, "a", "B")
	require.Equal(t, "[deleted deleted]", a.erase(0, 1, 3))
	require.Equal(t, []string{"1|a", "2|B", "2|b"}, a.all("select id, text from out order by 1, 2"))
	a.requireFound([5]int64{1, 0, 0, 0, 0})
	counts, _ := a.attest(1)
	require.Equal(t, [5]int64{2, 0, 0, 0, 0}, counts)
	a.exec("update out set text = 'edited' where text = 'B'")
	require.Equal(t, "[deleted gone]", a.erase(1, 1, 2))
	require.Equal(t, []string{"2|b", "2|edited"}, a.all("select id, text from out order by 1, 2"))
	a.requireFound([5]int64{1, 1, 0, 0, 0}, `changed the table has 1 row that no run wrote: "out" ctid (0,6)`)
	a.exec("delete from out where text = 'edited'")
	a.exec("delete from out")
	a.requireFound([5]int64{0, 0, 1, 0, 0}, "missing 2 no row of the table has all these values")
}

// TestEraseCopiesThatDiffer: of rows that are equal but in a column that no run wrote, nothing tells whose is whose, unless all are to go.
func TestEraseCopiesThatDiffer(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{})
	a.exec("create table out (id bigint, text text, place serial)")
	a.run("one", 1, "a", "b")
	a.exec("insert into out values (1, 'a'), (2, 'b')")
	require.Equal(t, "[unclear]", a.erase(0, 1))
	a.run("two", 7, "g")
	a.gone = true
	require.Equal(t, "[unclear]", a.erase(1, 1), "nothing tells what it was")
	require.Len(t, a.all("select from out"), 5)
}

// TestEraseIsRefused: an account without the right to delete gets an error that names the grant; a row that others reference and one that a trigger protects stay. None of these leaves an
// entry.
func TestEraseIsRefused(t *testing.T) {
	a := newAttestedTable(t, pipeline.PostgresSink{})
	a.exec("create table out (id bigint primary key, text text)")
	a.run("one", 1, "a", "b")
	a.exec("create table notes (about bigint references out)")
	a.exec("insert into notes values (1)")
	eraser := a.runs[0].target.(plugin.Eraser)
	refused := func(says string) {
		t.Helper()
		_, err := eraser.Erase(t.Context(), a.among(0), []int64{1, 2})
		require.ErrorAs(t, err, new(*plugin.TargetError))
		require.ErrorContains(t, err, says)
		require.Len(t, a.all("select from out"), 2)
	}
	refused("delete the rows that refer to these first")
	a.exec("drop table notes")
	a.exec("create function keep() returns trigger language plpgsql as 'begin return null; end'")
	a.exec("create trigger keep before delete on out for each row execute function keep()")
	refused("a trigger or a policy of the table kept a row from being deleted")
	a.exec("drop trigger keep on out")
	a.exec("update waymark_outputs set state = 'open'")
	refused("says that the output is open, and not published")
	require.ErrorContains(t, mayErase(t, eraser, a.among(0)), "and not published")
	a.exec("update waymark_outputs set state = 'published'")
	a.exec("alter table out rename to elsewhere")
	_, err := eraser.Erase(t.Context(), a.among(0), []int64{1, 2})
	require.ErrorContains(t, err, `there is no table "public"."out": if it was renamed, give it its name back`)
	require.ErrorContains(t, mayErase(t, eraser, a.among(0)), "there is no table")
	a.exec("alter table elsewhere rename to out")
	require.NoError(t, mayErase(t, eraser, a.among(0)))
	require.Equal(t, "null", a.one("select to_regclass('waymark_erased')"), "nothing was deleted yet")
	require.Equal(t, "[deleted deleted]", a.erase(0, 1, 2))
}

// TestEraseIsRefusedByPolicies: where row-level security holds for the role, a row that it does not see is no row that is gone.
func TestEraseIsRefusedByPolicies(t *testing.T) {
	for _, policies := range [][]string{
		{"create policy p on out for select using (true)", "create policy d on out for delete using (false)"},
		{"create policy p on out for select using (id > 1)", "create policy d on out for delete using (true)"},
		{"create policy p on out for select using (true)", "create policy d on out for delete using (true)"},
	} {
		a := newAttestedTable(t, pipeline.PostgresSink{Create: true})
		a.run("one", 1, "a", "b")
		for _, policy := range append(policies, "alter table out enable row level security", "alter table out force row level security") {
			a.exec(policy)
		}
		eraser := a.runs[0].target.(plugin.Eraser)
		require.ErrorContains(t, mayErase(t, eraser, a.among(0)), "row-level security holds for the role")
		_, err := eraser.Erase(t.Context(), a.among(0), []int64{1, 2})
		require.ErrorContains(t, err, "row-level security holds for the role")
		a.exec("alter table out no force row level security")
		require.Equal(t, "[deleted deleted]", a.erase(0, 1, 2), "the owner")
	}
}
