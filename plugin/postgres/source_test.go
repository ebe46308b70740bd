package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/tests/services/pg"
)

var many = plugin.Limits{Rows: 1000, Bytes: 1 << 20}

func source(t testing.TB, spec pipeline.PostgresSource, schema pipeline.Schema) plugin.Source {
	t.Helper()
	s, err := NewSource("in", spec, schema, anywhere, nil)
	require.NoError(t, err)
	return s
}

func fields(declared ...string) pipeline.Schema {
	var schema pipeline.Schema
	for i := 0; i < len(declared); i += 2 {
		kind, optional := strings.CutSuffix(declared[i+1], "?")
		schema.Fields = append(schema.Fields, pipeline.Named[pipeline.Field]{Name: declared[i], Value: pipeline.Field{Type: kind, Optional: optional}})
	}
	return schema
}

// read reads all of a source in chunks, opening it anew before each if reopen is set, and returns the records and the digest.
func read(t testing.TB, s plugin.Source, limits plugin.Limits, reopen bool) (records []string, bad []plugin.BadRecord, digest string) {
	t.Helper()
	ctx := t.Context()
	pin, err := s.Stat(ctx)
	require.NoError(t, err)
	r, err := s.Open(ctx, plugin.Cursor{}, pin)
	require.NoError(t, err)
	var c plugin.Chunk
	for {
		at := r.Cursor()
		text, err := json.Marshal(at)
		require.NoError(t, err)
		require.Less(t, len(text), 1024)
		err = r.Next(ctx, limits, &c)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Equal(t, pin.Files[0].Path, c.File)
		require.Equal(t, int64(len(records))+1, c.FirstRow)
		require.Equal(t, c.FirstRow, c.FirstLine)
		require.Equal(t, at.Offset, c.FirstOffset)
		require.LessOrEqual(t, c.Len(), limits.Rows)
		for _, b := range c.Bad {
			b.Index += len(records)
			bad = append(bad, b)
		}
		for i := range c.Len() {
			records = append(records, string(c.Record(i)))
		}
		require.Equal(t, int64(len(records)), r.Cursor().Row)
		if reopen {
			next := r.Cursor()
			require.NoError(t, r.Close())
			r, err = s.Open(ctx, next, pin)
			require.NoError(t, err)
			require.Equal(t, next, r.Cursor())
		}
	}
	digests, err := r.Digests(ctx)
	require.NoError(t, err)
	require.Len(t, digests, 1)
	require.NoError(t, r.Close())
	return records, bad, digests[0]
}

// requireFault requires a *plugin.SourceError with the code and returns its message.
func requireFault(t testing.TB, code string, err error) string {
	t.Helper()
	var fault *plugin.SourceError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, code, fault.Code, "%v", err)
	return fault.Message
}

const unwritable = "UNREPRESENTABLE"

// ownTypes makes the types of everyType that are not Postgres' own.
const ownTypes = `create type mood as enum ('glad', 'sad'); create type pair as (a int, b text); create domain score as numeric check (value >= 0)`

