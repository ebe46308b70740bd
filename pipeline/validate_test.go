package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const notName = " is not a name: use a to z, 0 to 9, _ and -, at most 63 characters, a letter or digit first"

// named returns a document whose one source has the name.
func named(name string) string {
	return "name: x\nsources: {" + name + ": {csv: {path: in.csv}}}\nsinks: {out: {csv: {path: out.csv}}}\n"
}

func TestProblemsOfNames(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"BI-093 a path", named(`"../x"`), `x.yaml:2:11: sources["../x"]: "../x"` + notName},
		{"BI-093 a slash", named(`a/b`), `x.yaml:2:11: sources["a/b"]: "a/b"` + notName},
		{"BI-093 260 characters", named(strings.Repeat("a", 260)), "x.yaml:2:11: sources." + strings.Repeat("a", 260) + `: "` + strings.Repeat("a", 64) + `"…` + notName},
		{"BI-093 NUL", named(`"a\0"`), `x.yaml:2:11: sources["a\x00"]: "a\x00"` + notName},
		{"BI-093 an emoji", named(`🐦`), `x.yaml:2:11: sources["🐦"]: "🐦"` + notName},
		{"BI-093 a trailing space", named(`"a "`), `x.yaml:2:11: sources["a "]: "a "` + notName},
		{"BI-093 right to left", named(`"a\u202eb"`), `x.yaml:2:11: sources["a\u202eb"]: "a\u202eb"` + notName},
		{"BI-093 upper case", named("In"), `x.yaml:2:11: sources.In: "In"` + notName},
		{"a dash first", named("-in"), `x.yaml:2:11: sources.-in: "-in"` + notName},
		{"a stored word", named("__quarantine__"), `x.yaml:2:11: sources.__quarantine__: "__quarantine__"` + notName},
		{"the pipeline's", strings.Replace(small, "name: x", "name: Big Birds", 1), `x.yaml:1:7: name: "Big Birds"` + notName},
		{"a reserved word", named("discard"), `x.yaml:2:11: sources.discard: "discard" is a word of routes and policies, not a name: choose another`},
		{"taken", named("out") + "steps: [{name: out, filter: x}]\n", "" +
			"x.yaml:3:9: sinks.out: the name \"out\" is taken by a step: sources, steps, branches and sinks share one name space\n" +
			"x.yaml:4:16: steps[0].name: the name \"out\" is taken by a source: sources, steps, branches and sinks share one name space"},
		{"a parameter that is a secret", small + "params: {api_token: {type: string, default: x}}\n", `x.yaml:4:10: params.api_token: "api_token" looks like the name of a secret, and the values of parameters are recorded: write ${secret:NAME} where it is used; what is no secret takes another name`},
		{"a parameter with a dash", small + "params: {a-b: {type: int, default: 1}}\n", `x.yaml:4:10: params.a-b: "a-b" is not a name for a parameter: use a to z, 0 to 9 and _, at most 63 characters, a letter first`},
	})
}

func TestProblemsOfSteps(t *testing.T) {
	steps := func(lines string) string { return small + "steps:\n" + lines }
	runProblemCases(t, []problemCase{
		{"two operations", steps("- {name: a, set: {b: c}, filter: d}\n"), "x.yaml:5:3: steps[0]: has set and filter, but exactly one operation is allowed"},
		{"no operation", steps("- {name: a}\n"), "x.yaml:5:3: steps[0]: has no operation: give exactly one of set, rename, select, drop, cast, filter, sample, gate, fork, coalesce, aggregate, sort, expand, deduplicate, lookup"},
		{"no name", steps("- filter: x\n"), `x.yaml:5:3: steps[0]: the key "name" is missing`},
		{"a gate without routes", steps("- {name: a, gate: b}\n"), `x.yaml:5:3: steps[0]: a gate needs routes, such as routes: {"true": continue, "false": discard}`},
		{"routes without a gate", steps("- {name: a, filter: b, routes: {c: out}}\n"), "x.yaml:5:24: steps[0].routes: routes belong to a gate: add gate with the expression for the label, or delete routes"},
		{"no route", steps("- {name: a, gate: b, routes: {}}\n"), "x.yaml:5:22: steps[0].routes: is empty: give at least one entry, or leave the key out"},
		{"two fields to one name", steps("- {name: a, rename: {b: d, c: d}}\n"), `x.yaml:5:31: steps[0].rename.c: "b" and "c" are both renamed to "d"`},
		{"a field to itself", steps("- {name: a, rename: {b: b}}\n"), `x.yaml:5:25: steps[0].rename.b: "b" is renamed to itself`},
		{"an unknown type", steps("- {name: a, cast: {b: integer}}\n"), `x.yaml:5:23: steps[0].cast.b: "integer" is not one of string, int, float, bool, date, timestamp, decimal, json`},
		{"a missing expression", steps("- {name: a, filter: \"\"}\n"), "x.yaml:5:21: steps[0].filter: must not be empty"},
	})
}

