package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

const onRecord = "the password is recorded, as all that the document and its parameters say: write ${secret:NAME} in its place"

// fromTable returns a document whose source is a table.
func fromTable(options string) string {
	return "name: x\nsources: {in: {postgres: {" + options + "}}}\nsinks: {out: {csv: {path: out.csv}}}\n"
}

// intoTable returns a document whose sink is a table.
func intoTable(options string) string {
	return "name: x\nsources: {in: {csv: {path: in.csv}}}\nsinks: {out: {postgres: {" + options + "}}}\n"
}

func TestProblemsOfPostgresSources(t *testing.T) {
	const at = "x.yaml:2:16: sources.in.postgres: "
	runProblemCases(t, []problemCase{
		{"no database", fromTable("table: a"), at + `the key "dsn" is missing`},
		{"neither table nor query", fromTable("dsn: host=a"), at + "has no rows: give it a table or a query"},
		{"both", fromTable("dsn: host=a, table: a, query: select 1, order_by: [a]"), at + "has a table and a query: make two sources of it"},
		{"a query without an order", fromTable("dsn: host=a, query: select 1"),
			at + "a query needs order_by: columns of its result that put the rows in order, no two rows alike"},
		{"NUL in a query", fromTable(`dsn: host=a, order_by: [a], query: "select 1\0"`), "x.yaml:2:62: sources.in.postgres.query: holds a NUL, which no query can"},
		{"NUL in an address", fromTable(`dsn: "host=a\0", table: a`), "x.yaml:2:32: sources.in.postgres.dsn: holds a NUL, which no address can"},
		{"a secret in a query", fromTable(`dsn: host=a, order_by: [a], query: "select '${secret:pw}' a"`),
			"x.yaml:2:62: sources.in.postgres.query: ${secret:pw}: a query is recorded, and a secret must not be"},
		{"a parameter in quotes", fromTable(`dsn: host=a, order_by: [a], query: "select '%${param:p}%' a"`),
			"x.yaml:2:62: sources.in.postgres.query: ${param:p} stands within quotes: a reference is a whole literal, and brings its quotes: write = ${param:p}, or ... || ${param:p} || ..."},
		{"a parameter in a comment", fromTable(`dsn: host=a, order_by: [a], query: "select 1 a -- of ${param:p}"`),
			"x.yaml:2:62: sources.in.postgres.query: ${param:p} stands within a comment: a reference is a whole literal, and brings its quotes: write = ${param:p}, or ... || ${param:p} || ..."},
		{"an order by a long name", fromTable("dsn: host=a, table: a, order_by: [" + strings.Repeat("o", 64) + "]"),
			"x.yaml:2:61: sources.in.postgres.order_by[0]: \"" + strings.Repeat("o", 64) + "\" has 64 bytes, and Postgres cuts names off after 63: give the name as the database has it"},
	})
}

func TestProblemsOfPostgresSinks(t *testing.T) {
	long := strings.Repeat("ä", 32) + "a"
	runProblemCases(t, []problemCase{
		{"an upsert without a key", intoTable("dsn: host=a, table: a, mode: upsert"),
			"x.yaml:3:15: sinks.out.postgres: mode upsert needs key: the columns of the table's primary key or of a unique index"},
		{"a key for nothing", intoTable("dsn: host=a, table: a, key: [id]"),
			"x.yaml:3:49: sinks.out.postgres.key: a key belongs to mode: upsert, or to create: true as the primary key: add one of them, or delete key"},
		{"a key that is not written", intoTable("dsn: host=a, table: a, mode: upsert, key: [id], columns: [idd]"),
			`x.yaml:3:69: sinks.out.postgres.key[0]: "id" is not among the columns (did you mean "idd"?)`},
		{"BI-162 NUL", intoTable(`dsn: host=a, table: "a\0b"`), `x.yaml:3:46: sinks.out.postgres.table: "a\x00b" holds a NUL, which no name in Postgres can`},
		{"BI-163 65 bytes", intoTable("dsn: host=a, table: " + long), `x.yaml:3:46: sinks.out.postgres.table: "` + long + `" has 65 bytes, and Postgres cuts names off after 63: give the name as the database has it`},
		{"BI-167 a table of Postgres", intoTable("dsn: host=a, table: pg_catalog.pg_class"), `x.yaml:3:46: sinks.out.postgres.table: the schema "pg_catalog" is Postgres' own: give a table of yours`},
		{"BI-167 a view of Postgres", intoTable("dsn: host=a, table: information_schema.tables"), `x.yaml:3:46: sinks.out.postgres.table: the schema "information_schema" is Postgres' own: give a table of yours`},
		{"no table behind the schema", intoTable("dsn: host=a, table: dw."), `x.yaml:3:46: sinks.out.postgres.table: "dw.": write schema.table, or the name of a table of the schema public`},
		{"a long column", intoTable("dsn: host=a, table: a, columns: [" + long + "]"),
			`x.yaml:3:59: sinks.out.postgres.columns[0]: "` + long + `" has 65 bytes, and Postgres cuts names off after 63: give the name as the database has it`},
	})
}

