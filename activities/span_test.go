package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpan(t *testing.T) {
	for took, micros := range map[time.Duration]int{0: 0, 999: 0, time.Second: 1e6, -time.Hour: 0} {
		from, to := span(2e6, took)
		require.EqualValues(t, 2e6, to)
		require.EqualValues(t, micros, to-from, took)
	}
}
