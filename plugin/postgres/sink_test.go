package postgres

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/plugintest"
	"waymark/tests/services/pg"
)

func typed(t testing.TB, kind row.Kind, text string) row.Value {
	t.Helper()
	v, err := row.Parse(kind, text)
	require.NoError(t, err)
	return v
}

// everyKind are fields of every kind, and rows with their extremes and with nulls.
func everyKind(t testing.TB) (columns []plugin.Field, rows [][]row.Value) {
	kinds := []row.Kind{row.String, row.Int, row.Float, row.Bool, row.Date, row.Timestamp, row.Decimal, row.JSON}
	columns = []plugin.Field{{Name: "id", Kind: row.Int}}
	texts := [][]string{
		{"a\tb\nc\\d\r\b\f\vé🐦\\N\\.", "9223372036854775807", "5e-324", "true", "0001-01-01", "0001-01-01T00:00:00Z", "0.0000000000000000000000000000000000000001", `{"a":"x\\y\u0001","b":[1.10,null]}`},
		{"", "-9223372036854775808", "1.7976931348623157e+308", "false", "9999-12-31", "9999-12-31T23:59:59.999999Z", "-99999999999999999999999999999999999999.5", `[]`},
		{`\N`, "0", "-0.0", "true", "2001-01-31", "2001-01-31T23:59:59.5Z", "1.10", `"text"`},
	}
	for _, kind := range kinds {
		columns = append(columns, plugin.Field{Name: kind.String(), Kind: kind, Optional: true})
	}
	for i, line := range texts {
		values := []row.Value{row.IntValue(int64(i))}
		for j, text := range line {
			values = append(values, typed(t, kinds[j], text))
		}
		rows = append(rows, values)
	}
	nulls := make([]row.Value, len(kinds)+1)
	nulls[0] = row.IntValue(3)
	return columns, append(rows, nulls)
}

func TestEveryValueComesBackAsItWasWritten(t *testing.T) {
	db := pg.New(t)
	columns, rows := everyKind(t)
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "made", Create: true, Key: []string{"id"}}, "run", columns)
	w.add(rows...)
	w.write()
	w.publish()
	d := connect(t, db.DSN())
	found, err := w.target.(plugin.Attester).Attest(t.Context(), (&attestedTable{}).written(w))
	require.NoError(t, err)
	require.Empty(t, found.Findings, "every value is found to be as it was written")
	require.EqualValues(t, len(rows), found.Equal)
	require.Equal(t, []string{
		"id|bigint|NO", "string|text|YES", "int|bigint|YES", "float|double precision|YES", "bool|boolean|YES", "date|date|YES",
		"timestamp|timestamp with time zone|YES", "decimal|numeric|YES", "json|json|YES",
	}, d.all("select column_name, data_type, is_nullable from information_schema.columns where table_name = 'made' order by ordinal_position"))

	schema := fields("id", "int")
	for _, c := range columns[1:] {
		schema.Fields = append(schema.Fields, fields(c.Name, c.Kind.String()+"?").Fields...)
	}
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "made"}, schema)
	records, bad, _ := read(t, s, many, false)
	require.Empty(t, bad)
	require.Len(t, records, len(rows))
	parser, err := s.Parser(nil)
	require.NoError(t, err)
	for i, record := range records {
		parsed, err := parser.Parse(record, nil)
		require.NoError(t, err)
		require.Equal(t, string(row.AppendCanonical(nil, row.Row{Shape: w.shape, Values: rows[i]})), string(row.AppendCanonical(nil, parsed)))
	}
}

