package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// A problemCase is a document and what is printed about it.
type problemCase struct {
	name string
	text string
	want string // one line for each problem
}

func runProblemCases(t *testing.T, cases []problemCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := loadSmall(c.text)
			require.Error(t, err)
			require.Equal(t, c.want, err.Error())
		})
	}
}

const notInteger = " is not an integer: write decimal digits only, such as 1000"

// What is wrong with the text, before any key is looked at.
func TestProblemsOfTheText(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"BI-071 an alias bomb", small + "description: &a [x]\nsteps: [*a, *a]\n", "" +
			"x.yaml:4:14: anchors (&) and aliases (*) are not allowed: write the value out, or in quotes if it is a text\n" +
			"x.yaml:5:9: anchors (&) and aliases (*) are not allowed: write the value out, or in quotes if it is a text\n" +
			"x.yaml:5:13: anchors (&) and aliases (*) are not allowed: write the value out, or in quotes if it is a text"},
		{"BI-072 10,001 brackets", small + "steps: " + strings.Repeat("[", 10_001), "x.yaml:4:23: nested deeper than 16 levels"},
		{"BI-072 a deep block", strings.Repeat("- ", 10_001) + "a\n", "x.yaml:1:33: nested deeper than 16 levels"},
		{"BI-074 a second document", small + "---\nname: y\n", "x.yaml:4:1: a second document begins here: one file holds one pipeline"},
		{"BI-074 a second document behind a comment", small + "# c\n---\nname: y\n", "x.yaml:5:1: a second document begins here: one file holds one pipeline"},
		{"BI-074 a second document without a mark", small + "...\nname: y\n", "x.yaml:5:5: a second document begins here: one file holds one pipeline"},
		{"BI-076 an unknown tag", small + "description: !!python/object/apply x\n", `x.yaml:4:14: the tag "!!python/object/apply" is not allowed: write the value without it, and a text in quotes`},
		{"BI-077 binary", small + "description: !!binary aGk=\n", `x.yaml:4:14: the tag "!!binary" is not allowed: write the value without it, and a text in quotes`},
		{"BI-078 a merge key", small + "chunk: {<<: {rows: 1}}\n", "x.yaml:4:9: merge keys (<<) are not allowed: write the keys out"},
		{"BI-079 an anchor that holds itself", small + "chunk: &a\n  rows: *a\n", "" +
			"x.yaml:4:8: anchors (&) and aliases (*) are not allowed: write the value out, or in quotes if it is a text\n" +
			"x.yaml:5:9: anchors (&) and aliases (*) are not allowed: write the value out, or in quotes if it is a text"},
		{"a key behind a question mark", small + "? description\n: x\n", `x.yaml:4:1: keys are written without "?"`},
		{"a directive", "%YAML 1.2\n---\n" + small, "x.yaml:1:1: directives (%) are not allowed: delete the line\nx.yaml:2:1: a second document begins here: one file holds one pipeline"},
		{"BI-088 a tab", small + "steps:\n\t- name: a\n", `x.yaml:5:1: a tab: indent with spaces, and write "\t" in double quotes for a tab in a text`},
		{"BI-089 not UTF-8", small + "description: \xff\n", "x.yaml:4:14: not valid UTF-8: save the document as UTF-8"},
		{"BI-089 UTF-16", "n\x00a\x00m\x00e\x00", "x.yaml:1:2: the invisible character U+0000 is not allowed; in a text, write it as an escape in double quotes"},
		{"BI-089 a control character", small + "description: a\x1bb\n", "x.yaml:4:15: the invisible character U+001B is not allowed; in a text, write it as an escape in double quotes"},
		{"BI-089 text from right to left", small + "description: a\u202eb\n", "x.yaml:4:15: the invisible character U+202E is not allowed; in a text, write it as an escape in double quotes"},
		{"BI-089 a lone carriage return", "name: x\rsinks: y\n", "x.yaml:1:8: the invisible character U+000D is not allowed; in a text, write it as an escape in double quotes"},
		{"BI-091 an empty file", "", "x.yaml:1:1: the document is empty: it needs at least name, sources and sinks"},
		{"BI-091 only a comment", "# nothing\n", "x.yaml:1:1: the document is empty: it needs at least name, sources and sinks"},
		{"BI-091 only a mark", "---\n", "x.yaml:1:1: the document is empty: it needs at least name, sources and sinks"},
		{"BI-091 a scalar", "hello\n", "x.yaml:1:1: a document is a mapping with at least the keys name, sources and sinks"},
		{"BI-091 a list", "- a\n- b\n", "x.yaml:1:1: a document is a mapping with at least the keys name, sources and sinks"},
		{"BI-092 10 MiB", strings.Repeat("#", 10<<20), "x.yaml:1:1: the document has 10485760 bytes; at most 1048576 are allowed"},
		{"many blank lines", small + "description: |\n" + strings.Repeat("\n", 101) + "x\n", "x.yaml:106:1: more than 100 blank lines in a row; delete them"},
		{"many words", strings.Repeat("[]\n", 50_001), "x.yaml:50001:1: the document has more than 100000 words and signs"},
		{"many keys", strings.Repeat("a: b\n", 10_001), "x.yaml:10001:1: more than 10000 keys or items in one place"},
		{"a long key", strings.Repeat("k", 1025) + ": x\n", "x.yaml:1:1: a key is longer than 1024 bytes"},
		{"an empty dash before a key", small + "steps:\n-\ndescription: x\n", "x.yaml:5:1: nothing stands behind the dash"},
		{"an empty dash at the end", small + "steps:\n  - \n", "x.yaml:5:3: nothing stands behind the dash"},
		{"a colon without a space", small + "chunk: {rows:5}\n", "x.yaml:4:13: a space is missing behind the colon; write a text with a colon in quotes"},
		{"a blank line in a plain text", small + "description: a\n  \n  b\n", "x.yaml:4:14: write a text with a blank line in it as a block behind |, or in double quotes"},
		{"lines in single quotes", small + "description: 'a\n  b'\n", "x.yaml:4:14: write a text of several lines as a block behind |, or in double quotes"},
		{"an open bracket", small + "steps: [1, 2\n", "x.yaml:4:8: the [ of line 4 is not closed, or a text with [ ] or a comma in it needs quotes"},
		{"an open brace", small + "steps:\n  - {name: a, set: {b: \"1\"}\n  - {name: c, drop: [a]}\n", "x.yaml:6:3: the { of line 5 is not closed, or a text with { } or a comma in it needs quotes"},
		{"an open brace at the end", small + "steps:\n  - {name: a, set: {b: \"1\"}\n", "x.yaml:5:5: the { of line 5 is not closed, or a text with { } or a comma in it needs quotes"},
		{"an expression with braces", small + "steps: [{name: a, filter: row.a in {'x': 1}}]\n", "x.yaml:4:36: the { of line 4 is not closed, or a text with { } or a comma in it needs quotes"},
		{"a brace too many", small + "steps:\n  - {name: a, drop: [b]}}\n", "x.yaml:5:25: this } closes nothing: delete it, or write the text that holds it in quotes"},
		{"a list that a brace closes", small + "steps: [{name: a, drop: [b}]\n", "x.yaml:4:27: the [ of line 4 is not closed, or a text with [ ] or a comma in it needs quotes"},
		{"an expression that begins with !", small + "steps:\n  - name: a\n    filter: !has(row.b) && row.c\n", "x.yaml:6:13: an expression that begins with ! needs quotes: '!has(row.x)'"},
		{"an expression that begins with ! in braces", small + "steps:\n  - {name: a, filter: !has(row.b)}\n", "x.yaml:5:34: an expression that begins with ! needs quotes: '!has(row.x)'"},
		{"an open quote", small + "description: \"abc\n", "x.yaml:4:14: could not find end character of double-quoted text"},
		{"a colon in a text", small + "description: a: b\n", `x.yaml:4:14: mapping value is not allowed in this context: write a text that holds ": " in quotes, and check the indentation`},
		{"a line that begins with >", small + "steps: [{name: a, filter: row.x\n  > b}]\n", `x.yaml:5:3: invalid header option: " b}]": write a text of several lines that has a line beginning with > or | in quotes`},
		{"a wrong indentation", small + "  description: b\n", "x.yaml:4:3: value is not allowed in this context: check the indentation"},
	})
}

