package crash

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/lab"
)

// TestTheLaboratoryReportsAProtectionThatIsGone takes protections away, and requires that the laboratory says so of each. One program
// lacks them all: each is for another crash.
func TestTheLaboratoryReportsAProtectionThatIsGone(t *testing.T) {
	cases := map[string]struct {
		change
		crash string
		kind  lab.Kind
		says  string
	}{
		"a part counts as confirmed before it is written": {
			change: change{
				file: "activities/write.go",
				old:  "if err := a.apply(ctx, r, node.Sink.Target(in.Run), effect); err != nil {",
				new: "if err := errors.Join(a.log.FinalizeEffect(ctx, key, effect.Fence, a.worker, landscape.PartReceipt(effect)),\n" +
					"a.apply(ctx, r, node.Sink.Target(in.Run), effect)); err != nil {",
			},
			crash: "sink.part.writing@2", kind: lab.Stuck, says: "TARGET_CHANGED",
		},
		"a payload has its name before it is written": {
			change: change{
				file: "payload/fsstore/durable.go",
				old:  `temp := shard + "/" + tempPrefix + rand.Text()`, new: "temp := objectPath(key) + rand.Text()[:0]",
			},
			crash: "payload.writing@3", kind: lab.Torn, says: "payload corrupt",
		},
	}
	var changes []change
	for _, c := range cases {
		changes = append(changes, c.change)
	}
	mutant := buildMutant(t, changes...)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, crash(t, build(t), c.crash, 0), "with the protection nothing is wrong")
			findings := crash(t, mutant, c.crash, inVain)
			require.True(t, slices.ContainsFunc(findings, func(f lab.Finding) bool {
				return f.Kind == c.kind && strings.Contains(f.What, c.says)
			}), "%v", findings)
		})
	}
}

// inVain is how long a program may try that lacks a protection: it may do so until somebody stops it.
const inVain = 30 * time.Second

// crash kills a run of the reference pipeline at the moment, and returns what was wrong after it.
func crash(t *testing.T, binary, at string, patience time.Duration) []lab.Finding {
	t.Helper()
	moment, err := lab.ParseMoment(at)
	require.NoError(t, err)
	report, err := lab.Run(t.Context(), lab.Options{
		Binary: binary, Pipeline: "reference.yaml", Only: []lab.Moment{moment}, Jobs: 1, Scratch: filepath.Join(t.TempDir(), "scratch"),
		Patience: patience,
	})
	require.NoError(t, err)
	require.Len(t, report.Singles, 1)
	require.True(t, report.Singles[0].Died)
	return report.Singles[0].Findings
}