func TestEncoder(t *testing.T) {
	sink, err := newSink("out", pipeline.PostgresSink{DSN: "host=h", Table: "t", Mode: pipeline.UpsertMode, Key: []string{"a"}}, anywhere)
	require.NoError(t, err)
	both := row.NewShape([]string{"b", "a"})
	value := func(a, b row.Value) row.Row { return row.Row{Shape: both, Values: []row.Value{b, a}} }
	one, text := row.IntValue(1), row.StringValue
	plugintest.TestEncoder(t, func() plugin.Encoder {
		e, err := sink.TypedEncoder([]plugin.Field{{Name: "a", Kind: row.Int}, {Name: "b", Kind: row.String, Optional: true}}, false)
		require.NoError(t, err)
		return e
	}, []row.Row{
		value(one, text("x")), value(one, text("\\.")), value(one, row.NullValue()), value(one, text("")), value(one, text(`\N`)),
		{Shape: row.NewShape([]string{"a"}), Values: []row.Value{one}},
	}, []row.Row{
		value(one, text("a\x00b")), value(row.NullValue(), text("x")), value(one, row.TimestampValue(0, 1001)),
		{Shape: row.NewShape([]string{"a", "c"}), Values: []row.Value{one, one}},
	})
	encoder, err := sink.TypedEncoder([]plugin.Field{{Name: "a", Kind: row.Int}, {Name: "b", Kind: row.String, Optional: true}}, false)
	require.NoError(t, err)
	require.Equal(t, `{"mode":"upsert","columns":[{"name":"a","type":"int","not_null":true},{"name":"b","type":"string"}],"key":["a"]}`+"\n", string(encoder.Header()))
	line, err := encoder.Append(nil, value(one, text("x\ty")))
	require.NoError(t, err)
	require.Equal(t, "1\tx\\ty\n", string(line))
	for want, r := range map[string]row.Row{
		"NUL_CHARACTER: b": value(one, text("a\x00b")), "SINK_NOT_NULL: a": value(row.NullValue(), text("x")),
		`NANOSECONDS: b: "1970-01-01T00:00:00.000001001Z"`: value(one, row.TimestampValue(0, 1001)),
		"EXTRA_FIELD: c": {Shape: row.NewShape([]string{"a", "c"}), Values: []row.Value{one, one}},
	} {
		_, err = encoder.Append(nil, r)
		require.ErrorContains(t, err, want)
	}
}

func TestEncodersThatCannotBe(t *testing.T) {
	long := strings.Repeat("ä", 32)
	known := plugin.Field{Name: "a", Kind: row.Int}
	for _, c := range []struct {
		spec   pipeline.PostgresSink
		fields []plugin.Field
		open   bool
		says   string
	}{
		{pipeline.PostgresSink{}, nil, false, "rows have no fields to write"},
		{pipeline.PostgresSink{}, []plugin.Field{known}, true, "rows may carry fields that are not declared, and a table has fixed columns: list them in columns"},
		{pipeline.PostgresSink{Columns: []string{"b"}}, []plugin.Field{known}, false, `columns: rows have no field "b"; they have a`},
		{pipeline.PostgresSink{}, []plugin.Field{{Name: long}}, false, "has a name of 64 bytes, and a column's has at most 63: rename it in a step"},
		{pipeline.PostgresSink{}, []plugin.Field{{Name: "a\x00"}}, false, "cannot name a column"},
		{pipeline.PostgresSink{Mode: pipeline.UpsertMode, Key: []string{"b"}}, []plugin.Field{known}, false, `key: rows have no field "b"; they have a`},
		{pipeline.PostgresSink{Create: true, Columns: []string{"b"}}, nil, true, `create: nobody knows the type of "b": declare the field`},
	} {
		c.spec.DSN, c.spec.Table = "host=h", "t"
		sink, err := newSink("out", c.spec, anywhere)
		require.NoError(t, err)
		_, err = sink.TypedEncoder(c.fields, c.open)
		require.ErrorContains(t, err, "sinks.out: postgres: ")
		require.ErrorContains(t, err, c.says)
	}
	for _, table := range []string{"waymark_parts", "dw.waymark_outputs"} {
		_, err := NewSink("out", pipeline.PostgresSink{DSN: "host=h", Table: table}, anywhere)
		require.ErrorContains(t, err, "is where Waymark keeps its record")
	}
}