// everyType has values of each type: what Postgres is given, what the record holds, and what of the record is rejected.
var everyType = []struct{ kind, value, want, refused string }{
	{"boolean", "true", `true`, ""},
	{"boolean", "false", `false`, ""},
	{"boolean", "null", `null`, ""},
	{"smallint", "-32768", `-32768`, ""},
	{"integer", "2147483647", `2147483647`, ""},
	{"bigint", "9223372036854775807", `9223372036854775807`, ""},
	{"bigint", "'-9223372036854775808'", `-9223372036854775808`, ""},
	{"numeric(38,10)", "9999999999999999999999999999.0123456789", `9999999999999999999999999999.0123456789`, ""},
	{"numeric", "1.10", `1.10`, ""},
	{"numeric", "-0.000000000000000000000000000001", `-0.000000000000000000000000000001`, ""},
	{"numeric", "1e50", `100000000000000000000000000000000000000000000000000`, ""},
	{"numeric", "'NaN'", `"NaN"`, unwritable},
	{"numeric", "'-Infinity'", `"-Infinity"`, unwritable},
	{"real", "0.1", `0.1`, ""},
	{"real", "16777216", `1.6777216e+07`, ""},
	{"double precision", "0.1", `0.1`, ""},
	{"double precision", "1", `1.0`, ""},
	{"double precision", "'-0'", `-0.0`, ""},
	{"double precision", "1e-320", `1e-320`, ""},
	{"double precision", "1.7976931348623157e308", `1.7976931348623157e+308`, ""},
	{"double precision", "1e20", `1e+20`, ""},
	{"double precision", "'NaN'", `"NaN"`, unwritable},
	{"double precision", "'Infinity'", `"Infinity"`, unwritable},
	{"text", `E'a"b\\\\c\n\t\u00e9\U0001F426'`, `"a\"b\\\\c\n\té🐦"`, ""},
	{"text", "''", `""`, ""},
	{"varchar(3)", "'abc'", `"abc"`, ""},
	{"char(3)", "'a'", `"a  "`, ""},
	{"name", "'n'", `"n"`, ""},
	{"date", "'2001-01-31'", `"2001-01-31"`, ""},
	{"date", "'0001-01-01'", `"0001-01-01"`, ""},
	{"date", "'9999-12-31'", `"9999-12-31"`, ""},
	{"date", "'0044-03-15 BC'", `"0044-03-15 BC"`, unwritable},
	{"date", "'10000-01-01'", `"10000-01-01"`, unwritable},
	{"date", "'infinity'", `"infinity"`, unwritable},
	{"timestamp", "'2001-01-31 23:59:59.5'", `"2001-01-31T23:59:59.5Z"`, ""},
	{"timestamp", "'2001-01-31 00:00:00'", `"2001-01-31T00:00:00Z"`, ""},
	{"timestamp", "'-infinity'", `"-infinity"`, unwritable},
	{"timestamptz", "'2001-01-31 23:59:59.123456+02'", `"2001-01-31T21:59:59.123456Z"`, ""},
	{"timestamptz", "'9999-12-31 23:59:59.999999Z'", `"9999-12-31T23:59:59.999999Z"`, ""},
	{"timestamptz", "'0001-01-01 00:00:00Z BC'", `"0001-01-01 00:00:00+00 BC"`, unwritable},
	{"timestamptz", "'infinity'", `"infinity"`, unwritable},
	{"time", "'23:59:59.5'", `"23:59:59.5"`, ""},
	{"timetz", "'23:59:59+02'", `"23:59:59+02"`, ""},
	{"interval", "'1 year 2 days 03:04:05'", `"P1Y2DT3H4M5S"`, ""},
	{"bytea", `'\x00ff10'`, `"\\x00ff10"`, ""},
	{"bytea", `''`, `"\\x"`, ""},
	{"uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`, ""},
	{"json", `E'{"b":1,\n "a":[1.10]}'`, `{"b":1,  "a":[1.10]}`, ""},
	{"jsonb", `'{"b":1, "a":[1.10,null]}'`, `{"a": [1.10, null], "b": 1}`, ""},
	{"mood", "'sad'", `"sad"`, ""},
	{"score", "1.50", `1.50`, ""},
	{"inet", "'10.0.0.1/8'", `"10.0.0.1/8"`, ""},
	{"int4range", "'[1,5)'", `"[1,5)"`, ""},
	{"pair", `'(1,"a b")'`, `"(1,\"a b\")"`, ""},
	{"money", "1234.5", `"$1,234.50"`, ""},
	{"integer[]", "'{1,NULL,3}'", `[1,null,3]`, ""},
	{"integer[]", "'{}'", `[]`, ""},
	{"integer[]", "'{{1,2},{3,4}}'", `[[1,2],[3,4]]`, ""},
	{"integer[]", "'[2:3]={7,8}'", `[7,8]`, ""},
	{"text[]", `'{a,"b,c","d\"e\\f",NULL,"NULL",""}'`, `["a","b,c","d\"e\\f",null,"NULL",""]`, ""},
	{"boolean[]", "'{t,f}'", `[true,false]`, ""},
	{"double precision[]", "'{1,NaN}'", `"{1,NaN}"`, unwritable},
	{"timestamptz[]", "'{2001-01-31 00:00:00Z}'", `["2001-01-31T00:00:00Z"]`, ""},
	{"jsonb[]", `array['{"a":1}']::jsonb[]`, `[{"a": 1}]`, ""},
	{"mood[]", "'{sad,glad}'", `["sad","glad"]`, ""},
	{"box[]", "'{(1,1),(0,0)}'", `["(1,1),(0,0)"]`, ""},
}

func TestEveryTypeIsReadAsJSONLinesWouldHoldIt(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(ownTypes)
	// What a role or a database sets otherwise must not change a byte.
	d.exec(fmt.Sprintf(`alter role %[1]s set timezone = 'Asia/Tokyo'; alter role %[1]s set datestyle = 'German'; alter role %[1]s set intervalstyle = 'sql_standard';
		alter role %[1]s set extra_float_digits = -3; alter role %[1]s set bytea_output = 'escape'; alter role %[1]s set client_encoding = 'LATIN1'`, db.Owner()))
	cases := everyType
	for from, to := 0, 0; from < len(cases); from = to { // those of one type are rows of one table
		kind, sum := cases[from].kind, sha256.New()
		d.exec("drop table if exists t")
		d.exec(fmt.Sprintf("create table t (id int primary key, v %s)", kind))
		var want []string
		refused, found := map[int]string{}, map[int]string{} // codes of records
		for ; to < len(cases) && cases[to].kind == kind; to++ {
			c, nr := cases[to], to-from
			d.exec(fmt.Sprintf("insert into t values (%d, %s)", nr, c.value))
			want = append(want, fmt.Sprintf(`{"id":%d,"v":%s}`, nr, c.want))
			sum.Write([]byte(want[nr] + "\n"))
			if c.refused != "" {
				refused[nr] = c.refused
			}
		}
		s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "t"}, pipeline.Schema{})
		records, bad, digest := read(t, s, many, false)
		require.Equal(t, want, records, kind)
		require.Equal(t, fmt.Sprintf("%x", sum.Sum(nil)), digest, kind)
		for _, b := range bad {
			require.Equal(t, "v", b.Field, kind)
			found[b.Index] = b.Code
		}
		require.Len(t, bad, len(refused), kind)
		require.Equal(t, refused, found, kind)
		parser, err := s.Parser(nil)
		require.NoError(t, err)
		for nr, record := range records {
			if refused[nr] == "" {
				_, err = parser.Parse(record, nil)
				require.NoError(t, err, record)
			}
		}
	}
}

