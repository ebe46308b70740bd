// Package program is what the programs of this project have in common at their edges: the signals that end them, standard output
// that cannot be written, and defects of their own, which must not look like wrong use.
package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// exitDefect is the exit code after a defect that was caught.
const exitDefect = 1

// Signals are those that ask a process to end: Ctrl-C, SIGTERM, and SIGHUP, unless its parent made it ignore that, as nohup does.
func Signals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// OutliveReaders lets the process continue when no process reads its standard output or error any more: by itself Go
// ends a process that writes there. Such a write fails with EPIPE. Processes that this one starts are ended as always.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Main runs a program and returns its exit code. A panic of run is a defect of the program: it is told on stderr, with what to do about it,
// and the code is 1. What cannot be caught, a panic in another goroutine or a fault of Go's runtime, ends the process by SIGABRT,
// after Go told where it was: by itself Go would end with code 2, which means wrong use. No memory is dumped into a file, for it
// holds secrets.
func Main(name string, stderr io.Writer, run func() int) (code int) {
	debug.SetTraceback("crash")
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // lowering it is allowed
	}
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintf(stderr, "%s: a defect of this program, not of what you asked for: %v\n%s\n"+
				"%s: please report this with the lines above; what is recorded is whole, and a run that was interrupted can be resumed\n", name, fault, debug.Stack(), name)
			code = exitDefect
		}
	}()
	return run()
}

// Output is a writer that remembers its first error: not everybody who writes looks at it.
type Output struct {
	To       io.Writer
	Outlives bool  // that no process reads it any more is no error: what is written then is lost
	Err      error // of the first Write that failed
	unread   bool
}

// Write writes, unless an earlier Write failed.
func (o *Output) Write(p []byte) (int, error) {
	if o.Err != nil {
		return 0, o.Err
	}
	if o.unread {
		return len(p), nil
	}
	n, err := o.To.Write(p)
	if o.Outlives && errors.Is(err, syscall.EPIPE) {
		o.unread = true
		return len(p), nil
	}
	o.Err = err
	return n, err
}
