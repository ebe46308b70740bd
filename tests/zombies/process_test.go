package zombies

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// heartbeat is the timeout after which another process gets the next attempt at an activity.
const heartbeat = 1500 * time.Millisecond

// patience is how long anything may take before a test gives up.
const patience = 5 * time.Minute

// pause is the time between two looks at something that is waited for.
const pause = 50 * time.Millisecond

// process is a worker in a process of its own.
type process struct {
	name    string
	command *exec.Cmd
	output  string // file
	ended   chan struct{}
}

// launch starts a program. What it says goes to a file, which the test shows if it fails.
func launch(t *testing.T, name, folder string, environment []string, program string, args ...string) *process {
	t.Helper()
	p := &process{name: name, command: exec.Command(program, args...), output: filepath.Join(folder, name+".log"), ended: make(chan struct{})}
	output, err := os.Create(p.output)
	require.NoError(t, err)
	p.command.Stdout, p.command.Stderr = output, output
	p.command.Env = append(os.Environ(), environment...)
	require.NoError(t, p.command.Start())
	go func() {
		_ = p.command.Wait()
		_ = output.Close()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.ended
		if t.Failed() {
			t.Logf("%s said:\n%s", name, p.said(t))
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.command.Process.Signal(s) }

func (p *process) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.output)
	require.NoError(t, err)
	return string(text)
}

// stopped reports whether all of the process stands still.
func (p *process) stopped(t *testing.T) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.command.Process.Pid))
	require.NoError(t, err)
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			return false
		}
		if after := text[bytes.LastIndexByte(text, ')')+1:]; len(after) < 2 || after[1] != 'T' {
			return false
		}
	}
	return len(threads) > 0
}

// over reports whether the process ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end tells the process to end what it began, also if it stands still, and requires that it does so without a fault.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT) // its goroutines go to the output
		<-p.ended
		require.Fail(t, "the process does not end", "%s", p.name)
	}
	require.True(t, p.command.ProcessState.Success(), "%s: %s: %s", p.name, p.command.ProcessState, p.said(t))
}

// await calls done until it is true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(pause) {
		require.True(t, time.Now().Before(end), "waited in vain: %s", what)
	}
}