func TestProblemsOfKeys(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"BI-073 a key twice", small + "name: y\n", `x.yaml:4:1: the key "name" is here twice: first in line 1`},
		{"BI-073 a source twice", "name: x\nsources:\n  a: {csv: {path: a}}\n  \"a\": {csv: {path: b}}\nsinks: {out: {csv: {path: out.csv}}}\n",
			`x.yaml:4:3: sources: the key "a" is here twice: first in line 3`},
		{
			"BI-075 an unknown key", small + "transfroms: []\n",
			`x.yaml:4:1: unknown key "transfroms"; known are name, description, params, chunk, sources, steps, ` +
				`sinks, schedules, triggers, concurrency, pools, policies, require, attest, retention, totals`,
		},
		{"BI-075 a misspelt key", small + "step: []\n", `x.yaml:4:1: unknown key "step" (did you mean "steps"?)`},
		{"BI-075 a misspelt key deep inside", small + "steps:\n  - name: a\n    fliter: row.x\n", `x.yaml:6:5: steps[0]: unknown key "fliter" (did you mean "filter"?)`},
		{"BI-075 a misspelt required key", "nmae: x\nsources: {in: {csv: {path: in.csv}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
			`x.yaml:1:1: unknown key "nmae" (did you mean "name"?)`},
		{"BI-075 keys are not folded", small + "Description: x\n", `x.yaml:4:1: unknown key "Description" (did you mean "description"?)`},
		{"BI-087 a number", small + "1: x\n", `x.yaml:4:1: keys are texts: write "1" in quotes`},
		{"BI-087 a bool", small + "steps: [{name: a, gate: row.x, routes: {true: out}}]\n", `x.yaml:4:41: steps[0].routes: keys are texts: write "true" in quotes`},
		{"BI-087 null", small + "~: x\n", `x.yaml:4:1: keys are texts: write "~" in quotes`},
		{"missing keys", "description: x\n", "x.yaml:1:1: the key \"name\" is missing\nx.yaml:1:1: the key \"sources\" is missing\nx.yaml:1:1: the key \"sinks\" is missing"},
		{"a missing path", "name: x\nsources: {in: {csv: {}}}\nsinks: {out: {jsonl: {parts: true}}}\n",
			"x.yaml:2:16: sources.in.csv: the key \"path\" is missing\nx.yaml:3:15: sinks.out.jsonl: the key \"path\" is missing"},
		{"a reference in a key", small + "steps: [{name: a, set: {'${x}': \"1\"}}]\n", "x.yaml:4:25: steps[0].set: the key \"${x}\": references are not replaced in keys; write $${ for a literal ${"},
	})
}

