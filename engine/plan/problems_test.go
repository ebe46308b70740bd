package plan_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin/file"
	"waymark/tests/sample"
	"waymark/worker/formats"
)

// compileAll compiles a document whatever the loader says of it, as validate does.
func compileAll(t *testing.T, document string) error {
	t.Helper()
	loaded, err := pipeline.Load("p.yaml", []byte(document), pipeline.Environment{})
	require.NotNil(t, loaded, "%v", err)
	root, err := file.NewRoot(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	_, err = plan.Compile(loaded, plugins{formats.Formats{Files: file.Access{Root: root}}})
	return err
}

func TestEveryProblemIsNamedAtOnce(t *testing.T) {
	err := compileAll(t, `name: p
description: 1.10
params:
  limit: {type: int}
  since: {type: date, default: yesterday}
chunk: {rows: 0}
sources:
  in:
    csv: {path: in.csv, delimiter: xx}
    key: [nmae]
    schema: {fields: {id: int, name: string, day: date, amount: decimal, note: "strng?"}}
  away:
    jsonl: {path: ../away.jsonl}
    schema: {fields: {code: string, label: string}}
    on_invalid: rejcted
steps:
  - {name: shaped, from: in, set: {a: row.id + row.name, b: row.amout, c: "row.name.matches(param.limit)", d: row.note}}
  - {name: later, filter: row.a > 1 && row.id}
  - {name: cut, rename: {nme: title}}
  - {name: use, set: {e: row.title + 1, f: "row.id + )", g: row.limit > param.limit}}
  - {name: sizes, gate: row.e, routes: {"true": nowhere, "false": continue}}
  - {name: sums, from: sizes, aggregate: {group_by: [id], compute: {n: count(), s: sum(row.), m: median(row.id)}}, trigger: {when: batch.s > batch.}}
  - {name: labels, from: away, drop: [cod]}
  - {name: labels2, cast: {label: in}}
  - {name: bad-from, from: awy, filter: "true ||"}
sinks:
  out: {csv: {path: out.csv}, from: sums}
  out2: {csv: {path: out2.csv}, from: labels2}
  out3: {jsonl: {path: out3.jsonl, prts: true}}
`)
	require.Error(t, err)
	require.Equal(t, strings.TrimPrefix(`
p.yaml:2:14: description: 1.10 is a number to YAML: write "1.10" in quotes
p.yaml:4:3: params.limit: the parameter "limit" has no value: give one for the run, or declare a default
p.yaml:5:32: params.since.default: "yesterday" is not a valid date: expected a date such as 2001-01-31 (FORMAT)
p.yaml:6:15: chunk.rows: must be at least 1 and at most 1000000, not 0
p.yaml:9:36: sources.in.csv.delimiter: "xx": write the word tab, or one ASCII character that is not a letter, a digit or a line end
p.yaml:10:11: sources.in.key[0]: the schema has no field "nmae" (did you mean "name"?)
p.yaml:11:80: sources.in.schema.fields.note: "strng" is not one of string, int, float, bool, date, timestamp, decimal, json (did you mean "string"?); an optional field has a ? after its type
p.yaml:13:19: sources.away.jsonl.path: path "../away.jsonl": holds ".."; write the absolute path of a file in an allowed folder
p.yaml:15:17: sources.away.on_invalid: no sink named "rejcted" (there are: out, out2, out3); refused rows go to quarantine, fail, discard or a sink
p.yaml:17:39: steps[0].set.a: 1:8: + does not take int and string: write the number without quotes, or convert with int(…) or string(…)
p.yaml:17:61: steps[0].set.b: 1:5: the row has no field "amout" (did you mean "amount"?); its fields: id, name, day, amount, note
p.yaml:18:27: steps[1].filter: 1:18: this must be a bool, and is int
p.yaml:19:31: steps[2].rename.nme: no field named "nme" (did you mean "name"?)
p.yaml:20:44: steps[3].set.f: 1:10: syntax error: unexpected ")"
p.yaml:20:61: steps[3].set.g: 1:5: the row has no field "limit"; its fields: id, name, day, amount, note, a, b, c, d, title
p.yaml:21:49: steps[4].routes.true: no sink or step named "nowhere" (there are: shaped, later, cut, use, sizes, sums, labels, labels2, bad-from, out, out2, out3)
p.yaml:22:84: steps[5].aggregate.compute.s: 1:9: syntax error: unexpected ".)"
p.yaml:22:98: steps[5].aggregate.compute.m: 1:1: there is no function median() (did you mean mean()?)
p.yaml:22:132: steps[5].trigger.when: 1:17: syntax error: unexpected "."
p.yaml:23:39: steps[6].drop[0]: no field named "cod" (did you mean "code"?)
p.yaml:24:35: steps[7].cast.label: "in" is not one of string, int, float, bool, date, timestamp, decimal, json (did you mean "int"?)
p.yaml:25:28: steps[8].from: no source or step named "awy" (did you mean "away"?)
p.yaml:25:41: steps[8].filter: 1:8: syntax error: the expression ends too early
p.yaml:29:36: sinks.out3.jsonl: unknown key "prts" (did you mean "parts"?)`, "\n"), err.Error())
}

// mistakes are lines of a document in place of correct ones, with what is said of each.
var mistakes = []struct{ right, wrong, problem string }{
	{"description: x", "description: 1.10", `description: 1.10 is a number to YAML`},
	{"rows: 10", "rows: 0", `chunk.rows: must be at least 1`},
	{"p: {type: int, default: 5}", "p: {type: int, default: five}", `params.p.default: "five" is not`},
	{"q: {type: int, default: 5}", "q: {type: int}", `params.q: the parameter "q" has no value`},
	{"delimiter: tab", "delimiter: xx", `sources.a.csv.delimiter: "xx"`},
	{"id2: int", "id2: itn", `sources.a.schema.fields.id2: "itn" is not one of`},
	{"path: b.csv", "path: ../b.csv", `sources.b.csv.path: path "../b.csv"`},
	{"set: {x: row.id + 1,", "set: {x: row.id + 'y',", `steps[0].set.x: 1:8: + does not take`},
	{"y: row.amount * 2", "y: row.amuont * 2", `steps[0].set.y: 1:5: the row has no field "amuont"`},
	{"z: 1 + 1", "z: 1 + )", `steps[0].set.z: 1:5: syntax error`},
	{"filter: row.id > 1", "filter: row.id", `steps[1].filter: 1:1: the expression gives int`},
	{"rename: {kind: sort}", "rename: {knd: sort}", `steps[2].rename.knd: no field named "knd"`},
	{"cast: {id: string}", "cast: {id: date}", `steps[3].cast.id: a field of type int is never cast to date`},
	{"sum(row.amount)", "sum(row.amuont)", `steps[4].aggregate.compute.s: 1:9: the row has no field "amuont"`},
	{"n: count()", "n: count(1)", `steps[4].aggregate.compute.n: 1:1: count() counts rows`},
	{"batch.rows > 4", "batch.rows > 'x'", `steps[4].trigger.when: 1:12: > does not take`},
	{`"true": spare`, `"true": nowhere`, `steps[7].routes.true: no sink or step named "nowhere"`},
	{"sample: {rate: 0.5}", "sample: {rate: 2}", `steps[8].sample.rate: "2" is not a share`},
	{"select: [code]", "select: [cod]", `steps[6].select[0]: no field named "cod"`},
	{"on_error: bad", "on_error: baad", `steps[6].on_error: no sink named "baad"`},
	{"from: thin", "from: thinn", `sinks.rest.from: no source or step named "thinn"`},
	{"columns: [n, s]", "columns: [n, t]", `sinks.out: columns: no row has a field "t"`},
	{"path: spare.jsonl", "path: /spare.jsonl", `sinks.spare.jsonl.path: path "/spare.jsonl"`},
	{"compression: none", "compression: gzp", `sources.b.csv.compression: "gzp" is not one of`},
}

const correct = `name: p
description: x
params: {p: {type: int, default: 5}, q: {type: int, default: 5}}
chunk: {rows: 10}
sources:
  a: {csv: {path: a.csv, delimiter: tab}, schema: {fields: {id: int, id2: int, kind: string, amount: decimal}}}
  b: {csv: {path: b.csv, compression: none}, schema: {fields: {code: string, word: string}}}
steps:
  - {name: made, from: a, set: {x: row.id + 1, y: row.amount * 2, z: 1 + 1, w: row.id + param.p + param.q}}
  - {name: kept, filter: row.id > 1}
  - {name: named, rename: {kind: sort}}
  - {name: texts, cast: {id: string}}
  - {name: sums, aggregate: {group_by: [id], compute: {n: count(), s: sum(row.amount)}}, trigger: {when: batch.rows > 4}}
  - {name: others, from: b, filter: "row.word != ''"}
  - {name: codes, select: [code], on_error: bad}
  - {name: sorted, gate: row.code > 'm', routes: {"true": spare, "false": continue}}
  - {name: thin, sample: {rate: 0.5}}
sinks:
  out: {csv: {path: out.csv, columns: [n, s]}, from: sums}
  rest: {jsonl: {path: rest.jsonl}, from: thin}
  spare: {jsonl: {path: spare.jsonl}}
  bad: {jsonl: {path: bad.jsonl}}
`

func TestMistakesHideNoOthers(t *testing.T) {
	require.NoError(t, compileAll(t, correct))
	for seed := range uint64(200) {
		if seed >= uint64(len(mistakes)) && seed%uint64(sample.Step(5)) != 0 {
			continue // of those with several mistakes some are enough by day
		}
		chance := rand.New(rand.NewPCG(seed, 1))
		document, want := correct, []string(nil)
		for i, mistake := range mistakes {
			if seed < uint64(len(mistakes)) && uint64(i) == seed || seed >= uint64(len(mistakes)) && chance.IntN(3) == 0 {
				require.Equal(t, 1, strings.Count(document, mistake.right), mistake.right)
				document, want = strings.Replace(document, mistake.right, mistake.wrong, 1), append(want, mistake.problem)
			}
		}
		if want == nil {
			continue
		}
		err := compileAll(t, document)
		require.Error(t, err)
		for _, problem := range want {
			require.ErrorContains(t, err, problem, "seed %d", seed)
		}
		require.Len(t, strings.Split(err.Error(), "\n"), len(want), "seed %d: %v\nwant %v", seed, err, fmt.Sprintf("%q", want))
	}
}

// A step that has a problem of its own leaves the names of the others known.
func TestProblemsOfAStepHideNoUnknownNames(t *testing.T) {
	for step, problem := range map[string]string{
		`{name: u, from: in, filter: "true"}`:            ``,
		`{name: u, from: in, fork: [u1, u1]}`:            `p.yaml:5:36: steps[0].fork[1]: "u1" is listed twice`,
		`{name: u, from: in, filter: "true", drop: [b]}`: `p.yaml:5:5: steps[0]: has drop and filter, but exactly one operation is allowed`,
		`{name: u, from: in}`:                            `p.yaml:5:5: steps[0]: has no operation: give exactly one of`,
	} {
		err := compileAll(t, `name: p
sources:
  in: {csv: {path: in.csv}, schema: {fields: {id: int, b: int}}, on_invalid: nowhere}
steps:
  - `+step+`
  - {name: s1, from: nobody, filter: row.id > 1}
  - {name: s2, from: nobody, filter: row.id > 1}
sinks:
  out: {csv: {path: out.csv}, from: s2}
`)
		want := []string{`sources.in.on_invalid: no sink named "nowhere"`, problem, `steps[1].from: no source or step named "nobody"`, `steps[2].from: no source or step named "nobody"`}
		want = slices.DeleteFunc(want, func(one string) bool { return one == "" })
		found := strings.Split(err.Error(), "\n")
		require.Len(t, found, len(want), "%s: %v", step, err)
		for i := range want {
			require.Contains(t, found[i], want[i], step)
		}
	}
}

// TestListedTwice: in a step that is a list of fields, one that is listed twice hides no unknown one beside it.
func TestListedTwice(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[pipeline.Step]()) {
		step, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if field.Tag.Get("one") != "operation" || field.Type != reflect.TypeFor[[]string]() || step == plan.Fork {
			continue // a fork lists branches
		}
		err := compileAll(t, `name: p
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, kind: string, n: int}}}}
steps: [{name: s, `+step+`: [knd, kind, id, kind]}]
sinks: {out: {csv: {path: out.csv}}}
`)
		require.Len(t, strings.Split(err.Error(), "\n"), 2, err)
		require.ErrorContains(t, err, `s[0].`+step+`[0]: no field named "knd" (did you mean "kind"?)`)
		require.ErrorContains(t, err, `s[0].`+step+`[3]: "kind" is listed twice`)
	}
}

