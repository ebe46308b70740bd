package pipeline_test

import (
	"testing"
)

// step returns a document whose one step, in line 4, has the name a and these keys.
func step(keys string) string { return small + "steps: [{name: a, " + keys + "}]\n" }

const lengthOfTime = " is not a length of time: write it as 250ms, 30s, 1h30m or 2d"

func TestProblemsOfNodesThatRowsComeFrom(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"nothing", step("from: [], filter: x"), "x.yaml:4:19: steps[0].from: is empty: give at least one element, or leave the key out"},
		{"an empty text", step("from: '', filter: x"), "x.yaml:4:25: steps[0].from: must not be empty"},
		{"a node twice", step("from: [in, in], filter: x"), `x.yaml:4:30: steps[0].from[1]: "in" is listed twice`},
		{"a mapping", step("from: {in: x}, filter: x"), "x.yaml:4:19: steps[0].from: expects a text or a list, such as [a, b], not a mapping"},
		{"a list in a list", step("from: [[in]], filter: x"), "x.yaml:4:26: steps[0].from[0]: expects a text, not a list; write a text with special characters in quotes"},
		{"nothing in the list", step("from: [null], filter: x"), "x.yaml:4:26: steps[0].from[0]: has no value: give one, or leave the key out"},
		{"a sink's", "name: x\nsources: {in: {csv: {path: in.csv}}}\nsinks: {out: {csv: {path: out.csv}, from: []}}\n",
			"x.yaml:3:37: sinks.out.from: is empty: give at least one element, or leave the key out"},
	})
}

func TestProblemsOfForks(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"no branch", step("fork: []"), "x.yaml:4:19: steps[0].fork: is empty: give at least one element, or leave the key out"},
		{"a branch twice", step("fork: [b, b]"), `x.yaml:4:29: steps[0].fork[1]: "b" is listed twice`},
		{"a branch without a name", step(`fork: [b, ""]`), `x.yaml:4:29: steps[0].fork[1]: ""` + notName},
		{"a branch that is refused", step("fork: [b, true, null, [c]]"), "" +
			`x.yaml:4:29: steps[0].fork[1]: true is a bool to YAML: write "true" in quotes` + "\n" +
			"x.yaml:4:35: steps[0].fork[2]: has no value: give one, or leave the key out\n" +
			"x.yaml:4:41: steps[0].fork[3]: expects a text, not a list; write a text with special characters in quotes"},
		{"BI-093 a path", step("fork: [../b]"), `x.yaml:4:26: steps[0].fork[0]: "../b"` + notName},
		{"a word of routes", step("fork: [continue]"), `x.yaml:4:26: steps[0].fork[0]: "continue" is a word of routes and policies, not a name: choose another`},
		{"a source's name", step("fork: [in]"), `x.yaml:4:26: steps[0].fork[0]: the name "in" is taken by a source: sources, steps, branches and sinks share one name space`},
		{"the step's own name", step("fork: [a]"), `x.yaml:4:26: steps[0].fork[0]: the name "a" is taken by a step: sources, steps, branches and sinks share one name space`},
		{"a sink's name", step("fork: [out]"), `x.yaml:3:9: sinks.out: the name "out" is taken by a branch: sources, steps, branches and sinks share one name space`},
		{"a later step's name", small + "steps: [{name: a, fork: [b]}, {name: b, filter: x}]\n",
			`x.yaml:4:38: steps[1].name: the name "b" is taken by a branch: sources, steps, branches and sinks share one name space`},
		{"another fork's branch", small + "steps: [{name: a, fork: [b]}, {name: c, fork: [b]}]\n",
			`x.yaml:4:48: steps[1].fork[0]: the name "b" is taken by a branch: sources, steps, branches and sinks share one name space`},
		{"a text", step("fork: b"), `x.yaml:4:25: steps[0].fork: expects a list, such as [a, b], not "b"`},
	})
}

