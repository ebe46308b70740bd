package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpan(t *testing.T) {
	began := time.UnixMicro(5_000_000)
	for _, took := range []time.Duration{0, time.Second, time.Hour} {
		from, to := span(began, began.Add(took))
		require.EqualValues(t, 5_000_000, from)
		require.EqualValues(t, took.Microseconds(), to-from)
	}
	from, to := span(began, began.Add(-time.Hour))
	require.Equal(t, from, to, "nothing ends before it began")
}
