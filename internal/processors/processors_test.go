package processors_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/processors"
)

func TestAProcessThatStarvesHasProcessorsToSpare(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "")
	for range 2 {
		processors.Starve()
		require.Equal(t, before+2, runtime.GOMAXPROCS(0))
		require.Equal(t, before, processors.Computing(), "as many chunks are computed at once as before")
	}
}