func TestProblemsOfFormats(t *testing.T) {
	csv := func(options string) string {
		return "name: x\nsources: {in: {csv: {path: in.csv, " + options + "}}}\nsinks: {out: {csv: {path: out.csv}}}\n"
	}
	runProblemCases(t, []problemCase{
		{"an empty key", "name: x\nsources: {in: {json: {path: in.json, records: a..b}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
			"x.yaml:2:47: sources.in.json.records: has an empty key: write the keys with one dot between them, as in data.items"},
		{"a sink where a document is read", "name: x\nsources: {in: {json: {path: a.json}}}\nsinks: {out: {jsonl: {path: a.json}}}\n",
			`x.yaml:3:29: sinks.out.jsonl.path: the sink would write to what source "in" reads`},
		{"no format", "name: x\nsources: {in: {key: [a]}}\nsinks: {out: {from: in}}\n",
			"x.yaml:2:11: sources.in: has no format: give exactly one of csv, jsonl, json, postgres, parquet, webhook\nx.yaml:3:9: sinks.out: has no format: give exactly one of csv, jsonl, postgres, parquet"},
		{"two formats", "name: x\nsources: {in: {csv: {path: a}, jsonl: {path: b}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
			"x.yaml:2:11: sources.in: has csv and jsonl, but exactly one format is allowed"},
		{"BI-039 two characters", csv(`delimiter: "||"`), `x.yaml:2:47: sources.in.csv.delimiter: "||": write the word tab, or one ASCII character that is not a letter, a digit or a line end`},
		{"BI-039 NUL", csv(`delimiter: "\0"`), `x.yaml:2:47: sources.in.csv.delimiter: "\x00": write the word tab, or one ASCII character that is not a letter, a digit or a line end`},
		{"BI-039 a letter", csv(`delimiter: x`), `x.yaml:2:47: sources.in.csv.delimiter: "x": write the word tab, or one ASCII character that is not a letter, a digit or a line end`},
		{"BI-039 delimiter and quote", csv(`delimiter: "'", quote: "'"`), `x.yaml:2:59: sources.in.csv.quote: "'" is the delimiter already`},
		{"BI-039 delimiter and the default quote", csv(`delimiter: '"'`), `x.yaml:2:16: sources.in.csv.quote: "\"" is the delimiter already`},
		{"BI-039 comment and delimiter", csv(`comment: ","`), `x.yaml:2:45: sources.in.csv.comment: "," is the delimiter already`},
		{"a long comment sign", csv(`comment: "//"`), `x.yaml:2:45: sources.in.csv.comment: "//": write one ASCII character that is not a letter, a digit or a line end`},
		{"a sink's delimiter", "name: x\nsources: {in: {csv: {path: in.csv}}}\nsinks: {out: {csv: {path: out.csv, delimiter: none}}}\n",
			`x.yaml:3:47: sinks.out.csv.delimiter: "none": write the word tab, or one ASCII character that is not a letter, a digit or a line end`},
		{"no header and no columns", csv("header: none"), "x.yaml:2:44: sources.in.csv.header: a file without a header needs columns: list their names in order"},
		{"header and columns", csv("columns: [a]"), "x.yaml:2:36: sources.in.csv.columns: the names of the columns come from the header: delete columns, or write header: none"},
		{"many lines to skip", csv("skip_lines: 1001"), "x.yaml:2:48: sources.in.csv.skip_lines: must be at least 0 and at most 1000, not 1001"},
		{"an unknown encoding", csv("encoding: utf8"), `x.yaml:2:46: sources.in.csv.encoding: "utf8" is not one of utf-8, utf-16le, utf-16be, latin-1, windows-1252 (did you mean "utf-8"?)`},
	})
}

