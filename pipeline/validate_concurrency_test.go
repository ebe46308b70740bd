package pipeline_test

import "testing"

func TestConcurrencyProblems(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"no limit", small + "concurrency: {priority: 1}\n", "x.yaml:4:1: concurrency: limits nothing: give runs, such as runs: 1, or pools"},
		{"a key without a limit", small + "concurrency: {key: a}\npools: {db: 1}\n", "x.yaml:4:20: concurrency.key: is about the limit of the pipeline's runs, and there is none: add runs: 1"},
		{"when full without a limit", small + "concurrency: {when_full: skip}\npools: {db: 1}\n", "x.yaml:4:26: concurrency.when_full: is about the limit of the pipeline's runs, and there is none: add runs: 1"},
		{"no runs", small + "concurrency: {runs: 0}\n", "x.yaml:4:21: concurrency.runs: must be at least 1 and at most 1000, not 0"},
		{"what becomes of one more", small + "concurrency: {runs: 1, when_full: wait}\n", `x.yaml:4:35: concurrency.when_full: "wait" is not one of queue, skip, cancel, join`},
		{"a pool that is a list", small + "pools: [db]\n", "x.yaml:4:1: pools: expects a mapping of names to values, not a list"},
		{"a pool's name", small + "pools: {DB: 1}\n", `x.yaml:4:13: pools.DB: "DB" is not a name: use a to z, 0 to 9, _ and -, at most 63 characters, a letter or digit first`},
		{"a secret key", small + "concurrency: {runs: 1, key: \"${secret:x}\"}\n", "x.yaml:4:29: concurrency.key: ${secret:x}: a path is recorded, and a secret must not be"},
	})
}
