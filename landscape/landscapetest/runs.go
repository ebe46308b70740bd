package landscapetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
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

	for prefix, want := range map[string][]string{"m": {"m", "ma", "mab", "mb"}, "ma": {"ma", "mab"}, "a": {"a", "a%"}, "a%": {"a%"}, "mac": nil, "z": nil} {
		require.Equal(t, want, ids(reader.RunsWith(ctx, prefix)), prefix)
	}
	all := ids(reader.RunsWith(ctx, ""))
	require.True(t, slices.IsSorted(all))
	require.Len(t, all, len(begun))
}
