package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/plugintest"
	"waymark/tests/services/pg"
)

// texts are rows of text columns; "null" is null.
func texts(lines ...string) [][]row.Value {
	var rows [][]row.Value
	for _, line := range lines {
		var values []row.Value
		for _, cell := range strings.Split(line, "|") {
			if cell == "null" {
				values = append(values, row.NullValue())
			} else {
				values = append(values, row.StringValue(cell))
			}
		}
		rows = append(rows, values)
	}
	return rows
}

func columns(names ...string) []plugin.Field {
	var fields []plugin.Field
	for _, name := range names {
		fields = append(fields, plugin.Field{Name: name, Kind: row.String, Optional: true})
	}
	return fields
}

// rejecting is a table that rejects a row for every reason that there is.
const refusing = `
	create table parents (id int primary key); insert into parents values (1), (2);
	create table t (
		id int primary key, name varchar(5), amount numeric(5,2) check (amount >= 0), day date, parent int references parents,
		late int unique deferrable initially deferred, moment timestamptz, doc jsonb, place int not null default 0
	);
	create function guard() returns trigger language plpgsql as $$ begin
		if new.name = 'raise' then raise exception 'no: %', repeat(new.name, 20); end if;
		if new.name = 'state' then raise exception 'mine' using errcode = 'ZX001'; end if;
		if new.name = 'ends' then raise exception 'away' using errcode = '57014'; end if;
		if new.name = 'again' then raise exception 'again' using errcode = '40001'; end if;
		if new.name = 'zero' then new.place := 1 / new.place; end if;
		if new.name = 'where' then raise exception 'x' using errcode = '23514', hint = 'COPY t, line 1'; end if;
		return new; end $$;
	create trigger guard before insert or update on t for each row execute function guard();
	create function after_guard() returns trigger language plpgsql as $$ begin
		if new.name = 'after' then raise exception 'late'; end if; return null; end $$;
	create constraint trigger after_guard after insert or update on t deferrable initially deferred for each row execute function after_guard();
`

var badRows = []struct{ line, says string }{
	{"1|dup|1|2001-01-01|1|90|null|{}|0", `SINK_UNIQUE  the table has a row with the same key: see the constraint t_pkey`},
	{"x|a|1|2001-01-01|1|91|null|{}|0", `SINK_TYPE id the column's type does not take the value (SQLSTATE 22P02)`},
	{"99999999999|a|1|2001-01-01|1|92|null|{}|0", `SINK_TYPE id the column's type does not take the value (SQLSTATE 22003)`},
	{"null|a|1|2001-01-01|1|93|null|{}|0", `SINK_NOT_NULL id the column must not be null`},
	{"10|toolong|1|2001-01-01|1|94|null|{}|0", `SINK_TOO_LONG name a value is longer than its column, or an index of it, takes (SQLSTATE 22001)`},
	{"11|a|1000|2001-01-01|1|95|null|{}|0", `SINK_TYPE amount the column's type does not take the value (SQLSTATE 22003)`},
	{"26|a|1.005|2001-01-01|1|109|null|{}|0", `SINK_INEXACT amount the column would round or cut the value: do so in a step, or give it another type`},
	{"27|a|1|2001-01-01 10:00Z|1|110|null|{}|0", `SINK_INEXACT day the column would round or cut the value: do so in a step, or give it another type`},
	{"28|a     |1|2001-01-01|1|111|null|{}|0", `SINK_INEXACT name the column would round or cut the value: do so in a step, or give it another type`},
	{"12|a|-1|2001-01-01|1|96|null|{}|0", `SINK_CHECK  the row does not satisfy the constraint t_amount_check`},
	{"13|a|1|2001-02-30|1|97|null|{}|0", `SINK_TYPE day the column's type does not take the value (SQLSTATE 22008)`},
	{"14|a|1|2001-01-01|9|98|null|{}|0", `SINK_FOREIGN_KEY  there is no row that this one refers to: see the constraint t_parent_fkey`},
	{"15|a|1|2001-01-01|1|1|null|{}|0", `SINK_UNIQUE  the table has a row with the same key: see the constraint t_late_key`},
	{`16|a|1|2001-01-01|1|99|null|{"a":"\u0000"}|0`, `SINK_TYPE doc the column's type does not take the value (SQLSTATE 22P05)`},
	{`17|a|1|2001-01-01|1|100|null|{"a":|0`, `SINK_TYPE doc the column's type does not take the value (SQLSTATE 22P02)`},
	{"18|raise|1|2001-01-01|1|101|null|{}|0", `SINK_REFUSED  the table refused the row with SQLSTATE P0001: "no: raiseraiseraiseraiseraiseraiseraiseraiseraiseraiseraiseraise"`},
	{"19|state|1|2001-01-01|1|102|null|{}|0", `SINK_REFUSED  the table refused the row with SQLSTATE ZX001: "mine"`},
	{"24|zero|1|2001-01-01|1|107|null|{}|0", `SINK_REFUSED  the table refused the row with SQLSTATE 22012: "division by zero"`},
	{"20|where|1|2001-01-01|1|103|null|{}|0", `SINK_REFUSED  the table refused the row with SQLSTATE 23514: "x"`},
	{"25|ends|1|2001-01-01|1|108|null|{}|0", `SINK_REFUSED  the table refused the row with SQLSTATE 57014: "away"`},
	{"25|again|1|2001-01-01|1|108|null|{}|0", `SINK_REFUSED  the table refused the row with SQLSTATE 40001: "again"`},
	{"21|after|1|2001-01-01|1|104|null|{}|0", `SINK_REFUSED  the table refused the row with SQLSTATE P0001: "late"`},
	{"22|a|1|2001-01-01|1|105|null|{}|null", `SINK_NOT_NULL place the column must not be null`},
	{`23|a|1|2001-01-01|1|106|null|` + "[" + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "]" + `|0`, `SINK_TOO_LONG doc a value is longer than its column, or an index of it, takes (SQLSTATE 54001)`},
}

