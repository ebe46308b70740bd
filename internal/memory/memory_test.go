package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLimit holds that the limit leaves room for what is alive, goes back when that is gone, and ends.
func TestLimit(t *testing.T) {
	require.EqualValues(t, math.MaxInt64, debug.SetMemoryLimit(-1), "GOMEMLIMIT is not set for tests")
	const floor = 64 << 20
	lift := Limit(floor, 100)
	defer lift()
	limit := func() bool { runtime.GC(); return debug.SetMemoryLimit(-1) == floor }
	require.Eventually(t, limit, time.Minute, time.Millisecond)
	much := make([]byte, 2*floor)
	risen := func() bool { runtime.GC(); return debug.SetMemoryLimit(-1) >= limitFor(2*floor) }
	require.Eventually(t, risen, time.Minute, time.Millisecond)
	runtime.KeepAlive(much)
	require.Eventually(t, limit, time.Minute, time.Millisecond)
	lift()
	runtime.GC()
	require.EqualValues(t, math.MaxInt64, debug.SetMemoryLimit(-1))

	debug.SetMemoryLimit(1 << 30)
	defer debug.SetMemoryLimit(math.MaxInt64)
	Limit(floor, 100)()
	require.EqualValues(t, 1<<30, debug.SetMemoryLimit(-1), "whoever set another decides")
}
