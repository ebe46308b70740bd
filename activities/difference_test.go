package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
)

func TestALongDifferenceIsCutBehindALine(t *testing.T) {
	then, now := []byte("name: orders\n"), []byte("name: aufträge\n")
	whole := activities.Difference("on record", then, "now", now, 1000)
	require.True(t, strings.HasSuffix(whole, "\n-name: orders\n+name: aufträge"), whole)
	for most := range len(whole) {
		cut := activities.Difference("on record", then, "now", now, most)
		shown, ok := strings.CutSuffix(cut, "…")
		require.True(t, ok, cut)
		require.LessOrEqual(t, len(shown), most)
		require.True(t, strings.HasPrefix(whole, shown))
		require.True(t, shown == "" || strings.HasSuffix(shown, "\n"), cut)
	}
	require.Equal(t, whole, activities.Difference("on record", then, "now", now, len(whole)))
}