func TestProblemsOfTablesThatMeet(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"two sinks", "name: x\nsources: {in: {csv: {path: in.csv}}}\nsinks:\n" +
			"  one: {postgres: {dsn: host=a, table: t}}\n  two: {postgres: {dsn: host=a, table: public.t}}\n",
			`x.yaml:5:40: sinks.two.postgres.table: the sinks "one" and "two" write into the same table`},
		{"a source and a sink", "name: x\nsources: {in: {postgres: {dsn: host=a, table: t}}}\nsinks: {out: {postgres: {dsn: host=a, table: t}}}\n",
			`x.yaml:3:46: sinks.out.postgres.table: the sink would write into the table that source "in" reads`},
	})
	_, err := pipeline.Load("x.yaml", []byte("name: x\nsources: {in: {csv: {path: in.csv}}}\nsinks:\n"+
		"  one: {postgres: {dsn: host=a, table: t}}\n  two: {postgres: {dsn: host=b, table: t}}\n  three: {postgres: {dsn: host=a, table: T}}\n"), pipeline.Environment{})
	require.NoError(t, err, "other databases have other tables, and Postgres tells upper from lower case")
}

func TestPasswordsAreNotWrittenIntoDocuments(t *testing.T) {
	env := pipeline.Environment{
		FingerprintKey: []byte("k"),
		Secret: func(_, name string) (string, error) {
			return map[string]string{"PW": "s p@ce", "DSN": "postgres://u:pw@h/d"}[name], nil
		},
		Env:    func(string) (string, bool) { return "fromenv", true },
		Params: map[string]string{"pw": "hunter22"},
	}
	load := func(dsn string) error {
		_, err := pipeline.Load("x.yaml", []byte("name: x\nparams: {pw: {type: string}}\nsources: {in: {csv: {path: in.csv}}}\nsinks: {out: {postgres: {table: t, dsn: \""+dsn+"\"}}}\n"), env)
		return err
	}
	for _, dsn := range []string{
		"postgres://u:hunter22@h/d", "postgresql://u:hunter22@h:5432/d?sslmode=disable", "postgres://u@h/d?password=hunter22", "postgres://u@h/d?a=b&password=x",
		"host=h password=hunter22", "host=h password = 'hunter 22'", "PASSWORD=x host=h", "host=h sslpassword=x",
		"host=h password=${param:pw}", "postgres://u:${param:pw}@h/d", "postgres://u:${secret:PW}x@h/d",
		"host=h password=${secret:PW}x dbname=d",
	} {
		err := load(dsn)
		require.ErrorContains(t, err, onRecord, dsn)
		require.NotContains(t, err.Error(), "hunter22")
	}
	for _, dsn := range []string{
		"${secret:DSN}", "${DSN}", "postgres://u:${secret:PW}@h/d", "postgres://u@h/d", "postgres://h:5432/d", "postgres://u:@h/d", "host=h user=u",
		"host=h password=${secret:PW}", "host=h password=${secret:PW} dbname=d", "password = ${PW} host=h",
		"host=h password='${secret:PW}' user=u", "host=h passfile=/run/pw", "postgres://h:5432/d?application_name=a@b",
	} {
		require.NoError(t, load(dsn), dsn)
	}
}

// TestParametersInQueriesAreLiterals holds that no value of a parameter can be more than a value.
func TestParametersInQueriesAreLiterals(t *testing.T) {
	document := `name: x
params: {s: {type: string}, i: {type: int}, d: {type: decimal}, b: {type: bool}, t: {type: date}}
sources:
  in:
    postgres:
      dsn: host=a
      order_by: [a]
      query: |
        select a, 'it''s', "a'b", 1-${param:i} -- don't
        from t /* '" */ where s = ${param:s} and d > ${param:d} and b is ${param:b} and at > ${param:t} and e = ${PLACE}
sinks: {out: {csv: {path: out.csv}}}
`
	doc, err := pipeline.Load("x.yaml", []byte(document), pipeline.Environment{
		Params:         map[string]string{"s": `O'Brien' or 1=1 --\`, "i": "-5", "d": "1.10", "b": "true", "t": "2026-11-20"},
		Env:            func(string) (string, bool) { return "it's", true },
		FingerprintKey: []byte("a key that is long enough to be one"),
	})
	require.NoError(t, err)
	require.Equal(t, `select a, 'it''s', "a'b", 1-(-5) -- don't
from t /* '" */ where s = 'O''Brien'' or 1=1 --\' and d > 1.10 and b is true and at > '2026-11-20' and e = 'it''s'
`, doc.Pipeline.Sources[0].Value.Postgres.Query)
}
