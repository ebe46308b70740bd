// Command waymark runs data pipelines that people can be questioned about, and answers the questions.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"waymark/internal/program"
	"waymark/internal/settings"
	"waymark/internal/text"
)

func main() {
	os.Exit(program.Main("waymark", os.Stderr, func() int { return execute(os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv) }))
}

// Exit codes. Scripts depend on them; never renumber.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2   // wrong use, a document with problems, or no record where it was looked for
	exitRefused     = 3   // the run is complete, and some of its rows were refused
	exitUnverified  = 4   // the record or what it describes is not as it should be
	exitBusy        = 5   // other processes execute runs in the state folder, for longer than this one waits
	exitInterrupted = 130 // stopped by Ctrl-C, SIGTERM or SIGHUP
)

// exitError ends the program with a code. A nil error inside means that everything has been said.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// wrongUse marks an error that the caller of the program can cure.
func wrongUse(err error) error { return exitError{exitUsage, err} }

func wrongUsef(format string, args ...any) error { return wrongUse(fmt.Errorf(format, args...)) }

// execute runs the command line and returns the exit code. Whatever goes wrong before a command begins is wrong use.
func execute(args []string, stdout, stderr io.Writer, env settings.Lookup) int {
	out := &program.Output{To: stdout}
	a := &app{config: config{env: env}, stdout: out, stderr: stderr}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := named(root, args, root.Execute())
	if out.Err != nil && (err == nil || !a.started) { // cobra writes its help and the version before a command begins
		err = exitError{exitFailed, worded(out.Err)}
	}
	code, said := exitCode(worded(err), a.started)
	if said != nil {
		fmt.Fprintf(stderr, "waymark: %s\n", text.Visible(said.Error()))
	}
	return code
}

// exitCode returns the code of an error, and the error that has yet to be said.
func exitCode(err error, started bool) (int, error) {
	var exit exitError
	switch {
	case err == nil:
		return exitDone, nil
	case errors.As(err, &exit):
		return exit.code, exit.err
	case !started:
		return exitUsage, err
	default:
		return exitFailed, err
	}
}