func TestASinkSaysWhatItPromises(t *testing.T) {
	sink, err := NewSink("out", pipeline.PostgresSink{DSN: "postgres://u:pw@h:5433/d", Table: "dw.t", Mode: pipeline.UpsertMode, Key: []string{"id"}}, anywhere)
	require.NoError(t, err)
	require.Equal(t, "postgres://h:5433/d/dw.t", sink.Location())
	require.Equal(t, plugin.Transactional, sink.Guarantee())
	require.Equal(t, pipeline.WritesIO, sink.Determinism())
	require.True(t, sink.(plugin.InOrder).InOrder())
	sink, err = NewSink("out", pipeline.PostgresSink{DSN: "host=a,b port=1,2 dbname=d", Table: "t"}, anywhere)
	require.NoError(t, err)
	require.Equal(t, "postgres://a:1,b:2/d/public.t", sink.Location())
	require.False(t, sink.(plugin.InOrder).InOrder())
}

// TestExclusive: rows that are inserted take the place of none, and several runs may insert some.
func TestExclusive(t *testing.T) {
	for mode, want := range map[string]string{
		"": "", pipeline.InsertMode: "", pipeline.UpsertMode: "postgres://h:5432/d/public.t",
	} {
		sink, err := NewSink("out", pipeline.PostgresSink{DSN: "postgres://u:pw@h/d", Table: "t", Mode: mode, Key: []string{"id"}}, anywhere)
		require.NoError(t, err)
		require.Equal(t, want, sink.Exclusive(), mode)
	}
}

// newTable returns what makes tables for the contract of tables, each in a schema of its own.
func newTable(t *testing.T, mode string) func(t *testing.T) plugintest.Table {
	db := pg.New(t)
	schemas := 0
	return func(t *testing.T) plugintest.Table {
		d := connect(t, db.DSN())
		schemas++
		schema := fmt.Sprintf("s%d", schemas)
		d.exec(fmt.Sprintf("create schema %s; create table %[1]s.t (a text primary key, b text check (b <> 'refused'))", schema))
		spec := pipeline.PostgresSink{DSN: db.DSN(), Table: schema + ".t", Mode: mode}
		if mode == pipeline.UpsertMode {
			spec.Key = []string{"a"}
		}
		sink, err := newSink("out", spec, anywhere)
		require.NoError(t, err)
		encoder, err := sink.Encoder([]string{"a", "b"}, false)
		require.NoError(t, err)
		return plugintest.Table{
			Header: string(encoder.Header()),
			Target: func(run string) plugin.Target { return sink.Target(run) },
			Rows:   func() []string { return d.all(fmt.Sprintf("select a, b from %s.t order by a", schema)) },
			Line:   func(a, b string) string { return a + "\t" + b + "\n" },
			Refuse: "refused",
		}
	}
}

func TestInsertTarget(t *testing.T) { plugintest.TestTable(t, newTable(t, pipeline.InsertMode)) }
func TestUpsertTarget(t *testing.T) { plugintest.TestTable(t, newTable(t, pipeline.UpsertMode)) }