// An unknown key may be the fork that has the branch.
func TestAnUnknownOperationMayHaveTheNames(t *testing.T) {
	require.EqualError(t, compileAll(t, `name: p
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
steps:
  - {name: u, frok: [a, b]}
  - {name: s1, from: a, filter: row.id > 1}
sinks: {out: {csv: {path: out.csv}, from: s1}}
`), `p.yaml:4:15: steps[0]: unknown key "frok" (did you mean "from"?)`)
}

func TestStepsOfOneNameAreListedByIt(t *testing.T) {
	require.EqualError(t, compileAll(t, `name: p
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
steps:
  - {name: twin, from: in, filter: row.id > 1}
  - {name: twin, filter: row.id > 1}
  - {name: last, from: nobody, filter: row.id > 1}
sinks: {out: {csv: {path: out.csv}, from: last}}
`), `p.yaml:5:12: steps[1].name: the name "twin" is taken by a step: sources, steps, branches and sinks share one name space
p.yaml:6:24: steps[2].from: no source or step named "nobody" (there are: in, twin, last)`)
}

func TestAForkWhoseBranchesAreAllTakenLeadsOn(t *testing.T) {
	err := compileAll(t, `name: p
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
steps:
  - {name: u, fork: [out, out]}
  - {name: s1, from: u, filter: row.id > 1}
sinks: {out: {csv: {path: out.csv}, from: s1}}
`)
	require.ErrorContains(t, err, `steps[0].fork[1]: "out" is listed twice`)
	require.ErrorContains(t, err, `sinks.out: the name "out" is taken by a branch`)
}