func TestProblemsOfCoalesces(t *testing.T) {
	join := func(keys string) string { return step("coalesce: {b: b, c: d}, " + keys) }
	runProblemCases(t, []problemCase{
		{"no branch", step("coalesce: {}"), "x.yaml:4:19: steps[0].coalesce: is empty: give at least one entry, or leave the key out"},
		{"a list", step("coalesce: [b], policy: {quorum: 2}"), "x.yaml:4:19: steps[0].coalesce: expects a mapping of names to values, not a list"},
		{"BI-097 a branch twice", step("coalesce: {b: b, b: c}"), `x.yaml:4:36: steps[0].coalesce: the key "b" is here twice: first in line 4`},
		{"an unknown policy", join("policy: best-effort"), `x.yaml:4:51: steps[0].policy: "best-effort" is not one of require_all, best_effort, first (did you mean "best_effort"?); a number of branches is written {quorum: 2}`},
		{"a quorum without a number", join("policy: quorum"), `x.yaml:4:51: steps[0].policy: "quorum" is not one of require_all, best_effort, first; a number of branches is written {quorum: 2}`},
		{"a policy of another shape", join("policy: []"), "x.yaml:4:43: steps[0].policy: expects a text or a mapping of keys to values, not a list"},
		{"an empty policy", join("policy: {}"), `x.yaml:4:43: steps[0].policy: the key "quorum" is missing`},
		{"a policy without a value", join("policy: null"), "x.yaml:4:43: steps[0].policy: has no value: give one, or leave the key out"},
		{"another key of a policy", join("policy: {quorom: 2}"), `x.yaml:4:52: steps[0].policy: unknown key "quorom" (did you mean "quorum"?)`},
		{"a quorum that is a text", join("policy: {quorum: \"x\"}"), "x.yaml:4:60: steps[0].policy.quorum: expects an integer, without quotes, not \"x\""},
		{"a quorum that is a word", join("policy: {quorum: all}"), `x.yaml:4:60: steps[0].policy.quorum: "all"` + notInteger},
		{"a quorum of none", join("policy: {quorum: 0}"), "x.yaml:4:60: steps[0].policy.quorum: must be at least 1 and at most 10000, not 0"},
		{"a quorum of more than all", join("policy: {quorum: 3}"), "x.yaml:4:60: steps[0].policy.quorum: 3 is more than the 2 branches that the coalesce has"},
		{"a quorum of two of one", step("coalesce: {b: b}, policy: {quorum: 2}"), "x.yaml:4:54: steps[0].policy.quorum: 2 is more than the 1 branch that the coalesce has"},
		{"an unknown merge", join("merge: unoin"), `x.yaml:4:50: steps[0].merge: "unoin" is not one of union, nested (did you mean "union"?); one branch's row is written {select: branch}`},
		{"a list of branches to select", join("merge: {select: [b]}"), "x.yaml:4:51: steps[0].merge.select: expects a text, not a list; write a text with special characters in quotes"},
		{"an unknown branch to select", join("merge: {select: cc}"), `x.yaml:4:59: steps[0].merge.select: the coalesce has no branch named "cc" (did you mean "c"?); it has b, c`},
		{"the node and not the branch to select", join("merge: {select: d}"), `x.yaml:4:59: steps[0].merge.select: the coalesce has no branch named "d"; it has b, c`},
		{"a collision of nested rows", join("merge: nested, collision: first"), "x.yaml:4:69: steps[0].collision: only a union has collisions: delete collision, or write merge: union"},
		{"a collision of one row", join("merge: {select: b}, collision: fail"), "x.yaml:4:74: steps[0].collision: only a union has collisions: delete collision, or write merge: union"},
		{"an unknown collision", join("collision: lsat"), `x.yaml:4:54: steps[0].collision: "lsat" is not one of last, first, fail (did you mean "last"?)`},
		{"a timeout without a unit", join("timeout: 30"), `x.yaml:4:52: steps[0].timeout: "30"` + lengthOfTime},
		{"BI-085 an endless timeout", join("timeout: .inf"), `x.yaml:4:52: steps[0].timeout: ".inf"` + lengthOfTime},
		{"a negative timeout", join("timeout: -1s"), `x.yaml:4:52: steps[0].timeout: "-1s"` + lengthOfTime},
		{"a timeout in two words", join("timeout: 1h 30m"), `x.yaml:4:52: steps[0].timeout: "1h 30m"` + lengthOfTime},
		{"a timeout of nothing", join("timeout: 0s"), "x.yaml:4:52: steps[0].timeout: must be at least 1ms and at most 365d, not 0s"},
		{"a timeout of two years", join("timeout: 730d"), "x.yaml:4:52: steps[0].timeout: must be at least 1ms and at most 365d, not 730d"},
		{"BI-084 a timeout of ages", join("timeout: 99999d99999999h"), `x.yaml:4:52: steps[0].timeout: "99999d99999999h" is too long a time`},
		{"BI-084 a sum of ages", join("timeout: 99999d2000000h"), `x.yaml:4:52: steps[0].timeout: "99999d2000000h" is too long a time`},
		{"an empty timeout", join("timeout: ''"), `x.yaml:4:52: steps[0].timeout: ""` + lengthOfTime},
		{"a timeout that is a mapping", join("timeout: {s: 1}"), "x.yaml:4:43: steps[0].timeout: expects a size or a duration, not a mapping"},
	})
}