func goodRow(i int) string { return fmt.Sprintf("%d|ok|1|2001-01-01|2|%d|null|{}|0", 1000+i, 1000+i) }

// TestATableRefusesRowsAndNotParts puts each bad row among good ones, at each end and in the middle, alone and with all others.
func TestATableRefusesRowsAndNotParts(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	names := columns("id", "name", "amount", "day", "parent", "late", "moment", "doc", "place")
	for _, mode := range []string{pipeline.InsertMode, pipeline.UpsertMode} {
		d.exec("drop table if exists t, parents cascade; drop function if exists guard, after_guard; " + refusing)
		spec := pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: mode}
		if mode == pipeline.UpsertMode {
			spec.Key = []string{"place", "id"}
			d.exec("create unique index on t (id, place)")
		}
		fresh := func(run string) *testWriter {
			d.exec("drop table if exists waymark_parts, waymark_outputs")
			d.exec("truncate t; insert into t (id, late) values (1, 1)")
			return newWriter(t, spec, run, names)
		}
		skip := func(line string) bool { // a null in the key is rejected before
			return mode == pipeline.UpsertMode && (strings.HasPrefix(line, "null|") || strings.HasSuffix(line, "|null") || strings.HasPrefix(line, "1|dup"))
		}
		for i, bad := range badRows {
			if skip(bad.line) {
				continue
			}
			at := []int{0, 15, 29}[i%3]
			w := fresh("run")
			var lines []string
			for j := range 30 {
				lines = append(lines, goodRow(j))
			}
			lines[at] = bad.line
			w.add(texts(lines...)...)
			w.write()
			require.Equal(t, []string{strconv.Itoa(at) + " " + bad.says}, w.refused(0), "%s %.60s", mode, bad.line)
			require.Equal(t, "30", d.one("select count(*) from t"), "%.60s", bad.line)
			require.Equal(t, int64(29), w.publish().Rows)
		}
		w := fresh("all")
		var lines, want []string
		for i, bad := range badRows {
			if !skip(bad.line) {
				want = append(want, strconv.Itoa(len(lines))+" "+bad.says)
				lines = append(lines, bad.line)
			}
			for j := range i {
				lines = append(lines, goodRow(100*i+j))
			}
		}
		w.add(texts(lines...)...)
		w.write()
		require.Equal(t, want, w.refused(0), mode)
		require.Equal(t, strconv.Itoa(len(lines)-len(want)+1), d.one("select count(*) from t"))
		w.write()
		require.Equal(t, want, w.refused(0), "the answer is the same for ever")
	}
}