func TestProblemsOfSchemas(t *testing.T) {
	schema := func(lines string) string {
		return "name: x\nsinks: {out: {csv: {path: out.csv}}}\nsources:\n in:\n  csv: {path: in.csv}\n  schema:\n" + lines
	}
	fields := func(fields string) string { return schema("   fields: {" + fields + "}\n") }
	runProblemCases(t, []problemCase{
		{"an unknown mode", schema("   mode: fixd\n   fields: {a: int}\n"), `x.yaml:7:10: sources.in.schema.mode: "fixd" is not one of fixed, flexible, observed (did you mean "fixed"?)`},
		{"observed with fields", schema("   mode: observed\n   fields: {a: int}\n"), "x.yaml:7:10: sources.in.schema.mode: observed takes whatever comes: write flexible, or delete fields"},
		{"fixed without fields", schema("   mode: fixed\n"), "x.yaml:7:10: sources.in.schema.mode: fixed needs fields"},
		{"an unknown type", fields("a: integer"), `x.yaml:7:16: sources.in.schema.fields.a: "integer" is not one of string, int, float, bool, date, timestamp, decimal, json; an optional field has a ? after its type`},
		{"an unknown type in a mapping", fields("a: {type: int8}"), `x.yaml:7:23: sources.in.schema.fields.a.type: "int8" is not one of string, int, float, bool, date, timestamp, decimal, json (did you mean "int"?)`},
		{"min of a bool", fields("a: {type: bool, min: 1}"), "x.yaml:7:34: sources.in.schema.fields.a.min: type bool has no least and no greatest value"},
		{"min above max", fields("a: {type: decimal, min: 10.0, max: 9.5}"), "x.yaml:7:37: sources.in.schema.fields.a.min: is greater than max"},
		{"min above max of timestamps", fields("a: {type: timestamp, min: 2001-01-01T00:00:00.5Z, max: 2001-01-01T00:00:00.4Z}"), "x.yaml:7:39: sources.in.schema.fields.a.min: is greater than max"},
		{"a negative length", fields("a: {type: string, min: -1}"), "x.yaml:7:36: sources.in.schema.fields.a.min: of a string is a length, which is never negative"},
		{"a pattern of numbers", fields("a: {type: int, pattern: x}"), "x.yaml:7:37: sources.in.schema.fields.a.pattern: only a string can have a pattern, not type int"},
		{"a bad pattern", fields("a: {type: string, pattern: \"(\"}"), "x.yaml:7:40: sources.in.schema.fields.a.pattern: error parsing regexp: missing closing ): `(`"},
		{"two fields from one column", fields("a: {type: int, from: c}, b: {type: int, from: c}"), `x.yaml:7:38: sources.in.schema.fields.b: the fields "a" and "b" both come from "c"`},
		{"a field from another's column", fields("a: int, b: {type: int, from: a}"), `x.yaml:7:21: sources.in.schema.fields.b: the fields "a" and "b" both come from "a"`},
		{"a key that is no field", fields("airport: string") + "  key: [airprot]\n", `x.yaml:8:9: sources.in.key[0]: the schema has no field "airprot" (did you mean "airport"?)`},
		{"a field without a column", strings.Replace(fields("a: int, b: int?, c: int"), "in.csv", "in.csv, header: none, columns: [a]", 1), `x.yaml:5:37: sources.in.csv.columns: no column for the required field "c"`},
	})
}