func TestProblemsOfKeysOfOtherOperations(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"a coalesce's", step("filter: x, policy: first, merge: nested, collision: last, timeout: 1s"), "" +
			"x.yaml:4:38: steps[0].policy: a policy belongs to a coalesce: add coalesce with the branches, or delete policy\n" +
			"x.yaml:4:52: steps[0].merge: merge belongs to a coalesce: add coalesce with the branches, or delete merge\n" +
			"x.yaml:4:71: steps[0].collision: a collision belongs to a coalesce: add coalesce with the branches, or delete collision\n" +
			"x.yaml:4:86: steps[0].timeout: a timeout belongs to a coalesce: add coalesce with the branches, or delete timeout"},
		{"a fork with routes", step("fork: [b], routes: {b: out}"), "x.yaml:4:30: steps[0].routes: routes belong to a gate: add gate with the expression for the label, or delete routes"},
		{"a trigger of a filter", step("filter: x, trigger: {rows: 1}"), "x.yaml:4:30: steps[0].trigger: a trigger belongs to an aggregate or a sort: delete trigger"},
		{"a trigger of a deduplicate", step("deduplicate: {key: [b], keep: last}, trigger: {rows: 1}"), "x.yaml:4:56: steps[0].trigger: a trigger belongs to an aggregate or a sort: delete trigger"},
	})
}

