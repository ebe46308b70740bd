package workers_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/internal/freeport"
	"waymark/tests/programs"
)

// patience is how long anything may take before a test gives up.
const patience = 5 * time.Minute

// pause is the time between two looks at something that is waited for.
const pause = 20 * time.Millisecond

// The programs, each built once.
var (
	buildReleased = sync.OnceValues(func() (string, error) { return programs.Build("waymark/cmd/waymark-worker") })
	buildWaymark  = sync.OnceValues(func() (string, error) { return programs.Build("waymark/cmd/waymark") })
	buildArmed    = sync.OnceValues(func() (string, error) { // with the heartbeat of the tests
		return programs.BuildArmed("waymark/cmd/waymark-worker")
	})
)

// process is a program that was started.
type process struct {
	t       testing.TB
	name    string
	command *exec.Cmd
	output  string // file with all that it says
	ended   chan struct{}
}

// launch starts a program. What it says goes to a file, which the test shows if it fails.
func launch(t testing.TB, name string, command *exec.Cmd) *process {
	t.Helper()
	output, err := os.CreateTemp(t.TempDir(), "output-")
	require.NoError(t, err)
	p := &process{t: t, name: name, command: command, output: output.Name(), ended: make(chan struct{})}
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, command.Start())
	go func() {
		_ = command.Wait()
		_ = output.Close()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", name, p.said())
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.command.Process.Signal(s) }

// kill ends the process without any warning.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) said() string {
	text, err := os.ReadFile(p.output)
	require.NoError(p.t, err)
	return string(text)
}

// await waits until the process has said something.
func (p *process) await(text string) {
	p.t.Helper()
	await(p.t, fmt.Sprintf("%s says %q", p.name, text), func() bool {
		require.False(p.t, p.over(), "%s ended: %s", p.name, p.said())
		return strings.Contains(p.said(), text)
	})
}

// stopped reports whether all of the process stands still.
func (p *process) stopped() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.command.Process.Pid))
	require.NoError(p.t, err)
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

// end tells the process to end what it began, also if it stands still, and requires that it does so without a fault. On
// a busy machine it may end before it listens to signals: then it began nothing, and said nothing.
func (p *process) end() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT) // its goroutines go to the output
		<-p.ended
		require.Fail(p.t, "the process does not end", "%s", p.name)
	}
	state := p.command.ProcessState
	early := state.String() == "signal: terminated" && p.said() == ""
	require.True(p.t, early || state.Success(), "%s: %s: %s", p.name, state, p.said())
}

// await calls done until it is true.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(pause) {
		require.True(t, time.Now().Before(end), "waited in vain: %s", what)
	}
}

// environ is an environment with these variables, and with nothing else of the test's own than where programs are.
func environ(home string, variables map[string]string) []string {
	all := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	for name, value := range variables {
		all = append(all, name+"="+value)
	}
	return all
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := freeport.Listen(0)
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	address, is := listener.Addr().(*net.TCPAddr)
	require.True(t, is)
	return address.Port
}
