package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// runner runs the commands of units, one at a time: most of them use all processors.
type runner struct {
	folder string            // of logs and binaries, absolute
	built  map[string]string // what the last binary of each campaign was built of
}

func newRunner(folder string) (*runner, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	return &runner{folder, map[string]string{}}, os.MkdirAll(folder, 0o750)
}

// mercy is how long a command that is ended has to remove what it left behind. The timeout of a test, which shows what
// it waits for, comes before the limit of the unit by as much.
const mercy = 20 * time.Second

// command returns the command of a unit, after it built the tests in it.
func (r *runner) command(ctx context.Context, u unit, round uint64) ([]string, error) {
	if u.pkg == "" {
		return u.flags(round), nil
	}
	binary, err := r.binary(ctx, u)
	return u.binaryCommand(binary, round), err
}

// perform runs the command of a unit. If it fails, what it printed stays in the file log. The error says why it showed
// nothing.
func (r *runner) perform(ctx context.Context, u unit, command []string) (_ result, log string, err error) {
	folder := cmp.Or(u.pkg, ".") // as `go test` does
	log = r.log(u.key())
	file, err := os.Create(log)
	if err != nil {
		return failed, "", err
	}
	defer file.Close()
	limited, stop := context.WithTimeoutCause(ctx, u.limit()+mercy, errors.New("it took too long"))
	defer stop()
	if err := execute(limited, folder, file, command...); err != nil {
		_, _ = fmt.Fprintln(file, err)
		return failed, log, nil
	}
	if u.pkg != "" {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return failed, log, err
		}
		if verdict, err := u.read(file); verdict != passed {
			return verdict, log, err
		}
	}
	return passed, "", os.Remove(log)
}

// binaryCommand returns the command that runs the tests of a unit.
func (u unit) binaryCommand(binary string, round uint64) []string {
	command := []string{binary, "-test.paniconexit0", "-test.v", "-test.timeout=" + u.limit().String()}
	if u.run != "" {
		command = append(command, "-test.run="+u.run)
	}
	if u.skip != "" {
		command = append(command, "-test.skip="+u.skip)
	}
	return append(command, u.flags(round)...)
}

// binary builds the tests of a unit, unless the campaign's last ones were the same. It keeps one binary for each
// campaign: all would fill disks.
func (r *runner) binary(ctx context.Context, u unit) (string, error) {
	path := r.path(u.campaign)
	build := slices.Concat(u.build, []string{u.pkg})
	if is := strings.Join(build, " "); r.built[u.campaign] != is {
		delete(r.built, u.campaign)
		command := []string{"go", "test", "-c", "-vet=off", "-ldflags=-w", "-o", path}
		if _, err := names(ctx, append(command, build...)...); err != nil {
			return "", err
		}
		r.built[u.campaign] = is
	}
	return path, nil
}

// sweep removes the binaries.
func (r *runner) sweep() {
	for campaign := range r.built {
		_ = os.Remove(r.path(campaign)) // what stays is built again
	}
}

// log returns the file with what a unit printed, if it failed.
func (r *runner) log(key string) string { return filepath.Join(r.folder, slug(key)+".log") }

func (r *runner) path(campaign string) string { return filepath.Join(r.folder, campaign+".test") }

// execute runs a command in a process group of its own, all of which ends with the context.
func execute(ctx context.Context, folder string, output *os.File, command ...string) error {
	c := grouped(ctx, command...)
	c.Dir, c.Stdout, c.Stderr = folder, output, output
	err := c.Run()
	if ctx.Err() != nil && c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // there may be none left
		return errors.Join(err, context.Cause(ctx))
	}
	return err
}

// grouped is a command that is the first of its process group. The group is asked to end with the context, and the
// command is ended with this process.
func grouped(ctx context.Context, command ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = mercy
	return c
}

// names runs a command, and returns the lines of its output.
func names(ctx context.Context, command ...string) ([]string, error) {
	c := grouped(ctx, command...)
	var words strings.Builder
	c.Stderr = &words
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(command, " "), err, out, words.String())
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// read says whether tests that did not fail showed something: not if there is no such test or case any more, and not if
// all are skipped.
func (u unit) read(printed io.Reader) (result, error) {
	verdict, mark := failed, "--- "
	if strings.Contains(u.run, "/") {
		mark = "    --- " // a case
	}
	lines := bufio.NewScanner(printed)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		ended, is := strings.CutPrefix(lines.Text(), mark)
		switch {
		case is && strings.HasPrefix(ended, "PASS"):
			return passed, nil
		case is && strings.HasPrefix(ended, "SKIP"):
			verdict = skipped
		}
	}
	if verdict == failed {
		return failed, cmp.Or(lines.Err(), errors.New("there is no such test: bring tests/night/table.go up to date"))
	}
	return verdict, lines.Err()
}

var otherThanWords = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// slug returns the name of a file for the unit.
func slug(key string) string { return strings.Trim(otherThanWords.ReplaceAllString(key, "-"), "-") }
