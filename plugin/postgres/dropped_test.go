package postgres

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/plugintest"
	"waymark/tests/services/pg"
)

const droppedSaid = " SINK_DROPPED  a trigger of the table dropped the row"

// dropping is a table that keeps no row whose v is "drop", no change to "stay", and no second row with one w.
const dropping = `
	create table seen (k text);
	create function drops() returns trigger language plpgsql as $$ begin
		if new.v = 'drop' or tg_op = 'UPDATE' and new.v = 'stay' or tg_op = 'INSERT' and exists (select from t where w = new.w and k <> new.k) then
			insert into seen values (new.k);
			return null;
		end if;
		if new.v = 'raise' then raise exception 'no'; end if;
		return new; end $$;
	create trigger drops before insert or update on t for each row execute function drops();
`

// TestRowsThatATriggerDropsAreRefused, whether they are alone, many or all, among rows that are rejected in words, in tables with and without partitions.
func TestRowsThatATriggerDropsAreRefused(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	const n = 80
	for _, table := range []string{"create table t (k text primary key, v text, w text); ",
		"create table t (k text primary key, v text, w text) partition by hash (k); create table t0 partition of t for values with (modulus 2, remainder 0); create table t1 partition of t for values with (modulus 2, remainder 1); "} {
		for _, mode := range []string{pipeline.InsertMode, pipeline.UpsertMode} {
			for name, drop := range map[string]func(i int) string{
				"none": func(int) string { return "" }, "the first": func(i int) string { return map[int]string{0: "drop"}[i] },
				"the last":     func(i int) string { return map[int]string{n - 1: "drop"}[i] },
				"two together": func(i int) string { return map[int]string{77: "drop", 78: "drop"}[i] },
				"every third":  func(i int) string { return []string{"drop", "", ""}[i%3] },
				"all":          func(int) string { return "drop" },
				"some of both": func(i int) string {
					return map[int]string{0: "raise", 1: "drop", 50: "drop", 51: "raise", n - 1: "raise"}[i]
				},
			} {
				d.exec("drop table if exists t, seen, waymark_parts, waymark_outputs cascade; drop function if exists drops; " + table + dropping)
				spec := pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: mode}
				if mode == pipeline.UpsertMode {
					spec.Key = []string{"k"}
				}
				w := newWriter(t, spec, "run", columns("k", "v", "w"))
				var lines, want []string
				for i := range n {
					lines = append(lines, fmt.Sprintf("%d|%s|%d", i, drop(i), i))
					switch drop(i) {
					case "drop":
						want = append(want, strconv.Itoa(i)+droppedSaid)
					case "raise":
						want = append(want, strconv.Itoa(i)+` SINK_REFUSED  the table refused the row with SQLSTATE P0001: "no"`)
					}
				}
				w.add(texts(lines...)...)
				w.write()
				require.Equal(t, want, w.refused(0), "%s %s", mode, name)
				require.Equal(t, int64(n-len(want)), w.publish().Rows)
				require.Equal(t, fmt.Sprintf("%d|0|0", n-len(want)), d.one("select count(*), count(*) filter (where v <> ''), (select count(*) from seen) from t"),
					"%s %s: rows that are refused leave nothing behind", mode, name)
			}
		}
	}
}

// TestATriggerThatLooksAtTheTable drops the second row of two that are alike.
func TestATriggerThatLooksAtTheTable(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (k text, v text, w text); " + dropping)
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", columns("k", "v", "w"))
	w.add(texts("a||1", "b||2", "c||1", "d||3", "e||2", "f||2")...)
	w.write()
	require.Equal(t, []string{"2" + droppedSaid, "4" + droppedSaid, "5" + droppedSaid}, w.refused(0))
	require.Equal(t, []string{"a", "b", "d"}, d.all("select k from t order by k"))
}

func TestChangesThatATriggerDropsAreRefused(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (k text primary key, v text, w text); " + dropping)
	d.exec("insert into t values ('a', 'old', 'a'), ('b', 'old', 'b'), ('c', 'stay', 'c')")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: "upsert", Key: []string{"k"}}, "run", columns("k", "v", "w"))
	w.add(texts("a|1|a", "b|stay|b", "c|stay|c", "d|1|d", "a|2|a", "e|drop|e", "e|stay|e")...)
	w.write()
	require.Equal(t, []string{"1" + droppedSaid}, w.refused(0), "c is in the table as it was to be, and of e only the last row counts")
	require.Equal(t, []string{"a|2", "b|old", "c|stay", "d|1", "e|stay"}, d.all("select k, v from t order by k"))
	require.Equal(t, int64(6), w.publish().Rows)
}

// TestRowsThatChangeNothingAreTaken, also where Postgres' own trigger does not even write them, and where all columns are in the key.
func TestRowsThatChangeNothingAreTaken(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(`create table t (k text primary key, v json); create trigger redundant before update on t for each row execute function suppress_redundant_updates_trigger();
		insert into t values ('a', '{"a": 1}'), ('b', null), ('c', '3')`)
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: "upsert", Key: []string{"k"}}, "run", columns("k", "v"))
	w.add(texts(`a|{"a": 1}`, "b|null", "c|4", "d|null")...)
	w.add(texts(`a|{"a": 1}`, "b|null", "c|4", "d|null")...)
	w.write()
	require.Empty(t, w.refused(0))
	require.Empty(t, w.refused(1))
	require.Equal(t, []string{`a|{"a": 1}`, "b|null", "c|4", "d|null"}, d.all("select k, v from t order by k"))
	keys := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: "upsert", Key: []string{"k"}}, "keys alone", columns("k"))
	keys.add(texts("a", "b", "e")...)
	keys.write()
	require.Empty(t, keys.refused(0))
	require.Equal(t, "5", d.one("select count(*) from t"))
}

