package crash

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/crash/lab"
	"waymark/tests/sample"
)

// Moments at which a program without a protection fails.
const (
	partWriting    = "sink.part.writing@2"
	payloadWriting = "payload.writing@3"
)

// lost are protections that can be taken away, and what the laboratory says of it.
var lost = map[string]struct {
	change
	crash string
	kind  lab.Kind
	says  string
	vain  time.Duration // how long the program may try again, if it does so until somebody stops it
}{
	"a part counts as confirmed before it is written": {
		change: change{
			file: "activities/write.go",
			old:  "if err := a.apply(ctx, r, target, effect); err != nil {",
			new: "if err := errors.Join(a.log.FinalizeEffect(ctx, effect.Attempt(a.worker), landscape.PartReceipt(effect)),\n" +
				"a.apply(ctx, r, target, effect)); err != nil {",
		},
		crash: partWriting, kind: lab.Stuck, says: "TARGET_CHANGED",
	},
	"a payload has its name before it is written": {
		change: change{
			file: "payload/fsstore/durable.go",
			old:  `temp := shard + "/" + tempPrefix + rand.Text()`, new: "temp := objectPath(key) + rand.Text()[:0]",
		},
		crash: payloadWriting, kind: lab.Torn, says: "payload corrupt", vain: 5 * time.Second,
	},
}

// TestProtectionsAreWhereTheyWere holds that the texts of protections are in the code, so that whoever changes one hears
// of it by day.
func TestProtectionsAreWhereTheyWere(t *testing.T) {
	for name, c := range lost {
		t.Run(name, func(t *testing.T) { c.applied(t) })
	}
}

// TestLabReportsLostProtection takes protections away, and requires that the laboratory says so of each. One program
// lacks them all: each is for another crash.
func TestLabReportsLostProtection(t *testing.T) {
	sample.Rarely(t) // it builds two programs
	var changes []change
	for _, c := range lost {
		changes = append(changes, c.change)
	}
	mutant := buildMutant(t, changes...)
	require.Zero(t, protected(t).Failed(), "with the protections nothing is wrong")
	for name, c := range lost {
		t.Run(name, func(t *testing.T) {
			findings := crash(t, mutant, c.crash, c.vain)
			require.True(t, slices.ContainsFunc(findings, func(f lab.Finding) bool {
				return f.Kind == c.kind && strings.Contains(f.What, c.says)
			}), "%v", findings)
		})
	}
}

// crash kills a run of the plain pipeline at the moment, and returns what was wrong after it.
func crash(t *testing.T, binary, at string, patience time.Duration) []lab.Finding {
	t.Helper()
	report := try(t, lab.Options{Binary: binary, Pipeline: "plain.yaml", Only: moments(t, at), Timeout: patience})
	require.Len(t, report.Singles, 1)
	require.True(t, report.Singles[0].Died)
	return report.Singles[0].Findings
}

var tried struct {
	sync.Once
	report *lab.Report
}

// protected returns what comes of it when a run of the reference pipeline and its recovery are killed, at the moments at which programs
// without a protection fail. It is tried once for all tests.
func protected(t *testing.T) *lab.Report {
	t.Helper()
	tried.Do(func() {
		report := try(t, lab.Options{Binary: build(t), Pipeline: "reference.yaml", Only: moments(t, payloadWriting, partWriting)})
		require.Len(t, report.Singles, 1)
		require.True(t, report.Singles[0].Died)
		require.Len(t, report.Pairs, 1)
		require.True(t, report.Pairs[0].Died)
		tried.report = report
	})
	require.NotNil(t, tried.report)
	return tried.report
}

// moments reads moments.
func moments(t *testing.T, texts ...string) (all []lab.Moment) {
	t.Helper()
	for _, text := range texts {
		moment, err := lab.ParseMoment(text)
		require.NoError(t, err)
		all = append(all, moment)
	}
	return all
}

// try uses the laboratory, one trial after the other.
func try(t *testing.T, o lab.Options) *lab.Report {
	t.Helper()
	o.Jobs, o.Seed, o.Scratch = 1, 1, filepath.Join(t.TempDir(), "scratch")
	report, err := lab.Run(t.Context(), o)
	require.NoError(t, err)
	return report
}
