package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape/admit"
)

// TestNobodyWaitsForRunsThatNobodyExecutes, however many places the pool has, as long as it has none beside those that they hold, or wait for.
func TestNobodyWaitsForRunsThatNobodyExecutes(t *testing.T) {
	one := admit.Terms{Wants: []admit.Want{{Gate: "pool:db", Places: 1}}}
	holder, ahead := []admit.Claim{{Run: "a", Since: time.Unix(1, 0), Terms: one}}, []admit.Claim{{Run: "b", Since: time.Unix(2, 0), Terms: one}}
	for name, c := range map[string]struct {
		places         int64
		going, waiting []admit.Claim
		says           string
	}{
		"held":                     {1, holder, nil, "held by run a; the process of run a is gone: waymark serve continues it, as does waymark resume a"},
		"no places, held":          {0, holder, nil, "gives it one; run a has some still, and its process is gone: waymark serve continues it, as does waymark resume a"},
		"no places, another ahead": {0, nil, ahead, "gives it one; the process of run b is gone: waymark serve begins it, and waymark cancel b --why TEXT cancels it"},
		"no places, held by none":  {0, nil, nil, ""},
		"one beside it":            {2, holder, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			state := admit.State{Now: time.Unix(3, 0), Pools: map[string]int64{"pool:db": c.places}, Going: c.going, Waiting: c.waiting}
			err := unservedFirst(state, admit.Claim{Run: "c", Since: state.Now, Terms: one})
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
			var refused final
			require.ErrorAs(t, err, &refused)
			require.Equal(t, TypeHolderGone, refused.kind)
		})
	}
}