// TestAnUpsertNeedsItsIndexToTheEnd: rows whose keys are new are not put beside others with the same key when the index is gone.
func TestAnUpsertNeedsItsIndexToTheEnd(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (k text, v text); create unique index by_key on t (k); insert into t values ('a', 'old')")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: "upsert", Key: []string{"k"}}, "run", columns("k", "v"))
	w.add(texts("a|new")...)
	w.open()
	d.exec("drop index by_key")
	err := w.target.Write(t.Context(), w.parts[0], w.data[0])
	plugintest.RequireCode(t, "TARGET_REFUSED", err)
	require.ErrorContains(t, err, `create unique index on "public"."t" ("k")`)
	require.Equal(t, []string{"a|old"}, d.all("select k, v from t"))
}

// TestTablesThatWouldNotKeepRowsAreRefused before a row is written.
func TestTablesThatWouldNotKeepRowsAreRefused(t *testing.T) {
	db := pg.New(t)
	super := connect(t, db.Superuser())
	super.exec(fmt.Sprintf(`create foreign data wrapper w; create server s foreign data wrapper w; create table t (k int, v int) partition by list (k);
		create foreign table away partition of t for values in (1) server s; alter table t owner to %[1]s; alter table away owner to %[1]s`, db.Owner()))
	d := connect(t, db.DSN())
	d.exec(`create table u (k int primary key, v int) partition by list (k); create unlogged table forgets partition of u for values in (1);
		create table ruled (k int primary key, v int); create rule nothing as on insert to ruled do instead nothing;
		create table changed (k int primary key, v int); create rule never as on update to changed do instead nothing;
		create table secret (k int primary key, v int); alter table secret enable row level security; alter table secret force row level security;
		create table numbered (k int primary key, v int generated always as identity)`)
	key := []string{"k"}
	fields := []plugin.Field{{Name: "k", Kind: row.Int}, {Name: "v", Kind: row.Int}}
	for _, c := range []struct {
		spec pipeline.PostgresSink
		says string
	}{
		{pipeline.PostgresSink{Table: "t"}, "its partition away is a foreign table"},
		{pipeline.PostgresSink{Table: "u"}, "its partition forgets is not logged, so that a crash of the server empties it: alter table forgets set logged"},
		{pipeline.PostgresSink{Table: "away"}, "this is a view or a foreign table"},
		{pipeline.PostgresSink{Table: "ruled"}, "it has the rule nothing, and COPY does not follow rules"},
		{pipeline.PostgresSink{Table: "changed", Mode: "upsert", Key: key}, "it has the rule never"},
		{pipeline.PostgresSink{Table: "secret"}, "row-level security holds for the role on secret"},
		{pipeline.PostgresSink{Table: "secret", Mode: "upsert", Key: key}, "row-level security holds for the role on secret"},
		{pipeline.PostgresSink{Table: "numbered", Mode: "upsert", Key: key}, `the table numbers its column "v", generated always as identity`},
	} {
		c.spec.DSN = db.DSN()
		w := newWriter(t, c.spec, "run", fields)
		_, err := w.target.Open(t.Context(), w.encoder.Header())
		plugintest.RequireCode(t, "TARGET_REFUSED", err)
		require.ErrorContains(t, err, c.says)
	}
	for _, spec := range []pipeline.PostgresSink{{Table: "numbered"}, {Table: "changed"}} {
		spec.DSN = db.DSN()
		w := newWriter(t, spec, "run into "+spec.Table, fields)
		w.add([]row.Value{row.IntValue(1), row.IntValue(7)})
		w.write()
		require.Equal(t, int64(1), w.publish().Rows)
		require.Equal(t, "1|7", d.one("select k, v from "+spec.Table), "COPY gives an identity the value of the row")
	}
}

// TestAnUpsertByAnIdentity: the key is the row's, and not one that Postgres counts.
func TestAnUpsertByAnIdentity(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table counted (k int generated always as identity primary key, v text)")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "counted", Mode: "upsert", Key: []string{"k"}}, "run", columns("k", "v"))
	w.add(texts("7|a", "8|a")...)
	w.add(texts("7|b", "9|b")...)
	w.write()
	require.Equal(t, int64(4), w.publish().Rows)
	require.Equal(t, []string{"7|b", "8|a", "9|b"}, d.all("select k, v from counted order by k"))
}

// TestPartitionsTakeWhatTheyHaveAPlaceFor, and of the rest each row is rejected.
func TestPartitionsTakeWhatTheyHaveAPlaceFor(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	for _, mode := range []string{pipeline.InsertMode, pipeline.UpsertMode} {
		d.exec("drop table if exists t; create table t (k text primary key, v text) partition by range (k); create table low partition of t for values from ('a') to ('m')")
		spec := pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: mode}
		if mode == pipeline.UpsertMode {
			spec.Key = []string{"k"}
			d.exec("insert into t values ('b', 'old')")
		}
		w := newWriter(t, spec, mode, columns("k", "v"))
		w.add(texts("a|1", "z|1", "b|1", "m|1", "l|1")...)
		w.write()
		const says = " SINK_CHECK  no partition of the table takes the row"
		require.Equal(t, []string{"1" + says, "3" + says}, w.refused(0), mode)
		require.Equal(t, []string{"a|1", "b|1", "l|1"}, d.all("select k, v from t order by k"))
	}
}