func TestUnwritableTableSaysCure(t *testing.T) {
	db := pg.New(t)
	super := connect(t, db.Superuser())
	d := connect(t, db.DSN())
	d.exec(`create table t (a int, b int); create unique index on t (a) where b > 0; create view seen as select * from t;
		create unlogged table forgets (a int, b int); create table computes (a int, b int generated always as (a + 1) stored)`)
	d.exec(`create table mine (a int, b int); revoke insert on mine from current_user`)
	d.exec(`create schema lands; create table lands.goose_db_version (v int); create table lands.effects (v int); create table lands.runs (a int, b int)`)
	d.exec(`create schema other; create table other.t (a int, b int)`)
	super.exec("alter schema other owner to postgres; grant usage on schema other to " + db.Owner())
	key := []string{"a"}
	for _, c := range []struct {
		name string
		spec pipeline.PostgresSink
		code string
		says string
	}{
		{"no table", pipeline.PostgresSink{Table: "gone"}, "TARGET_REFUSED", "there is no such table: make it, or set create: true"},
		{"no schema", pipeline.PostgresSink{Table: "gone.t", Create: true}, "TARGET_REFUSED", `there is no such schema: create schema "gone"`},
		{"a view", pipeline.PostgresSink{Table: "seen"}, "TARGET_REFUSED", "this is a view or a foreign table"},
		{"an unlogged table", pipeline.PostgresSink{Table: "forgets"}, "TARGET_REFUSED", `alter table "public"."forgets" set logged`},
		{"a computed column", pipeline.PostgresSink{Table: "computes"}, "TARGET_REFUSED", `the table computes its column "b"`},
		{"a missing column", pipeline.PostgresSink{Table: "t", Columns: []string{"a", "c"}}, "TARGET_REFUSED", `the table has no column "c"; it has a, b`},
		{"no index for the key", pipeline.PostgresSink{Table: "t", Mode: "upsert", Key: key}, "TARGET_REFUSED", `create unique index on "public"."t" ("a")`},
		{"no right to insert", pipeline.PostgresSink{Table: "mine"}, "TARGET_REFUSED", `the role may not insert the column "a": grant insert on "public"."mine" to it`},
		{"a landscape", pipeline.PostgresSink{Table: "lands.runs"}, "TARGET_REFUSED", "the schema lands holds a landscape"},
		{"no right to make the record", pipeline.PostgresSink{Table: "other.t"}, "TARGET_REFUSED", `create table if not exists "other"."waymark_outputs"`},
		{"no right to create", pipeline.PostgresSink{Table: "other.u", Create: true}, "TARGET_REFUSED", "permission denied for schema other (SQLSTATE 42501)"},
		{"a wrong password", pipeline.PostgresSink{Table: "t", DSN: strings.Replace(db.DSN(), db.Password(), "wrong-password", 1)}, "TARGET_REFUSED", "check user and password"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.spec.DSN == "" {
				c.spec.DSN = db.DSN()
			}
			sink, err := newSink("out", c.spec, anywhere)
			require.NoError(t, err)
			encoder, err := sink.TypedEncoder([]plugin.Field{{Name: "a", Kind: row.Int}, {Name: "b", Kind: row.Int}, {Name: "c", Kind: row.Int}}[:2+len(c.spec.Columns)/2], false)
			require.NoError(t, err)
			_, err = sink.Target("run").Open(t.Context(), encoder.Header())
			plugintest.RequireCode(t, c.code, err)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), db.Password())
			require.NotContains(t, err.Error(), "wrong-password")
		})
	}
	require.Empty(t, d.all("select 1 from pg_class where relname like 'waymark%'"), "a place that was refused is left alone")

	away, err := NewSink("out", pipeline.PostgresSink{DSN: "postgres://u:canary-secret@127.0.0.1:1/d?sslmode=disable", Table: "t"}, anywhere)
	require.NoError(t, err)
	_, err = away.Target("run").Open(t.Context(), []byte(`{"columns":[{"name":"a"}]}`))
	require.EqualError(t, err, "postgres://127.0.0.1:1/d: make the table ready: connection refused: check that Postgres runs there, that the address is right, and that the network lets this machine through")
}

