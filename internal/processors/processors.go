// Package processors says who computes when in a process, and keeps one that computes on all of its processors able to
// hear the network.
//
// Go looks for what arrived on connections when a processor has nothing else to do. Where all of them compute, it looks
// every ten milliseconds, and a process that gets a tenth of a core computes for so long in two tenths of a second: an
// order to a run passes through dozens of connections and goroutines. With processors to spare, Go hears at once.
// They cost some percent of the CPU time, so a process has them only if it starves. What computes in such a process also
// waits while an order is carried out: the little time that there is goes to the order.
package processors

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// spare is how many processors Go gets besides those that compute: one for the chunk that is to wait for the disk while
// others compute, and computes itself when the disk is quick, and one that waits for the network.
const spare = 2

// Computing returns how many goroutines of the process compute at once, at most: what the container of the process
// allowed when it was asked first, or how many processors the machine has. That is GOMAXPROCS, or one.
var Computing = sync.OnceValue(func() int {
	if atMostOne("/proc") {
		return 1
	}
	return runtime.GOMAXPROCS(0)
})

// Starve says that the process gets less of its processors than it computes with. Once it was said, Go has processors
// to spare until the process ends, unless the environment says with GOMAXPROCS how many there are. It is safe for
// concurrent use; repeating it does nothing.
func Starve() { starve() }

var starve = sync.OnceFunc(func() {
	starving.Store(true)
	if computing := Computing(); os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(computing + spare)
	}
})

// starving is whether Starve was called.
var starving atomic.Bool

// An order is carried out within wayTime, if it gets all that a starving process has. Orders without end leave workTime
// between two of these times to the work.
const (
	wayTime  = 3 * time.Second
	workTime = time.Second
)

// way is until when those who compute give way, in nanoseconds since 1970.
var way atomic.Int64

// Order says that an order has arrived which somebody waits for. It is safe for concurrent use.
func Order() {
	now := time.Now().UnixNano()
	if last := way.Load(); now > last+int64(workTime) {
		way.CompareAndSwap(last, now+int64(wayTime))
	}
}

// GiveWay reports whether one who computes is to wait, because the process starves and an order is being carried out.
// That ends by itself within three seconds.
func GiveWay() bool { return starving.Load() && time.Now().UnixNano() < way.Load() }