func TestProblemsOfBatches(t *testing.T) {
	sum := func(keys string) string { return step("aggregate: {compute: {n: count()}}, " + keys) }
	runProblemCases(t, []problemCase{
		{"over without rows", sum("trigger: {after: 1s, over: step}"), "x.yaml:4:82: steps[0].trigger.over: says what rows counts: give rows, or delete over"},
		{"over something else", sum("trigger: {rows: 1, over: all}"), `x.yaml:4:80: steps[0].trigger.over: "all" is not one of group, step`},
		{"nothing to compute", step("aggregate: {group_by: [b]}"), `x.yaml:4:19: steps[0].aggregate: the key "compute" is missing`},
		{"an empty compute", step("aggregate: {compute: {}}"), "x.yaml:4:31: steps[0].aggregate.compute: is empty: give at least one entry"},
		{"an empty expression", step("aggregate: {compute: {n: ''}}"), "x.yaml:4:44: steps[0].aggregate.compute.n: must not be empty"},
		{"a group's field twice", step("aggregate: {group_by: [b, b], compute: {n: count()}}"), `x.yaml:4:45: steps[0].aggregate.group_by[1]: "b" is listed twice`},
		{"a group's field is computed", step("aggregate: {group_by: [b], compute: {b: count()}}"), `x.yaml:4:59: steps[0].aggregate.compute.b: "b" is a field of group_by already: choose another name`},
		{"an unknown mode", step("aggregate: {compute: {n: count()}, mode: passthru}"), `x.yaml:4:60: steps[0].aggregate.mode: "passthru" is not one of transform, passthrough (did you mean "passthrough"?)`},
		{"no rows expected", step("aggregate: {compute: {n: count()}, expect_rows: 0}"), "x.yaml:4:67: steps[0].aggregate.expect_rows: must be at least 1 and at most 1000000, not 0"},
		{"an empty trigger", sum("trigger: {}"), "x.yaml:4:55: steps[0].trigger: is empty: give rows, after or when, or leave the key out"},
		{"a trigger that is a number", sum("trigger: 10"), `x.yaml:4:64: steps[0].trigger: expects a mapping of keys to values, not "10"`},
		{"a trigger of no rows", sum("trigger: {rows: 0, after: 0s}"), "" +
			"x.yaml:4:71: steps[0].trigger.rows: must be at least 1 and at most 1000000, not 0\n" +
			"x.yaml:4:81: steps[0].trigger.after: must be at least 1ms and at most 365d, not 0s"},
		{"a field that the trigger cannot see", step("aggregate: {compute: {rows: count()}}, trigger: {when: batch.rows > 1}"),
			"x.yaml:4:47: steps[0].aggregate.compute.rows: batch.rows is the number of rows in trigger.when: choose another name"},
		{"a sort by nothing", step("sort: {top: 3}"), `x.yaml:4:19: steps[0].sort: the key "by" is missing`},
		{"a sort by a list", step("sort: {by: [b]}"), "x.yaml:4:26: steps[0].sort.by: expects a mapping of names to values, not a list"},
		{"an unknown order", step("sort: {by: {b: down}}"), `x.yaml:4:34: steps[0].sort.by.b: "down" is not one of asc, desc`},
		{"the first none", step("sort: {by: {b: asc}, top: 0}"), "x.yaml:4:45: steps[0].sort.top: must be at least 1 and at most 1000000, not 0"},
		{"a sort when", step("sort: {by: {b: asc}}, trigger: {when: batch.rows > 1}"), "x.yaml:4:57: steps[0].trigger.when: a sort has no computed fields to look at: write rows or after, or delete when"},
		{"no key", step("deduplicate: {keep: first}"), `x.yaml:4:19: steps[0].deduplicate: the key "key" is missing`},
		{"a key twice", step("deduplicate: {key: [b, c, b]}"), `x.yaml:4:45: steps[0].deduplicate.key[2]: "b" is listed twice`},
		{"an unknown row to keep", step("deduplicate: {key: [b], keep: newest}"), `x.yaml:4:49: steps[0].deduplicate.keep: "newest" is not one of first, last`},
	})
}

func TestProblemsOfExpandsAndSamples(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"no field", step("expand: {as: b}"), `x.yaml:4:19: steps[0].expand: the key "field" is missing`},
		{"element and number in one field", step("expand: {field: b, as: c, index: c}"), `x.yaml:4:52: steps[0].expand.index: the element is in "c" already: choose another field`},
		{"the number over the element", step("expand: {field: b, index: b}"), `x.yaml:4:45: steps[0].expand.index: the element is in "b" already: choose another field`},
		{"nothing to split by", step("expand: {field: b, split: ''}"), "x.yaml:4:45: steps[0].expand.split: must not be empty: it separates the elements of a text"},
		{"no rate", step("sample: {seed: 1}"), `x.yaml:4:19: steps[0].sample: the key "rate" is missing`},
		{"a rate above 1", step("sample: {rate: 1.01}"), `x.yaml:4:34: steps[0].sample.rate: "1.01" is not a share: write a number from 0 to 1, such as 0.1`},
		{"a negative rate", step("sample: {rate: -0.5}"), `x.yaml:4:34: steps[0].sample.rate: "-0.5" is not a share: write a number from 0 to 1, such as 0.1`},
		{"per cent", step("sample: {rate: 10%}"), `x.yaml:4:34: steps[0].sample.rate: "10%" is not a share: write a number from 0 to 1, such as 0.1`},
		{"BI-085 not a number", step("sample: {rate: .nan}"), `x.yaml:4:34: steps[0].sample.rate: ".nan" is not a share: write a number from 0 to 1, such as 0.1`},
		{"an empty rate", step("sample: {rate: ''}"), `x.yaml:4:34: steps[0].sample.rate: "" is not a share: write a number from 0 to 1, such as 0.1`},
		{"a reference for a rate", step(`sample: {rate: "${param:r}"}`), "x.yaml:4:34: steps[0].sample.rate: ${param:r}: references are not replaced in values that are kept as written"},
		{"a field twice", step("sample: {rate: 0.1, by: [b, b]}"), `x.yaml:4:47: steps[0].sample.by[1]: "b" is listed twice`},
	})
}