func TestProblemsOfValues(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"BI-080 a version", small + "description: 1.10\n", `x.yaml:4:14: description: 1.10 is a number to YAML: write "1.10" in quotes`},
		{"BI-080 a bool", small + "description: true\n", `x.yaml:4:14: description: true is a bool to YAML: write "true" in quotes`},
		{"BI-080 a number in a list", small + "steps: [{name: a, select: [2019, 007]}]\n", `x.yaml:4:34: steps[0].select[1]: 007 is a number to YAML: write "007" in quotes`},
		{"BI-081 octal", small + "chunk: {rows: 010}\n", `x.yaml:4:15: chunk.rows: "010"` + notInteger},
		{"BI-081 an underscore", small + "chunk: {rows: 1_000}\n", `x.yaml:4:15: chunk.rows: "1_000"` + notInteger},
		{"BI-081 hexadecimal", small + "chunk: {rows: 0x1F}\n", `x.yaml:4:15: chunk.rows: "0x1F"` + notInteger},
		{"BI-081 an exponent", small + "chunk: {rows: 1e3}\n", `x.yaml:4:15: chunk.rows: "1e3"` + notInteger},
		{"a word for true in quotes", strings.Replace(small, "path: in.csv", "path: in.csv, allow_empty: \"yes\"", 1), `x.yaml:2:49: sources.in.csv.allow_empty: expects true or false, without quotes, not "yes"`},
		{"true in quotes", strings.Replace(small, "path: in.csv", "path: in.csv, allow_empty: \"true\"", 1), `x.yaml:2:49: sources.in.csv.allow_empty: expects true or false: write true without quotes`},
		{"BI-081 in quotes", small + "chunk: {rows: \"5\"}\n", `x.yaml:4:15: chunk.rows: expects an integer: write 5 without quotes`},
		{"BI-083 yes and off", "name: x\nsources: {in: {csv: {path: a.csv, trim_space: yes}}}\nsinks: {out: {csv: {path: out.csv, crlf: off}}}\n",
			"x.yaml:2:47: sources.in.csv.trim_space: \"yes\" is not a bool: write true or false\nx.yaml:3:42: sinks.out.csv.crlf: \"off\" is not a bool: write true or false"},
		{"BI-083 True", "name: x\nsources: {in: {csv: {path: a.csv, trim_space: True}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
			`x.yaml:2:47: sources.in.csv.trim_space: "True" is not a bool: write true or false`},
		{"BI-084 overflow", small + "chunk: {rows: 99999999999999999999, bytes: 9999999999GiB}\n",
			"x.yaml:4:15: chunk.rows: \"99999999999999999999\" is too large a number\nx.yaml:4:44: chunk.bytes: \"9999999999GiB\" is too large a size"},
		{"BI-085 infinity and NaN", small + "chunk: {rows: .inf, bytes: .nan}\n",
			"x.yaml:4:15: chunk.rows: \".inf\"" + notInteger + "\nx.yaml:4:28: chunk.bytes: \".nan\" is not a size: write bytes such as 4096, or 64KiB, 8MiB, 1GiB"},
		{"BI-086 a negative size", small + "chunk: {rows: -5}\n", `x.yaml:4:15: chunk.rows: must be at least 1 and at most 1000000, not -5`},
		{"BI-086 zero", small + "chunk: {rows: 0, bytes: 0}\n",
			"x.yaml:4:15: chunk.rows: must be at least 1 and at most 1000000, not 0\nx.yaml:4:25: chunk.bytes: must be at least 64KiB and at most 256MiB, not 0"},
		{"BI-086 10^12", small + "chunk: {rows: 1000000000000}\n", `x.yaml:4:15: chunk.rows: must be at least 1 and at most 1000000, not 1000000000000`},
		{"another unit", small + "chunk: {bytes: 8MB}\n", `x.yaml:4:16: chunk.bytes: "8MB" is not a size: write bytes such as 4096, or 64KiB, 8MiB, 1GiB`},
		{"null", small + "description: ~\n", "x.yaml:4:1: description: has no value: give one, or leave the key out"},
		{"nothing", small + "chunk:\n", "x.yaml:4:1: chunk: has no value: give one, or leave the key out"},
		{"an empty text", small + "description: ''\n", "x.yaml:4:14: description: must not be empty"},
		{"an empty list", small + "steps: []\n", "x.yaml:4:1: steps: is empty: give at least one element, or leave the key out"},
		{"an empty mapping", small + "params: {}\n", "x.yaml:4:1: params: is empty: give at least one entry, or leave the key out"},
		{"a mapping for a list", small + "steps: {a: b}\n", "x.yaml:4:1: steps: expects a list, such as [a, b], not a mapping"},
		{"a list for a mapping", small + "params: [a]\n", "x.yaml:4:1: params: expects a mapping of names to values, not a list"},
		{"a text for a mapping", small + "chunk: big\n", `x.yaml:4:8: chunk: expects a mapping of keys to values, not "big"`},
		{"a list for a number", small + "chunk: {rows: [1]}\n", "x.yaml:4:9: chunk.rows: expects an integer, not a list"},
		{"a list for a text", small + "description: [a]\n", "x.yaml:4:1: description: expects a text, not a list; write a text with special characters in quotes"},
		{"an unknown word", "name: x\nsources: {in: {csv: {path: in.csv, compression: gzp}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
			`x.yaml:2:49: sources.in.csv.compression: "gzp" is not one of auto, none, gzip, zstd, bzip2, zip (did you mean "gzip"?)`},
		{"an element twice", small + "steps: [{name: a, drop: [x, y, x]}]\n", `x.yaml:4:32: steps[0].drop[2]: "x" is listed twice`},
	})
}

