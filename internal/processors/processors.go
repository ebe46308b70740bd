// Package processors keeps a process that computes on all of its processors able to hear the network.
//
// Go looks for what arrived on connections when a processor has nothing else to do. Where all of them compute, it looks
// every ten milliseconds, and a process that gets a tenth of a core computes for so long in two tenths of a second: an
// order to a run passes through dozens of connections and goroutines. With processors to spare, Go hears at once.
// They cost some percent of the CPU time, so a process has them only if it starves.
package processors

import (
	"os"
	"runtime"
	"sync"
)

// spare is how many processors Go gets besides those that compute: one for the chunk that is to wait for the disk while
// others compute, and computes itself when the disk is quick, and one that waits for the network.
const spare = 2

// Computing returns how many goroutines of the process compute at once, at most: GOMAXPROCS when it was asked first.
// That is what the container allows, or how many processors the machine has.
var Computing = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// Starve says that the process gets less of its processors than it computes with. Once it was said, Go has processors
// to spare until the process ends, unless the environment says with GOMAXPROCS how many there are. It is safe for
// concurrent use; repeating it does nothing.
func Starve() { starve() }

var starve = sync.OnceFunc(func() {
	if computing := Computing(); os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(computing + spare)
	}
})
