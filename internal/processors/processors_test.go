package processors_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

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

func TestAnOrderHasTheProcessorsOfAProcessThatStarves(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	synctest.Test(t, func(t *testing.T) {
		processors.Starve()
		require.False(t, processors.GiveWay(), "nobody waits for anything")
		gave := 0 // of 100 s, in which an order arrives every tenth of a second
		for range 1000 {
			processors.Order()
			if processors.GiveWay() {
				gave++
			}
			time.Sleep(100 * time.Millisecond)
		}
		require.InDelta(t, 750, gave, 50, "orders without end leave a quarter to the work")
		time.Sleep(3 * time.Second)
		require.False(t, processors.GiveWay(), "it ends by itself")
	})
}
