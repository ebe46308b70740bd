package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// RunID is that of every run of the laboratory.
const RunID = "lab"

const stateFolder = ".waymark"

// defaultTimeout is how long a process may take: one that takes longer hangs.
const defaultTimeout = 2 * time.Minute

// process runs the program in a folder.
type process struct {
	binary  string
	folder  string
	timeout time.Duration
	plan    string // of failpoints; empty: nothing happens
	log     string // of moments; empty: none
	split   bool   // its runs are split, however little they hold
}

// end is how a process ended.
type end struct {
	code   int  // -1 if a signal ended it
	killed bool // by SIGKILL of its own
	hung   bool
	stdout []byte
	stderr []byte
}

// run runs the program with these arguments and waits for its end.
func (p process) run(ctx context.Context, args ...string) end {
	patience := p.timeout
	if patience == 0 {
		patience = defaultTimeout
	}
	limited, done := context.WithTimeout(ctx, patience)
	defer done()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(limited, p.binary, args...)
	command.Dir, command.Stdout, command.Stderr = p.folder, &stdout, &stderr
	command.Env = append(environment(), "WAYMARK_FAILPOINTS="+p.plan, "WAYMARK_FAILPOINT_LOG="+p.log)
	if p.split {
		command.Env = append(command.Env, "WAYMARK_FAILPOINT_SPLIT=1")
	}
	command.WaitDelay = time.Second
	err := command.Run()
	ended := end{stdout: stdout.Bytes(), stderr: stderr.Bytes(), hung: limited.Err() != nil}
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed:
		status, _ := exit.Sys().(syscall.WaitStatus)
		ended.code = exit.ExitCode()
		ended.killed = !ended.hung && status.Signaled() && status.Signal() == syscall.SIGKILL
	case err != nil:
		ended.code, ended.stderr = -1, []byte(err.Error())
	}
	return ended
}

// environment is this process's, without what would lead the program to another state folder or to failpoints of ours.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "WAYMARK_") && !strings.HasPrefix(entry, "WAYMARK_SECRET") && !strings.HasPrefix(entry, "WAYMARK_ALLOW")
	})
}

// String says it for people.
func (e end) String() string {
	said := strings.TrimSpace(string(e.stderr))
	if len(said) > maxSaid {
		said = "… " + said[len(said)-maxSaid:]
	}
	switch {
	case e.hung:
		return "it did not end in time: " + said
	case e.killed:
		return "it was killed"
	default:
		return fmt.Sprintf("exit code %d: %s", e.code, said)
	}
}

// maxSaid is how much of what a process said is shown.
const maxSaid = 600
