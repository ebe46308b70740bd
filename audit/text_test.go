package audit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// TestReportCounts holds that what there is one of is said so.
func TestReportCounts(t *testing.T) {
	for want, report := range map[string]audit.Report{
		"run r (empty): 0 rows in 0 chunks and 0 outputs read again, 0 hashes compared: everything that can be computed again is true\n": {Status: "empty"},
		"run r (completed): 1 row in 1 chunk and 1 output read again, 1 fold taken again, 1 hash compared: 1 problem\n": {
			Status: "completed", Rows: 1, Chunks: 1, Artifacts: 1, Folds: 1, Hashes: 1, Problems: make([]audit.Problem, 1),
		},
		"run r (completed): 2 rows in 2 chunks and 2 outputs read again, 2 folds taken again, 2 hashes compared: 2 problems\n": {
			Status: "completed", Rows: 2, Chunks: 2, Artifacts: 2, Folds: 2, Hashes: 2, Problems: make([]audit.Problem, 2),
		},
	} {
		var b strings.Builder
		report.Run = "r"
		require.NoError(t, report.WriteText(&b))
		require.True(t, strings.HasSuffix(b.String(), want), "%s, want %s", b.String(), want)
	}
}
