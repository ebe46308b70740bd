package audit_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
)

// TestVerifyEvaluatesPoliciesAgain changes what is recorded of policies, and what they were evaluated on, past every trigger.
func TestVerifyEvaluatesPoliciesAgain(t *testing.T) {
	t.Setenv("REGION", "north")
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": input})
	_, err := s.Run(t, run, document+`policies:
  - {name: kept, assert: run.quarantined == 3 && edges.triage.discard == 1}
  - {name: told, assert: errors.DIVISION_BY_ZERO == 0, gate: warn}
  - {name: usual, assert: run.read > last(2).run.read, gate: seal}
`)
	require.NoError(t, err)
	report := verify(t, s, s.Log.Reader)
	require.Empty(t, report.Problems)
	require.Contains(t, report.Checked, audit.Check{What: audit.CheckedPolicies, Detail: "the results of 3 assertions, from the counts of the run"})
	for statement, want := range map[string]audit.Problem{
		`update policy_results set result = 'passed' where policy = 'told'`: {
			Kind: audit.RecordDiffers, Where: "policy told", Detail: `attempt 0 passed with {"errors.DIVISION_BY_ZERO":2} on record, and comes to failed with {"errors.DIVISION_BY_ZERO":2}`,
		},
		`update policy_results set figures = '{"errors.DIVISION_BY_ZERO":0}' where policy = 'told'`: {
			Kind: audit.RecordDiffers, Where: "policy told", Detail: `attempt 0 failed with {"errors.DIVISION_BY_ZERO":0} on record, and comes to failed with {"errors.DIVISION_BY_ZERO":2}`,
		},
		`delete from policy_results where policy = 'usual'`: {
			Kind: audit.RecordDiffers, Where: "policy usual",
			Detail: "no result is recorded, and it comes to error: 11 > null has no value: last(2).run.read is null, because there were fewer runs; test it with == null first (NULL_OPERAND)",
		},
		`update policy_results set result = 'failed' where policy = 'kept'`: {
			Kind: landscape.PolicyNotPassed, Detail: `: policy "kept": failed (policy_not_passed)`,
		},
		`update policies set gate = 'seal' where policy = 'kept'`: {
			Kind: audit.RecordDiffers, Where: "orders", Detail: `policies run-1/kept: gate should be "publish", the record has "seal"`,
		},
	} {
		found := verify(t, s, tampered(t, s, statement)).Problems
		require.True(t, slices.Contains(found, want), "%s: %v", statement, found)
	}
}