// TestAStringHoldsWhateverTheDatabaseSays: who declares a field as string loses nothing, and nothing is rejected.
func TestAStringHoldsWhateverTheDatabaseSays(t *testing.T) {
	db := pg.New(t)
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), OrderBy: []string{"a"}, Query: `
		select 1 as a, true as b, 1.50 as c, 'NaN'::float8 as d, 'infinity'::date as e, '2001-01-31 10:00+00'::timestamptz as f, '{"x": 1}'::jsonb as g, '{1,2}'::int[] as h;
	`}, fields("a", "string", "b", "string", "c", "string", "d", "string", "e", "string", "f", "string", "g", "string", "h", "string"))
	records, bad, _ := read(t, s, many, false)
	require.Empty(t, bad)
	require.Equal(t, []string{`{"a":"1","b":"true","c":"1.50","d":"NaN","e":"infinity","f":"2001-01-31T10:00:00Z","g":"{\"x\": 1}","h":"[1,2]"}`}, records)
}

func TestKeyOrderAndDeclaredColumns(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(`create schema "Old Stuff"; create table "Old Stuff"."t able" (b int, a int, "Name" text, secret text, primary key (a, b))`)
	d.exec(`insert into "Old Stuff"."t able" values (2, 1, 'x', 's'), (1, 2, 'y', 's'), (1, 1, 'z', 's')`)
	schema := fields("name", "string", "b", "int", "none", "int?")
	schema.Fields[0].Value.From = "Name"
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "Old Stuff.t able"}, schema)
	records, _, _ := read(t, s, many, false)
	require.Equal(t, []string{`{"Name":"z","b":1}`, `{"Name":"x","b":2}`, `{"Name":"y","b":1}`}, records)
	parser, err := s.Parser(nil)
	require.NoError(t, err)
	parsed, err := parser.Parse(records[0], nil)
	require.NoError(t, err)
	require.Equal(t, `{"name":"z","b":1,"none":null}`, string(row.AppendJSON(nil, parsed)))

	other := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "Old Stuff.t able", OrderBy: []string{"Name"}}, schema)
	records, _, _ = read(t, other, many, false)
	require.Equal(t, []string{`{"Name":"x","b":2}`, `{"Name":"y","b":1}`, `{"Name":"z","b":1}`}, records)
}