// The reasons in these problems are row's own.
func TestProblemsOfLimitsNameTheValue(t *testing.T) {
	for want, field := range map[string]string{
		`x.yaml:4:67: sources.in.schema.fields.a.min: "one" is not a valid int`:              "{type: int, min: one}",
		`x.yaml:4:68: sources.in.schema.fields.a.max: "2024-02-30" is not a valid date`:      "{type: date, max: 2024-02-30}",
		`x.yaml:4:72: sources.in.schema.fields.a.enum[1]: "1.5" is not a valid int`:          "{type: int, enum: [1, 1.5]}",
		`x.yaml:4:70: sources.in.schema.fields.a.max: "1.5" is not a valid int`:              "{type: string, max: 1.5}",
		`x.yaml:4:71: sources.in.schema.fields.a.min: "1e3" is not a valid decimal`:          "{type: decimal, min: 1e3}",
		`x.yaml:4:76: sources.in.schema.fields.a.enum[1]: "yes" is not a valid bool`:         "{type: bool, enum: [true, yes]}",
		`x.yaml:4:73: sources.in.schema.fields.a.min: "2001-01-01" is not a valid timestamp`: "{type: timestamp, min: 2001-01-01}",
	} {
		_, err := loadSmall("name: x\nsinks: {out: {csv: {path: out.csv}}}\nsources:\n {in: {csv: {path: in.csv}, schema: {fields: {a: " + field + "}}}}\n")
		require.ErrorContains(t, err, want)
	}
}

// BI-099 and BI-160, and a source that would read what a sink writes.
func TestProblemsOfTargets(t *testing.T) {
	paths := func(source, first, second string) string {
		return "name: x\nsources: {in: {jsonl: {path: \"" + source + "\"}}}\nsinks:\n  a: {csv: {path: " + first + "}}\n  b: {jsonl: {path: " + second + "}}\n"
	}
	runProblemCases(t, []problemCase{
		{"BI-099 one path", paths("in", "out/x", "out/x"), `x.yaml:5:21: sinks.b.jsonl.path: the sinks "a" and "b" write to the same path`},
		{"BI-099 one path written differently", paths("in", "out/x", "./out//y/../x"), `x.yaml:5:21: sinks.b.jsonl.path: the sinks "a" and "b" write to the same path`},
		{"BI-160 upper and lower case", paths("in", "out/A.csv", "out/a.csv"), `x.yaml:5:21: sinks.b.jsonl.path: the sinks "a" and "b" write to the same path: they differ in upper and lower case only, and some file systems do not tell these apart`},
		{"a sink over a source", paths("data/x", "data/./x", "y"), `x.yaml:4:19: sinks.a.csv.path: the sink would write to what source "in" reads`},
		{"a sink in a source's glob", paths("data/*.csv", "data/out.csv", "y"), `x.yaml:4:19: sinks.a.csv.path: the sink would write to what source "in" reads`},
	})
}

func TestProblemsAreAllReportedInOrder(t *testing.T) {
	_, err := loadSmall("name: X\nsinks: {}\nsources: {in: {csv: {path: in.csv, header: no}}}\nsteps:\n- {name: a, fliter: b}\n- {name: a, drop: []}\nchunk: {rows: 0}\n")
	require.EqualError(t, err, strings.Join([]string{
		`x.yaml:1:7: name: "X"` + notName,
		`x.yaml:2:1: sinks: is empty: give at least one entry`,
		`x.yaml:3:44: sources.in.csv.header: "no" is not one of normalized, exact, none`,
		`x.yaml:5:13: steps[0]: unknown key "fliter" (did you mean "filter"?)`,
		`x.yaml:6:10: steps[1].name: the name "a" is taken by a step: sources, steps, branches and sinks share one name space`,
		`x.yaml:6:13: steps[1].drop: is empty: give at least one element, or leave the key out`,
		`x.yaml:7:15: chunk.rows: must be at least 1 and at most 1000000, not 0`,
	}, "\n"))
}