func TestProblemsOfLookups(t *testing.T) {
	table := func(format, keys string) string { return step("lookup: {" + format + ", " + keys + "}") }
	const csv, schema = "csv: {path: t.csv}", "schema: {fields: {code: string, town: string?}}"
	runProblemCases(t, []problemCase{
		{"no table", step("lookup: {on: {b: c}, add: {d: e}}"), "x.yaml:4:19: steps[0].lookup: has no format: give exactly one of csv, jsonl"},
		{"two tables", step("lookup: {csv: {path: t}, jsonl: {path: t}, on: {b: c}, add: {d: e}}"), "x.yaml:4:19: steps[0].lookup: has csv and jsonl, but exactly one format is allowed"},
		{"nothing to find by, nothing to add", table(csv, "missing: refuse"), "x.yaml:4:19: steps[0].lookup: the key \"on\" is missing\nx.yaml:4:19: steps[0].lookup: the key \"add\" is missing"},
		{"empty", table(csv, "on: {}, add: {}"), "" +
			"x.yaml:4:48: steps[0].lookup.on: is empty: give at least one entry\n" +
			"x.yaml:4:56: steps[0].lookup.add: is empty: give at least one entry"},
		{"null without quotes", table(csv, "on: {b: c}, add: {d: e}, missing: null"), "x.yaml:4:73: steps[0].lookup.missing: has no value: give one, or leave the key out"},
		{"an unknown word", table(csv, "on: {b: c}, add: {d: e}, missing: fail"), `x.yaml:4:82: steps[0].lookup.missing: "fail" is not one of null, refuse`},
		{"fields that the table lacks", table(csv+", "+schema, "on: {b: cod}, add: {d: tow}"), "" +
			`x.yaml:4:105: steps[0].lookup.on.b: the schema of the table has no field "cod" (did you mean "code"?)` + "\n" +
			`x.yaml:4:120: steps[0].lookup.add.d: the schema of the table has no field "tow" (did you mean "town"?)`},
		{"a unique field", table(csv+", schema: {fields: {c: {type: int, unique: true}, e: int}}", "on: {b: c}, add: {d: e}"),
			"x.yaml:4:89: steps[0].lookup.schema.fields.c.unique: a table has one row for each key anyway: delete unique"},
		{"an option of the format", table("csv: {path: t.csv, delimiter: xx}", "on: {b: c}, add: {d: e}"),
			`x.yaml:4:58: steps[0].lookup.csv.delimiter: "xx": write the word tab, or one ASCII character that is not a letter, a digit or a line end`},
		{"an unknown type", table(csv+", schema: {fields: {c: integer}}", "on: {b: c}, add: {d: c}"),
			`x.yaml:4:69: steps[0].lookup.schema.fields.c: "integer" is not one of string, int, float, bool, date, timestamp, decimal, json; an optional field has a ? after its type`},
		{"BI-099 a sink over a table", table("csv: {path: ./OUT.csv}", "on: {b: c}, add: {d: e}"), `x.yaml:3:27: sinks.out.csv.path: the sink would write to what lookup "a" reads`},
	})
}
