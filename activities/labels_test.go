package activities

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestUsableAttributes are looked at once a minute. One that is new counts when it is seen for the second time, one that is gone does not count
// any more, and none counts while the server does not answer.
func TestUsableAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("the server is away")
		var u usable
		looks := 0
		for i, step := range []struct {
			has   []string
			err   error
			count []string
		}{
			{[]string{"A"}, nil, []string{"A"}},
			{[]string{"A", "B"}, nil, []string{"A"}},
			{[]string{"A", "B"}, nil, []string{"A", "B"}},
			{[]string{"B"}, nil, []string{"B"}},
			{nil, away, nil},
			{[]string{"B"}, nil, []string{}},
			{[]string{"B"}, nil, []string{"B"}},
		} {
			for range 3 {
				count, err := u.now(func() ([]string, error) {
					looks++
					return step.has, step.err
				})
				if err != nil {
					require.ErrorIs(t, err, away)
				}
				require.ElementsMatch(t, step.count, count, i)
			}
			require.Equal(t, i+1, looks)
			time.Sleep(usableFor)
		}
	})
}