func TestOfRowsWithOneKeyTheFirstOrTheLastStays(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table i (k text primary key, v text); create table u (k text primary key, v text check (v <> 'bad'), kept text default 'x'); insert into u values ('a', 'old', 'y')")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "i"}, "run", columns("k", "v"))
	w.add(texts("a|1", "b|1", "a|2", "a|3", "c|1")...)
	w.add(texts("b|9", "d|1")...)
	w.write()
	require.Equal(t, []string{"a|1", "b|1", "c|1", "d|1"}, d.all("select k, v from i order by k"))
	require.Len(t, w.refused(0), 2)
	require.Equal(t, []string{`0 SINK_UNIQUE  the table has a row with the same key: see the constraint i_pkey`}, w.refused(1))

	w = newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "u", Mode: "upsert", Key: []string{"k"}}, "run 2", columns("k", "v"))
	w.add(texts("a|1", "b|1", "a|2", "b|2", "c|1", "c|bad", "d|bad", "d|1")...)
	w.add(texts("b|3")...)
	w.write()
	require.Equal(t, []string{"a|2|y", "b|3|x", "c|1|x", "d|1|x"}, d.all("select k, v, kept from u order by k"), "columns that are not written stay")
	require.Equal(t, []string{`5 SINK_CHECK  the row does not satisfy the constraint u_v_check`}, w.refused(0), "a row that another one of its part replaces is not tried")
	require.Equal(t, int64(8), w.publish().Rows, "rows that others replaced were taken")

	keys := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "u", Mode: "upsert", Key: []string{"k"}}, "keys alone", columns("k"))
	keys.add(texts("a", "e")...)
	keys.write()
	require.Equal(t, []string{"a|2", "b|3", "c|1", "d|1", "e|null"}, d.all("select k, v from u order by k"))
}

// TestAPartOfWhichEveryRowIsRefused is the worst that a table can do.
func TestAPartOfWhichEveryRowIsRefused(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (k int primary key, v int check (v > 0))")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", columns("k", "v"))
	var all, half []string
	for i := range 400 {
		all = append(all, fmt.Sprintf("%d|0", i))
		half = append(half, fmt.Sprintf("%d|%d", i, i%2))
	}
	w.add(texts(all...)...)
	w.add(texts(half...)...)
	w.write()
	require.Len(t, w.refused(0), 400)
	require.Len(t, w.refused(1), 200)
	require.Equal(t, "200", d.one("select count(*) from t where k % 2 = 1"))
	require.Equal(t, int64(200), w.publish().Rows)
}

func TestWhatIsNotAboutARowIsNotBlamedOnOne(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	for name, c := range map[string]struct{ meanwhile, code, says string }{
		"a column is gone":   {"alter table t drop column v", "TARGET_CHANGED", "put back what the run began with"},
		"the table is gone":  {"drop table t", "TARGET_CHANGED", "put back what the run began with"},
		"the right is gone":  {"revoke insert on t from current_user", "TARGET_REFUSED", "grant select and insert"},
		"the record is gone": {"drop table waymark_parts", "TARGET_CHANGED", "put back what the run began with"},
		"the trigger is broken": {"create function f() returns trigger language plpgsql as $$ begin perform 1 from gone; return new; end $$; create trigger f before insert on t for each row execute function f()",
			"TARGET_CHANGED", "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			d.exec("drop table if exists t, waymark_parts, waymark_outputs; create table t (k text, v text)")
			w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", columns("k", "v"))
			w.add(texts("a|1")...)
			w.open()
			d.exec(c.meanwhile)
			err := w.target.Write(t.Context(), w.parts[0], w.data[0])
			plugintest.RequireCode(t, c.code, err)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// TestOtherTransactionsRejectNoRow: what others do to the transaction, also while a trigger is at work, is no row's fault.
func TestOtherTransactionsRejectNoRow(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(`create table t (k text); create table mood (what text); create table held (k text);
		create function f() returns trigger language plpgsql as $$ declare what text; begin
			select m.what into what from mood m;
			if what is not null then execute what; perform pg_sleep(60); end if;
			return new; end $$;
		create trigger f before insert on t for each row execute function f()`)
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", columns("k"))
	w.add(texts("a", "b")...)
	w.open()
	holder := connect(t, db.DSN())
	holder.exec("begin; lock table held")
	for code, what := range map[string]string{
		"57014": "select pg_cancel_backend(pg_backend_pid())",
		"57P01": "select pg_terminate_backend(pg_backend_pid())",
		"55P03": "lock table held nowait",
	} {
		d.exec("delete from mood; insert into mood values ($1)", pgx.QueryExecModeSimpleProtocol, what)
		err := w.target.Write(t.Context(), w.parts[0], w.data[0])
		require.ErrorContains(t, err, "write part 0: ")
		require.ErrorContains(t, err, "(SQLSTATE "+code+")")
		_, final := errors.AsType[*plugin.TargetError](err)
		require.False(t, final, code)
		require.Equal(t, "0", d.one("select count(*) from t"))
	}
	d.exec("delete from mood")
	require.NoError(t, w.target.Write(t.Context(), w.parts[0], w.data[0]))
	require.Equal(t, "2", d.one("select count(*) from t"))
}

// TestIsAboutRow: a function that raises an error means the row, whatever SQLSTATE it gives it.
func TestIsAboutRow(t *testing.T) {
	for _, code := range []string{"08006", "40001", "40P01", "53100", "55P03", "57014", "58030", "72000", "F0000", "HV000", "XX000"} {
		require.False(t, isAboutRow(&pgconn.PgError{Code: code}), code)
		require.True(t, isAboutRow(&pgconn.PgError{Code: code, Routine: "exec_stmt_raise"}), code)
	}
	for _, code := range []string{"22003", "23505", "44000", "54000", "P0001", "ZX001"} {
		require.True(t, isAboutRow(&pgconn.PgError{Code: code}), code)
	}
}

// TestAColumnThatNoFieldIsWrittenIntoIsNamed: it has no default, and wants a value.
func TestAColumnThatNoFieldIsWrittenIntoIsNamed(t *testing.T) {
	db := pg.New(t)
	connect(t, db.DSN()).exec("create table t (k text, extra int not null)")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", columns("k"))
	w.add(texts("a")...)
	w.write()
	require.Equal(t, []string{"0 SINK_NOT_NULL  the column extra must not be null, and no field is written into it"}, w.refused(0))
}

// TestBytesAreWrittenAsTheyWereRead takes bytes from one table to another, as the text that stands for them in a row.
func TestBytesAreWrittenAsTheyWereRead(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(`create table a (id int primary key, b bytea); insert into a values (1, '\x005cff0a'), (2, ''), (3, '\x5c78'); create table t (b bytea)`)
	records, _, _ := read(t, source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "a"}, pipeline.Schema{}), many, false)
	require.Len(t, records, 3)
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Columns: []string{"b"}}, "run", []plugin.Field{{Name: "b", Kind: row.String}})
	for _, record := range records {
		var read struct{ B string }
		require.NoError(t, json.Unmarshal([]byte(record), &read))
		w.add([]row.Value{row.StringValue(read.B)})
	}
	w.write()
	require.Equal(t, "005cff0a,,5c78", d.one("select string_agg(encode(b, 'hex'), ',') from t"))
}

