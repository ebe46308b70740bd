//go:build !linux

package failpoint

import (
	"syscall"
	"time"
)

// stopping is how long it may take until the signal stops the process.
const stopping = 100 * time.Millisecond

// stop stops the process before anything comes after this moment.
func stop() {
	signal(syscall.SIGSTOP)
	time.Sleep(stopping)
}