// TestWhatTheRoleNeeds is the minimum that docs/postgres.md names.
func TestWhatTheRoleNeeds(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.Superuser())
	d.exec(`create schema dw; create table dw.t (a int primary key, b int); ` + ledger{"dw"}.definition())
	d.exec(fmt.Sprintf(`grant usage on schema dw to %[1]s; grant insert on dw.t to %[1]s;
		grant select, insert, update, delete on dw.waymark_outputs, dw.waymark_parts to %[1]s`, db.Owner()))
	columns := []plugin.Field{{Name: "a", Kind: row.Int}, {Name: "b", Kind: row.Int}}
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "dw.t"}, "run", columns)
	w.add([]row.Value{row.IntValue(1), row.IntValue(1)}, []row.Value{row.IntValue(1), row.IntValue(2)})
	w.write()
	require.Len(t, w.refused(0), 1)
	w.publish()

	d.exec(fmt.Sprintf("grant select, update on dw.t to %s", db.Owner()))
	w = newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "dw.t", Mode: "upsert", Key: []string{"a"}}, "run 2", columns)
	w.add([]row.Value{row.IntValue(1), row.IntValue(3)})
	w.write()
	w.publish()
	require.Equal(t, "1|3", d.one("select a, b from dw.t"))
}

func TestHostileNamesAreNames(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table victim (a int)")
	for _, name := range []string{
		`x; DROP TABLE victim--`, `x"; drop table victim; --`, `"`, `""`, `'`, `\`, `select`, `a b`, "tab\tnl\n", strings.Repeat("ä", 31) + "x", `%s`, `$1`, `COPY t, line 7, column a`, `é🐦`, `A`,
	} {
		table := name
		if strings.Contains(table, ".") {
			continue
		}
		column := plugin.Field{Name: name, Kind: row.Int}
		spec := pipeline.PostgresSink{DSN: db.DSN(), Table: table, Create: true, Key: []string{name}}
		w := newWriter(t, spec, "run "+name, []plugin.Field{column, {Name: "v", Kind: row.String, Optional: true}})
		w.add([]row.Value{row.IntValue(1), row.StringValue(`'); DROP TABLE victim; --`)}, []row.Value{row.IntValue(1), row.NullValue()})
		w.write()
		require.Equal(t, []string{`1 SINK_UNIQUE  the table has a row with the same key: see the constraint ` + nameOf(d.one("select conname from pg_constraint where conrelid = $1::regclass and contype = 'p'", quoted(table)))}, w.refused(0), name)
		w.publish()
		spec.Mode = pipeline.UpsertMode
		w = newWriter(t, spec, "run again "+name, []plugin.Field{column, {Name: "v", Kind: row.String, Optional: true}})
		w.add([]row.Value{row.IntValue(1), row.StringValue(`new`)}, []row.Value{row.IntValue(2), row.NullValue()})
		w.write()
		w.publish()
		s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: table}, pipeline.Schema{})
		records, _, _ := read(t, s, many, false)
		require.Len(t, records, 2, name)
		require.Contains(t, records[0], `"v":"new"`)
	}
	require.Equal(t, "0", d.one("select count(*) from victim"))
}

func TestTwoSinksOfARunDoNotShareATable(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (a int)")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", []plugin.Field{{Name: "a", Kind: row.Int}})
	w.open()
	second, err := newSink("second", pipeline.PostgresSink{DSN: strings.Replace(db.DSN(), "127.0.0.1", "localhost", 1), Table: "public.t"}, anywhere)
	require.NoError(t, err)
	_, err = second.Target("run").Open(t.Context(), w.encoder.Header())
	plugintest.RequireCode(t, "TARGET_REFUSED", err)
	require.ErrorContains(t, err, "the sink out writes into the same table")
	_, err = second.Target("another run").Open(t.Context(), w.encoder.Header())
	require.NoError(t, err, "runs share tables")
}

func TestManyRunsMakeOneTable(t *testing.T) {
	db := pg.New(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			sink, err := newSink("out", pipeline.PostgresSink{DSN: db.DSN(), Table: "made", Create: true}, anywhere)
			if err != nil {
				t.Error(err)
				return
			}
			encoder, err := sink.TypedEncoder([]plugin.Field{{Name: "a", Kind: row.Int}}, false)
			if err != nil {
				t.Error(err)
				return
			}
			if made, err := sink.Target(fmt.Sprint(i)).Open(t.Context(), encoder.Header()); err != nil || !made {
				t.Error(made, err)
			}
		})
	}
	group.Wait()
}