// TestSettingsOfTheRoleDoNotMatter: what a role, a database or a server sets changes nothing of what is written and on record.
func TestSettingsOfTheRoleDoNotMatter(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (at timestamptz, b bytea, booked timestamptz, due date, took interval, doc xml, said text)")
	d.exec(`create function say() returns trigger language plpgsql as $$ begin
		new.said := concat_ws(' ', new.at, new.took, 1234.5::numeric::money, new.b, (0.1::float8 +
			0.2::float8)::text); return new; end $$;
		create trigger say before insert on t for each row execute function say()`)
	for _, setting := range []string{
		"bytea_output = 'escape'", "DateStyle = 'SQL, DMY'", "TimeZone = 'America/New_York'", "standard_conforming_strings = off", "IntervalStyle = 'sql_standard'",
		"extra_float_digits = -3", "xmloption = 'document'", "array_nulls = off", "transform_null_equals = on",
	} {
		connect(t, db.Superuser()).exec("alter role " + db.Owner() + " set " + setting)
	}
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", columns("at", "b", "booked", "due",
		"took", "doc"))
	w.add(texts(`2001-02-03T04:05:06Z|\x00ff|2026-07-01|2026-02-01|-1 12:00:00|x<a/>`,
		`null|null|null|01/02/2026|null|null`)...)
	w.write()
	w.write()
	require.Equal(t, []string{"1 SINK_TYPE due the column's type does not take the value (SQLSTATE 22008)"},
		w.refused(0))
	require.Equal(t, int64(1), w.publish().Rows)
	require.Equal(t, "2001-02-03 04:05:06 00ff 2026-07-01 00:00:00 2026-02-01 -1 days +12:00:00 x<a/>",
		d.one(`select string_agg(concat_ws(' ', to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
		encode(b, 'hex'), booked at time zone 'UTC', to_char(due, 'YYYY-MM-DD'), took, doc), ',') from t`))
	require.Equal(t, `2001-02-03 04:05:06+00 P-1DT12H $1,234.50 \x00ff 0.30000000000000004`,
		d.one("select said from t"))
}

// TestElementsThatAColumnWouldRound has domains and arrays of them beside a column that keeps all.
func TestElementsThatAColumnWouldRound(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create domain cents as numeric(10,2); create domain prices as cents[]; create table t (id int, price cents, prices prices, text text)")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", columns("id", "price", "prices", "text"))
	w.add(texts("1|1.01|[1.01,null]|1.005", "2|1.005|[]|x", "3|1|[1,1.005]|x", "4|null|null|null")...)
	w.write()
	const why = " the column would round or cut the value: do so in a step, or give it another type"
	require.Equal(t, []string{"1 SINK_INEXACT price" + why, "2 SINK_INEXACT prices" + why}, w.refused(0))
	require.Equal(t, "{1,4}", d.one("select array_agg(id order by id)::text from t"))
	require.Equal(t, int64(2), w.publish().Rows)
}