func TestProblemsOfReferences(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"BI-100 not set", small + "description: ${UNSET}\n", "x.yaml:4:14: description: the environment variable UNSET is not set; set it, or write $${ for a literal ${"},
		{"BI-100 a default", small + "description: ${A:-${B}}\n", "x.yaml:4:14: description: ${A:-${B} has a default, which references cannot have: declare a parameter with a default and write ${param:NAME}"},
		{"BI-100 not closed", small + "description: ${A\n", "x.yaml:4:14: description: a reference has no closing }; write $${ for a literal ${"},
		{"not a name", small + "description: ${a b}\n", "x.yaml:4:14: description: \"${a b}\" is not a reference: write ${NAME}, ${secret:NAME} or ${param:NAME}, and $${ for a literal ${"},
		{"an empty value", small + "description: ${EMPTY}\n", "x.yaml:4:14: description: must not be empty"},
		{"a value that is no text", small + "description: ${BYTES}\n", "x.yaml:4:14: description: the value of ${BYTES} is not a text: it has bytes that are not UTF-8, or a NUL"},
		{
			"an unknown secret", fromTable(`dsn: "${secret:nope}", table: t`),
			"x.yaml:2:32: sources.in.postgres.dsn: ${secret:nope}: the store has no such secret",
		},
		{
			"a secret that goes nowhere", small + "description: ${secret:folder}\n",
			"x.yaml:4:14: description: ${secret:folder}: a secret goes into the dsn of postgres, the headers of http " +
				"and the secret of a trigger, and nowhere else",
		},
		{"an unknown parameter", small + "description: ${param:dya}\nparams: {day: {type: date, default: 2001-01-01}}\n", `x.yaml:4:14: description: no parameter named "dya" (did you mean "day"?)`},
		{"a parameter in an expression", small + "steps: [{name: a, filter: \"row.x > ${param:n}\"}]\n", "x.yaml:4:27: steps[0].filter: ${param:n}: references are not replaced in expressions: write param.n"},
		{"a variable in an expression", small + "steps: [{name: a, set: {b: \"${N}\"}}]\n", "x.yaml:4:28: steps[0].set.b: ${N}: references are not replaced in expressions: declare a parameter and write param.NAME"},
		{"in a name", small + "steps: [{name: \"${N}\", filter: x}]\n", "x.yaml:4:16: steps[0].name: ${N}: references are not replaced in names"},
		{"in a default", small + "params: {p: {type: int, default: \"${N}\"}}\n", "x.yaml:4:34: params.p.default: ${N}: references are not replaced in values that are kept as written"},
		{"a variable for a number", small + "chunk: {rows: \"${N}\"}\n", "x.yaml:4:15: chunk.rows: expects an integer: only a whole ${param:NAME} may stand for it"},
		{"more than a parameter for a number", small + "chunk: {rows: \"1${param:n}\"}\n", "x.yaml:4:15: chunk.rows: expects an integer: only a whole ${param:NAME} may stand for it"},
		{"gigabytes", small + "params: {p: {type: string, default: " + strings.Repeat("x", 100_000) + "}}\ndescription: \"" + strings.Repeat("${param:p}", 50_000) + "\"\n",
			"x.yaml:5:14: description: the references of the document bring in more than 4194304 bytes"},
	})
}

func TestProblemsBeyondALimitAreCounted(t *testing.T) {
	_, err := loadSmall(small + "steps:\n" + strings.Repeat("- {nonsense: x}\n", 300))
	var problems pipeline.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 201)
	require.Regexp(t, `^x.yaml:\d+:\d+: \d+ more problems are not shown$`, problems[200].String())
}