var damages = flag.Int("damages", 400, "how many damaged documents to compile")

var word = regexp.MustCompile(`[A-Za-z0-9_.]+|[{}\[\],:]`)

// Whatever is damaged, compiling ends with problems or a plan, and each problem has its place once.
func TestDamagedDocumentsAreCompiled(t *testing.T) {
	documents := []string{correct, golden["golden"], golden["graph"]}
	for seed := range uint64(*damages) {
		chance := rand.New(rand.NewPCG(seed, 2))
		document := documents[chance.IntN(len(documents))]
		for range 1 + chance.IntN(4) {
			at := word.FindAllStringIndex(document, -1)
			one, other := at[chance.IntN(len(at))], at[chance.IntN(len(at))]
			with := []string{"", "zz", document[other[0]:other[1]], "[]", "5"}[chance.IntN(5)]
			document = document[:one[0]] + with + document[one[1]:]
		}
		loaded, _ := pipeline.Load("p.yaml", []byte(document), pipeline.Environment{})
		if loaded == nil {
			continue
		}
		root, err := file.NewRoot(t.TempDir())
		require.NoError(t, err)
		_, err = plan.Compile(loaded, plugins{formats.Formats{Files: file.Access{Root: root}}})
		require.NoError(t, root.Close())
		require.Truef(t, len(loaded.Problems) == 0 || err != nil, "seed %d", seed)
		if err == nil {
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		slices.Sort(lines)
		require.Len(t, slices.Compact(lines), len(strings.Split(err.Error(), "\n")), "seed %d:\n%s\n%v", seed, document, err)
	}
}

// Where a parameter has no value, nothing else is wrong with what it would fill.
func TestAParameterWithoutValueIsOneProblem(t *testing.T) {
	text := source + "params: {day: {type: date}}\nsinks: {out: {jsonl: {path: \"${param:day}\"}}}\n"
	loaded, err := pipeline.Load("p.yaml", []byte(text), pipeline.Environment{})
	require.Error(t, err)
	root, err := file.NewRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	_, err = plan.Compile(loaded, plugins{formats.Formats{Files: file.Access{Root: root}}})
	require.EqualError(t, err, `p.yaml:4:10: params.day: the parameter "day" has no value: give one for the run, or declare a default`)
}
