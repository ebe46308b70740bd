package pipeline_test

import (
	"strings"
	"testing"
)

func TestPolicyProblems(t *testing.T) {
	policy := func(name string) string { return small + "policies:\n  - {assert: run.read > 0, name: " + name + "}\n" }
	long := strings.Repeat("x", 101)
	runProblemCases(t, []problemCase{
		{"spaces around", policy(`" a"`), `x.yaml:5:34: policies[0].name: " a" is not a name of a policy: use one line of visible characters, without spaces around it`},
		{"two lines", policy(`"a\nb"`), `x.yaml:5:34: policies[0].name: "a\nb" is not a name of a policy: use one line of visible characters, without spaces around it`},
		{"too long", policy(long), `x.yaml:5:34: policies[0].name: "` + long[:64] + `"… is not a name of a policy: at most 100 bytes are allowed`},
		{"twice", policy("a") + "  - {assert: run.read > 1, name: a}\n", `x.yaml:6:34: policies[1].name: two policies are named "a"`},
		{"empty", policy(`""`), "x.yaml:5:34: policies[0].name: must not be empty"},
		{"no assertion", small + "policies: [{name: a}]\n", `x.yaml:4:12: policies[0]: the key "assert" is missing`},
		{"another gate", small + "policies: [{name: a, assert: 'true', gate: stop}]\n", `x.yaml:4:44: policies[0].gate: "stop" is not one of publish, warn, seal`},
		{"a reference", small + "policies: [{name: a, assert: 'run.read > ${X}'}]\n", `x.yaml:4:30: policies[0].assert: ${X}: references are not replaced in expressions: declare a parameter and write param.NAME`},
	})
}

func TestTotalProblems(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"not a name", small + "totals: {a b: row.x}\n", `x.yaml:4:15: totals["a b"]: "a b" is not a name: use a to z, 0 to 9, _ and -, at most 63 characters, a letter or digit first`},
		{"a word", small + "totals: {discard: row.x}\n", `x.yaml:4:19: totals.discard: "discard" is a word of routes and policies, not a name: choose another`},
		{"a list", small + "totals: [row.x]\n", `x.yaml:4:1: totals: expects a mapping of names to values, not a list`},
		{"a reference", small + "totals: {a: '${X}'}\n", `x.yaml:4:13: totals.a: ${X}: references are not replaced in expressions: declare a parameter and write param.NAME`},
	})
}
