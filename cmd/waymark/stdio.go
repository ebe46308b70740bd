package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"waymark/client"
	"waymark/internal/program"
)

// tellInput says that the program waits for standard input, if a person types it.
func (a *app) tellInput() {
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&fs.ModeCharDevice != 0 {
		a.note("reads standard input; Ctrl-D ends it")
	}
}

// output is what is printed when everything else is done.
type output struct {
	file string
	to   io.Writer
}

// divert leaves standard output to the rows of the run, if a sink writes them there, and says on standard error what else there is to
// say. The rows of a complete run are printed when the process has nothing more to do, so that to close the pipe ends nothing
// else.
func (a *app) divert(o *client.Outcome) error {
	file, prints, err := o.Printed()
	if err != nil || !prints {
		return err
	}
	if file != "" {
		a.output = &output{file, a.stdout}
	}
	a.leaveStdout()
	return nil
}

// leaveStdout lets all that there is to say be said on standard error.
func (a *app) leaveStdout() { a.stdout = &program.Output{To: a.stderr, Outlives: true} }

// printOutput prints the rows of a run, if it wrote them to standard output. A run can be asked for them again: they stay where
// its status says that they are.
func (a *app) printOutput() error {
	if a.output == nil {
		return nil
	}
	file, err := os.Open(a.output.file)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(a.output.to, file); err != nil {
		return fmt.Errorf("the run is complete, but its rows could not be printed: %w; they are in %s", err, a.output.file)
	}
	return nil
}
