package pipeline_test

import "testing"

func TestAttestProblems(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"never", small + "attest: {every: 24h, for: 1h}\n", "x.yaml:4:27: attest.for: is shorter than attest.every, so the outputs would never be read again: write a longer time, such as 90d"},
		{"for how long", small + "attest: {every: 24h}\n", `x.yaml:4:1: attest: the key "for" is missing`},
		{"how often", small + "attest: {for: 24h}\n", `x.yaml:4:1: attest: the key "every" is missing`},
		{"all the time", small + "attest: {every: 10ms, for: 1h}\n", "x.yaml:4:17: attest.every: must be at least 1s and at most 365d, not 10ms"},
		{"for ever", small + "attest: {every: 1d, for: 40000d}\n", "x.yaml:4:26: attest.for: must be at least 1s and at most 36500d, not 40000d"},
	})
}

func TestRetentionProblems(t *testing.T) {
	runProblemCases(t, []problemCase{
		{
			"nothing", small + "retention: {}\n",
			"x.yaml:4:1: retention: says how long nothing is kept: write a class with a time, such as source: 400d",
		},
		{
			"at once", small + "retention: {source: 0d}\n",
			"x.yaml:4:21: retention.source: must be at least 1s and at most 36500d, not 0d",
		},
		{
			"for ever", small + "retention:\n  debugging: 40000d\n",
			"x.yaml:5:14: retention.debugging: must be at least 1s and at most 36500d, not 40000d",
		},
		{
			"no time", small + "retention: {derived: forever}\n",
			`x.yaml:4:22: retention.derived: "forever" is not a length of time: ` +
				`write it as 250ms, 30s, 1h30m or 2d`,
		},
		{
			"another class", small + "retention: {kept: 400d}\n",
			`x.yaml:4:13: retention: unknown key "kept"; known are source, derived, debugging`,
		},
	})
}