func TestReadingGoesOnWhereItWasInterrupted(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (id int primary key, v float8, name text)")
	d.exec("insert into t select i, case when i % 7 = 3 then 'NaN'::float8 else i end, repeat('x', i % 50) from generate_series(1, 5000) i")
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "t"}, pipeline.Schema{})
	records, bad, digest := read(t, s, plugin.Limits{Rows: 777, Bytes: 20_000}, false)
	require.Len(t, records, 5000)
	require.Len(t, bad, 714)
	again, badAgain, digestAgain := read(t, s, plugin.Limits{Rows: 777, Bytes: 20_000}, true)
	require.Equal(t, records, again)
	require.Equal(t, bad, badAgain)
	require.Equal(t, digest, digestAgain)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(records, "\n")+"\n"))), digest)
}

func TestARunSeesOneSnapshot(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (id int primary key, v int)")
	d.exec("insert into t select i, 0 from generate_series(1, 100) i")
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "t"}, pipeline.Schema{})
	ctx := t.Context()
	pin, err := s.Stat(ctx)
	require.NoError(t, err)
	r, err := s.Open(ctx, plugin.Cursor{}, pin)
	require.NoError(t, err)
	var c plugin.Chunk
	require.NoError(t, r.Next(ctx, plugin.Limits{Rows: 40, Bytes: 1 << 20}, &c))
	at := r.Cursor()

	d.exec("update t set v = 1; delete from t where id = 100; insert into t values (0, 0), (101, 0)")
	require.NoError(t, r.Next(ctx, many, &c))
	require.Equal(t, 60, c.Len(), "the snapshot does not see what came after it")
	require.Equal(t, `{"id":100,"v":0}`, string(c.Record(59)))
	require.NoError(t, r.Close())

	_, err = s.Open(ctx, at, pin)
	require.Equal(t, "rows that were read before the run was interrupted, the first 40, are not the same any more: "+
		"start over with waymark resume --fork",
		requireFault(t, "SOURCE_CHANGED", err))

	d.exec("update t set v = 0; delete from t where id = 0")
	r, err = s.Open(ctx, at, pin)
	require.NoError(t, err, "the rows that were read are there again, and the rest is that of the new snapshot")
	require.NoError(t, r.Next(ctx, many, &c))
	require.Equal(t, 60, c.Len())
	require.Equal(t, `{"id":101,"v":0}`, string(c.Record(59)))
	require.NoError(t, r.Close())

	d.exec("delete from t where id > 20")
	_, err = s.Open(ctx, at, pin)
	requireFault(t, "SOURCE_CHANGED", err)
}

