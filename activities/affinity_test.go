package activities_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/landscape"
)

// TestAProcessThatMissesAnOutputIsNamed takes away what another process wrote, as if it had written to a disk of its own.
func TestAProcessThatMissesAnOutputIsNamed(t *testing.T) {
	for _, among := range []activities.Affinity{{}, fellow} {
		r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
		write := r.begin()[0]
		require.NoError(t, os.RemoveAll(filepath.Join(r.folder, "out")))
		r.become(activities.NewAt(among, r.log, r.payloads, r.planner, "test"))
		_, err := try[none](r, act.Write, write)
		require.Contains(t, requireFinal(t, err, activities.TypeTarget), "TARGET_CHANGED: what this run wrote is gone")
		if among.Files == "" {
			require.NotContains(t, err.Error(), "--files", "a process that works alone has no fellows")
			continue
		}
		host, err2 := os.Hostname()
		require.NoError(t, err2)
		require.ErrorContains(t, err, host)
		require.ErrorContains(t, err, `which sees the files of "disk": all workers with --files disk must see the same files`)
	}
}

func TestARunWhoseIDLeadsElsewhereIsNotOpened(t *testing.T) {
	for _, id := range []string{"", "last", "q/../y", "../../../../evil"} {
		r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
		in := r.open()
		in.Run = id
		_, err := try[resumepoint.Plan](r, act.OpenRun, in)
		require.Contains(t, requireFinal(t, err, activities.TypeInput), "cannot be the id of a run")
		_, err = r.log.Run(t.Context(), id)
		require.ErrorIs(t, err, landscape.ErrNotFound)
		_, err = os.Stat(filepath.Join(r.folder, "out"))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestSuggestsDeployedPipeline(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "weekly.yaml"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "orders"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders", "pipeline.yaml"), nil, 0o600))
	r := newRig(t, simple("quarantine"), nil)
	at := fellow
	at.Pipelines = folder
	r.become(activities.NewAt(at, r.log, r.payloads, r.planner, "test"))
	for name, meant := range map[string]string{"weakly": ` (did you mean "weekly"?)`, "order": ` (did you mean "orders"?)`, "payroll": ": neither payroll.yaml nor"} {
		_, err := try[resumepoint.Plan](r, act.OpenRun, activities.OpenInput{Run: "of-" + name, Pipeline: name})
		says := requireFinal(t, err, activities.TypeNoPipeline)
		require.Contains(t, says, `no pipeline "`+name+`" is deployed`)
		require.Contains(t, says, meant)
	}
}
