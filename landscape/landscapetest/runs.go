package landscapetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// recentRuns begins runs whose ids are in another order than their times, two at a time.
func recentRuns(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	n := 0
	log := landscape.New(d, func() time.Time { return time.Unix(1000+int64(n/2), 0) })
	begun := []string{"m", "ma", "b", "mab", "a%", "mb", "a"}
	for _, id := range begun {
		require.NoError(t, Scene{Run: id}.Begin(ctx, log))
		n++
	}
	reader := landscape.NewReader(d)
	ids := func(heads []landscape.RunHead, err error) (all []string) {
		require.NoError(t, err)
		for _, head := range heads {
			all = append(all, head.ID)
		}
		return all
	}
	newest := []string{"a", "mb", "a%", "mab", "b", "ma", "m"}

	require.Equal(t, newest, ids(reader.RecentRuns(ctx, nil, 0)))
	count, err := reader.CountRuns(ctx)
	require.NoError(t, err)
	require.Equal(t, len(begun), count)
	for limit := range len(begun) + 1 {
		var paged []string
		var after *landscape.RunStart
		for {
			page, err := reader.RecentRuns(ctx, after, limit)
			require.NoError(t, err)
			if page == nil {
				break
			}
			require.LessOrEqual(t, len(page), max(limit, len(begun)*(1-min(limit, 1))))
			paged = append(paged, ids(page, nil)...)
			last := page[len(page)-1].Start()
			after = &last
		}
		require.Equal(t, newest, paged, "%d at a time", limit)
	}
	heads, err := reader.RecentRuns(ctx, nil, 1)
	require.NoError(t, err)
	run, err := reader.Run(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, run.RunHead, heads[0])

	runsWithStatus(t, log, ids)

	for prefix, want := range map[string][]string{"m": {"m", "ma", "mab", "mb"}, "ma": {"ma", "mab"}, "a": {"a", "a%"}, "a%": {"a%"}, "mac": nil, "z": nil} {
		require.Equal(t, want, ids(reader.RunsWith(ctx, prefix)), prefix)
	}
	all := ids(reader.RunsWith(ctx, ""))
	require.True(t, slices.IsSorted(all))
	require.Len(t, all, len(begun))
}

// runsWithStatus interrupts some of the runs of recentRuns, and pages through both kinds.
func runsWithStatus(t *testing.T, log *landscape.Log, ids func([]landscape.RunHead, error) []string) {
	ctx := t.Context()
	for _, id := range []string{"mab", "a", "m"} {
		require.NoError(t, log.StopRun(ctx, id, pipeline.Interrupted, "its process ended"))
	}
	for status, want := range map[pipeline.RunStatus][]string{
		pipeline.Interrupted: {"a", "m", "mab"}, pipeline.Running: {"a%", "b", "ma", "mb"}, pipeline.Completed: nil,
	} {
		require.Equal(t, want, ids(log.RunsWithStatus(ctx, status, "", 0)), status)
		for limit := 1; limit <= len(want); limit++ {
			var paged []string
			for after := ""; ; after = paged[len(paged)-1] {
				page := ids(log.RunsWithStatus(ctx, status, after, limit))
				require.LessOrEqual(t, len(page), limit)
				if page == nil {
					break
				}
				paged = append(paged, page...)
			}
			require.Equal(t, want, paged, "%s, %d at a time", status, limit)
		}
	}
	require.NoError(t, log.Resume(ctx, resumptionOf("m", 1)))
	require.Equal(t, []string{"a", "mab"}, ids(log.RunsWithStatus(ctx, pipeline.Interrupted, "", 0)))
	head, err := log.RunsWithStatus(ctx, pipeline.Running, "b", 1)
	require.NoError(t, err)
	run, err := log.Run(ctx, "m")
	require.NoError(t, err)
	require.Equal(t, []landscape.RunHead{run.RunHead}, head)
}

// linkedRuns links runs to others, and publishes outputs in the same places.
func linkedRuns(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	parents := map[string]string{"a": "", "b": "a", "ab": "b", "c": "a", "d": ""}
	for _, id := range []string{"a", "d", "c", "b", "ab"} {
		run, graph := Scene{Run: id}.Graph()
		if run.Parent = parents[id]; run.Parent != "" {
			run.Link = landscape.ForkLink
		}
		require.NoError(t, log.BeginRun(ctx, run, graph))
	}
	for parent, want := range map[string][]landscape.LinkedRun{
		"a": {{Parent: "a", Run: "b", Link: landscape.ForkLink}, {Parent: "a", Run: "c", Link: landscape.ForkLink}},
		"b": {{Parent: "b", Run: "ab", Link: landscape.ForkLink}}, "ab": nil, "d": nil, "nothing": nil,
	} {
		linked, err := log.LinkedRuns(ctx, parent)
		require.NoError(t, err)
		require.Equal(t, want, linked, parent)
	}

	published := func(run, sink, path string, at landscape.Micros) landscape.ArtifactRecord {
		return landscape.ArtifactRecord{Run: run, Sink: sink, Path: path, Bytes: 1, Rows: 1, SHA256: digest(path), Published: at}
	}
	var insert []landscape.Record
	first := published("d", "review", "out/review", 100)
	for _, record := range []landscape.ArtifactRecord{
		first, published("a", "review", "out/other", 150), published("b", "review", "out/review", 90), published("c", "review", "out/review", 200),
		published("ab", "review", "out/review", 101), published("ab", "all", "out/all", 300),
	} {
		insert = append(insert, record)
	}
	require.NoError(t, d.Commit(ctx, landscape.Tx{Insert: insert}))
	for _, test := range []struct {
		artifact landscape.ArtifactRecord
		want     string
	}{
		{first, "c"}, {published("b", "review", "out/review", 90), "c"}, {published("ab", "review", "out/review", 101), "c"},
		{published("c", "review", "out/review", 200), ""}, {published("a", "review", "out/other", 150), ""}, {published("a", "review", "out/all", 10), "ab"},
	} {
		run, err := log.ReplacedBy(ctx, test.artifact)
		require.NoError(t, err)
		require.Equal(t, test.want, run, "%s of %s", test.artifact.Path, test.artifact.Run)
	}
	all, err := log.Publications(ctx, func(path string) bool { return path == "out/review" })
	require.NoError(t, err)
	var runs []string
	for _, artifact := range all {
		runs = append(runs, artifact.Run)
	}
	require.Equal(t, []string{"c", "ab", "d", "b"}, runs, "the last one first")
}