func TestOtherColumnsAreAnotherSource(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (id int primary key, v numeric(10,2))")
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "t"}, pipeline.Schema{})
	pin, err := s.Stat(t.Context())
	require.NoError(t, err)
	require.Equal(t, "postgres://"+db.Address()+"/"+db.Owner()+"/public.t", pin.Files[0].Path)
	for _, change := range []string{
		"alter table t alter v type numeric(10,3)", "alter table t alter v type text", "alter table t add w int",
	} {
		d.exec(change)
		_, err = s.Open(t.Context(), plugin.Cursor{}, pin)
		requireFault(t, "SOURCE_CHANGED", err)
	}
	d.exec("drop table t; create table t (id int primary key, v numeric(10,2))")
	r, err := s.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	var c plugin.Chunk
	require.Equal(t, io.EOF, r.Next(t.Context(), many, &c))
	digests, err := r.Digests(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("%x", sha256.Sum256(nil))}, digests)
	require.NoError(t, r.Close())
}

func TestWhatCannotBeReadSaysWhyAndTheCure(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table keyless (a int, b int); insert into keyless values (1, 1), (1, 2), (2, null), (3, null)")
	d.exec("create sequence numbers; create view seen as select * from keyless; create table hidden (id int primary key); revoke all on hidden from current_user")
	read := func(spec pipeline.PostgresSource, schema pipeline.Schema) error {
		if spec.DSN == "" {
			spec.DSN = db.DSN()
		}
		s := source(t, spec, schema)
		pin, err := s.Stat(t.Context())
		if err != nil {
			return err
		}
		r, err := s.Open(t.Context(), plugin.Cursor{}, pin)
		if err != nil {
			return err
		}
		defer r.Close()
		var c plugin.Chunk
		return r.Next(t.Context(), many, &c)
	}
	by := func(columns ...string) []string { return columns }
	for _, c := range []struct {
		name   string
		spec   pipeline.PostgresSource
		schema pipeline.Schema
		code   string
		says   string
	}{
		{"no table", pipeline.PostgresSource{Table: "gone"}, pipeline.Schema{}, "NOT_FOUND", "check schema and name"},
		{"no schema", pipeline.PostgresSource{Table: "gone.t"}, pipeline.Schema{}, "NOT_FOUND", "check schema and name"},
		{"an injection", pipeline.PostgresSource{Table: `keyless"; drop table keyless; --`}, pipeline.Schema{}, "NOT_FOUND", "check schema and name"},
		{"no key", pipeline.PostgresSource{Table: "keyless"}, pipeline.Schema{}, "NO_ORDER", "the table has no primary key: give order_by"},
		{"a view", pipeline.PostgresSource{Table: "seen"}, pipeline.Schema{}, "NO_ORDER", "give order_by"},
		{"two rows alike", pipeline.PostgresSource{Table: "keyless", OrderBy: by("a")}, pipeline.Schema{}, "ORDER_NOT_UNIQUE", "the rows 1 and 2 are alike in the columns that put them in order, a: add a column"},
		{"two nulls", pipeline.PostgresSource{Table: "keyless", OrderBy: by("b")}, pipeline.Schema{}, "ORDER_NOT_UNIQUE", "the rows 3 and 4 are alike"},
		{"an order by nothing", pipeline.PostgresSource{Table: "keyless", OrderBy: by("a", "c")}, pipeline.Schema{}, "HEADER_MISMATCH", `no column "c" to order by; the columns are a, b`},
		{"a field without a column", pipeline.PostgresSource{Table: "keyless", OrderBy: by("a", "b")}, fields("a", "int", "x", "int"), "HEADER_MISMATCH", `there is no column "x" for the field x; the columns are a, b`},
		{"two columns of one name", pipeline.PostgresSource{Query: "select 1 as a, 2 as a", OrderBy: by("a")}, pipeline.Schema{}, "HEADER_COLLISION", `two columns are called "a"`},
		{"no right", pipeline.PostgresSource{Table: "hidden"}, pipeline.Schema{}, "NO_PERMISSION", "permission denied for table hidden (SQLSTATE 42501): let the role read there, with grant select"},
		{"no SQL", pipeline.PostgresSource{Query: "selec 1", OrderBy: by("a")}, pipeline.Schema{}, "QUERY_REFUSED", "mend the query"},
		{"two statements", pipeline.PostgresSource{Query: "select 1 as a) as x; drop table keyless; select (1", OrderBy: by("a")}, pipeline.Schema{}, "QUERY_REFUSED", "mend the query"},
		{"a query that writes", pipeline.PostgresSource{Query: "with x as (delete from keyless returning a) select a from x", OrderBy: by("a")}, pipeline.Schema{}, "QUERY_REFUSED", "it may only read"},
		{"a query that counts", pipeline.PostgresSource{Query: "select nextval('numbers') as a", OrderBy: by("a")}, pipeline.Schema{}, "QUERY_REFUSED", "it may only read"},
		{"a query that fails on a value", pipeline.PostgresSource{Query: "select 'geheim'::text::int as a", OrderBy: by("a")}, pipeline.Schema{}, "QUERY_REFUSED", "the query fails with SQLSTATE 22P02 on a value: mend it"},
		{"a wrong password", pipeline.PostgresSource{DSN: strings.Replace(db.DSN(), db.Password(), "wrong-password", 1), Table: "keyless"}, pipeline.Schema{}, "NO_PERMISSION", "the server refuses the login (SQLSTATE 28P01): check user and password"},
		{"no encryption", pipeline.PostgresSource{DSN: db.DSN() + "&sslmode=require", Table: "keyless"},
			pipeline.Schema{}, "NO_PERMISSION", "server refused TLS connection: check sslmode and sslrootcert in " +
				"the dsn"},
		{"no database", pipeline.PostgresSource{DSN: strings.Replace(db.DSN(), "/"+db.Owner()+"?", "/gone?", 1), Table: "keyless"}, pipeline.Schema{}, "NOT_FOUND", "check the name of the database"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := read(c.spec, c.schema)
			require.Contains(t, requireFault(t, c.code, err), c.says)
			for _, secret := range []string{db.Password(), "wrong-password", "geheim"} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
	require.Equal(t, "4", d.one("select count(*) from keyless"))

	var final *plugin.SourceError
	err := read(pipeline.PostgresSource{DSN: "postgres://u:canary-secret@127.0.0.1:1/d?sslmode=disable", Table: "t"}, pipeline.Schema{})
	require.False(t, errors.As(err, &final), "a service that is away comes back")
	require.Equal(t, "source in: postgres://127.0.0.1:1/d: connect: connection refused: check that Postgres runs there, that the address is right, and that the network lets this machine through", err.Error())
	err = read(pipeline.PostgresSource{DSN: "postgres://u:canary-secret@no-such-host.invalid/d?sslmode=disable", Table: "t"}, pipeline.Schema{})
	require.Equal(t, "source in: postgres://no-such-host.invalid:5432/d: connect: the host's name is not known: check the address", err.Error())
}

func TestADSNThatIsNoneTellsNothingOfIt(t *testing.T) {
	for _, dsn := range []string{"postgres://u:canary/secret@h/d", "canary secret", "host=h port=canary", "postgres://u:canary%zz@h/d", "postgres://u:one@canary/two@h/d", "host=h sslrootcert=/canary sslmode=verify-full"} {
		_, err := NewSource("in", pipeline.PostgresSource{DSN: dsn, Table: "t"}, pipeline.Schema{}, anywhere, nil)
		require.ErrorContains(t, err, "sources.in: postgres.dsn: this is no address of a Postgres database", dsn)
		_, err2 := NewSink("out", pipeline.PostgresSink{DSN: dsn, Table: "t"}, anywhere)
		require.ErrorContains(t, err2, "sinks.out: postgres.dsn: this is no address of a Postgres database", dsn)
		require.NotContains(t, err.Error()+err2.Error(), "canary")
	}
}

func TestValuesThatAreTooLongAreNotBroughtHere(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (id int primary key, v text, b bytea)")
	d.exec("insert into t values (1, 'a', null), (2, repeat('ä', 10 << 20), null), (3, null, decode(repeat('ff', 5 << 20), 'hex')), (4, 'b', '')")
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "t"}, pipeline.Schema{})
	records, bad, _ := read(t, s, many, true)
	require.Len(t, records, 4)
	require.Equal(t, `{"id":1,"v":"a","b":null}`, records[0])
	require.Equal(t, `{"id":4,"v":"b","b":"\\x"}`, records[3])
	require.Len(t, bad, 2)
	for i, b := range bad {
		require.Equal(t, i+1, b.Index)
		require.Equal(t, plugin.RowTooLarge, b.Code)
		require.LessOrEqual(t, len(records[b.Index]), keptBytes)
		require.Greater(t, len(records[b.Index]), keptBytes/4)
	}
	require.Contains(t, bad[0].Message, "the row has about 20971520 bytes, more than 4194304")
}

