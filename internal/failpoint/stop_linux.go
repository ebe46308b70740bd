package failpoint

import (
	"os"
	"runtime"
	"syscall"
)

// stop stops the process at this moment and not a little later: a signal to the whole process is taken by any thread, while this
// one continues.
func stop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP); err != nil {
		giveUp("%v", err)
	}
}
