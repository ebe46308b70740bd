package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// ends are ways for a program to end, by the name that a process of this test gets.
var ends = map[string]func() int{
	"well":      func() int { return 3 },
	"panic":     func() int { panic("the moon is full") },
	"goroutine": func() int { go panic("the moon is full"); select {} },
	"fatal": func() int {
		m := map[int]int{}
		for range 8 {
			go func() {
				for {
					m[1]++
				}
			}()
		}
		select {}
	},
	"quit": func() int { _ = syscall.Kill(os.Getpid(), syscall.SIGQUIT); select {} },
	"unread": func() int {
		fmt.Fprintln(os.Stderr, "progress")
		fmt.Fprintln(os.Stdout, "result")
		return 3
	},
	"outlived": func() int {
		OutliveReaders()
		fmt.Fprintln(os.Stderr, "progress")
		fmt.Fprintln(os.Stdout, "result")
		return 3
	},
	"hangup": func() int {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, Signals()...)
		_ = syscall.Kill(os.Getpid(), syscall.SIGHUP)
		<-asked
		return 130
	},
	"ignored": func() int {
		for _, s := range Signals() {
			if s == syscall.SIGHUP {
				return 1
			}
		}
		return 0
	},
}

const endVariable = "WAYMARK_TEST_END"

func TestMain(m *testing.M) {
	if end := ends[os.Getenv(endVariable)]; end != nil {
		os.Exit(Main("program", os.Stderr, end))
	}
	os.Exit(m.Run())
}

func runEnd(t *testing.T, end string, through ...string) (state *os.ProcessState, stderr string) {
	t.Helper()
	words := append(through, os.Args[0])
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), endVariable+"="+end)
	cmd.Dir = t.TempDir()
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil {
		require.ErrorAs(t, err, &exit)
	}
	left, err := os.ReadDir(cmd.Dir)
	require.NoError(t, err)
	require.Empty(t, left, "no memory is dumped")
	return cmd.ProcessState, said.String()
}

func TestADefectIsNoWrongUse(t *testing.T) {
	state, _ := runEnd(t, "well")
	require.Equal(t, 3, state.ExitCode())

	state, said := runEnd(t, "panic")
	require.Equal(t, 1, state.ExitCode())
	require.Contains(t, said, "program: a defect of this program, not of what you asked for: the moon is full\n")
	require.Contains(t, said, "program_test.go", "where it was")
	require.Contains(t, said, "please report this")

	for _, end := range []string{"goroutine", "fatal", "quit"} {
		state, said := runEnd(t, end)
		require.Equal(t, syscall.SIGABRT, state.Sys().(syscall.WaitStatus).Signal(), end)
		require.NotContains(t, said, "please report")
		require.Contains(t, said, "goroutine ", end)
	}
}

func TestAHangupAsksToEndUnlessItIsIgnored(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("whoever started the test lets it ignore SIGHUP")
	}
	state, _ := runEnd(t, "hangup")
	require.Equal(t, 130, state.ExitCode())
	state, _ = runEnd(t, "ignored", "nohup")
	require.Equal(t, 0, state.ExitCode())
}

func TestOutputRemembersItsFirstError(t *testing.T) {
	full := errors.New("full")
	o := &Output{To: writer(func(p []byte) (int, error) { return len(p), nil })}
	_, err := io.WriteString(o, "x")
	require.NoError(t, err)
	o.To = writer(func([]byte) (int, error) { return 0, full })
	_, _ = fmt.Fprint(o, "x")
	o.To = writer(func([]byte) (int, error) { t.Error("written to again"); return 0, nil })
	_, err = io.WriteString(o, "x")
	require.Equal(t, full, err)
	require.Equal(t, full, o.Err)
}

// TestAProcessOutlivesItsReaders writes to a standard output and error that nobody reads.
func TestAProcessOutlivesItsReaders(t *testing.T) {
	run := func(end string) *os.ProcessState {
		t.Helper()
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		defer write.Close()
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), endVariable+"="+end), write, write
		_ = cmd.Run()
		return cmd.ProcessState
	}
	unread := run("unread").Sys().(syscall.WaitStatus)
	require.Equal(t, syscall.SIGPIPE, unread.Signal(), "as others end that only print")
	require.Equal(t, 3, run("outlived").ExitCode())
}

func TestOutputOutlivesItsReader(t *testing.T) {
	for _, outlives := range []bool{false, true} {
		gone := writer(func([]byte) (int, error) { return 0, &os.PathError{Op: "write", Err: syscall.EPIPE} })
		o := &Output{Outlives: outlives, To: gone}
		for range 2 {
			n, err := io.WriteString(o, "abc")
			require.Equal(t, outlives, err == nil)
			require.Equal(t, outlives, n == 3)
		}
		require.Equal(t, outlives, o.Err == nil)
	}
	o := &Output{Outlives: true, To: writer(func([]byte) (int, error) { return 0, syscall.ENOSPC })}
	_, err := io.WriteString(o, "abc")
	require.ErrorIs(t, err, syscall.ENOSPC)
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
