package plugintest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/plugin"
)

func (s targetSuite) testCheckStaged(t *testing.T) {
	staged := func(t *testing.T, target plugin.Target, o Output) error {
		stager, is := target.(plugin.Stager)
		require.True(t, is)
		return stager.CheckStaged(t.Context(), o.Header, o.Parts)
	}
	s.run(t, "changes nothing, and succeeds before and after the output became visible", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		require.NoError(t, staged(t, target, o))
		require.NoError(t, staged(t, p.Target("one", false), o))
		requireInvisible(t, p)
		requirePublished(t, p, target, o)
		require.NoError(t, staged(t, target, o))
		requireVisible(t, p, o)
		require.Zero(t, p.Remains())
	})
	s.run(t, "refuses what Publish refuses", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		RequireCode(t, targetChanged, staged(t, target, o))
		o.Write(t, target)
		more, gap := o, o
		more.Parts, gap.Parts = o.Parts[:3], o.Parts[1:]
		RequireCode(t, targetChanged, staged(t, target, more))
		RequireCode(t, targetRefused, staged(t, target, gap))
		for i, part := range o.Parts {
			if part.Bytes == 0 {
				continue
			}
			p.Tamper("one", part)
			RequireCode(t, targetChanged, staged(t, target, o))
			require.NoError(t, target.Write(t.Context(), part, o.Data[i]))
		}
		require.NoError(t, staged(t, target, o))
		requirePublished(t, p, target, o)
	})
}