// TestAReaderAsksForMoreAndMore: how long rows are is not known before, and memory must not depend on it.
func TestAReaderAsksForMoreAndMore(t *testing.T) {
	db := pg.New(t)
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Query: "select i as a, repeat('x', case when i < 5000 then 1 else 100000 end) as b from generate_series(1, 5400) i", OrderBy: []string{"a"}}, pipeline.Schema{})
	pin, err := s.Stat(t.Context())
	require.NoError(t, err)
	opened, err := s.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	r := opened.(*reader)
	var asked []int
	for !r.bottom {
		asked = append(asked, r.rows)
		require.NoError(t, r.fetch(t.Context()))
	}
	require.Equal(t, []int{16, 128, 1024, 2000, 2000}, asked[:5], "short rows")
	require.Less(t, asked[len(asked)-1], 60, "long rows")
	require.True(t, r.conn.IsClosed(), "who has read all keeps no snapshot")
	require.NoError(t, r.Close())
}

func TestAReaderThatIsCancelledSaysSo(t *testing.T) {
	db := pg.New(t)
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Query: "select i as a from generate_series(1, 100000) i", OrderBy: []string{"a"}}, pipeline.Schema{})
	pin, err := s.Stat(t.Context())
	require.NoError(t, err)
	r, err := s.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var c plugin.Chunk
	require.NoError(t, r.Next(ctx, plugin.Limits{Rows: 10, Bytes: 1 << 20}, &c))
	cancel()
	require.ErrorIs(t, r.Next(ctx, plugin.Limits{Rows: 10_000, Bytes: 1 << 20}, &c), context.Canceled)
	require.NoError(t, r.Close())
}

func TestASourceThatIsRestartedIsAWorldThatFails(t *testing.T) {
	server := pg.Private(t)
	db := server.Database(t)
	d := connect(t, db.DSN())
	d.exec("create table t as select i as id from generate_series(1, 10000) i; alter table t add primary key (id)")
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "t"}, pipeline.Schema{})
	pin, err := s.Stat(t.Context())
	require.NoError(t, err)
	r, err := s.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	var c plugin.Chunk
	require.NoError(t, r.Next(t.Context(), plugin.Limits{Rows: 16, Bytes: 1 << 20}, &c))
	at := r.Cursor()
	server.Restart(t, true)
	err = r.Next(t.Context(), many, &c)
	require.Error(t, err)
	var final *plugin.SourceError
	require.False(t, errors.As(err, &final), "%v", err)
	require.NoError(t, r.Close())
	r, err = s.Open(t.Context(), at, pin)
	require.NoError(t, err)
	require.NoError(t, r.Next(t.Context(), many, &c))
	require.Equal(t, `{"id":17}`, string(c.Record(0)))
	require.NoError(t, r.Close())
}
