// Command night tries what takes too long for every change, a part of it each night: `make nightly` and `make
// campaigns`.
//
//	go run ./tests/night -for 60m     # a part: each campaign runs for its share, and continues where it ended
//	go run ./tests/night -all         # everything that has not passed at this commit yet
//	go run ./tests/night -status      # what was tried so far
//
// A campaign is a list of units, each of which is one command that passes or fails (table.go). What is known of each
// unit is in a file, which is written after every unit: keep it from night to night.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitFailed      = 1 // a unit failed, or nothing can be tried here
	exitWrongUse    = 2
	exitInterrupted = 130
)

// options are the flags.
type options struct {
	budget time.Duration
	all    bool
	status bool
	only   string
	state  string
}

func main() {
	var o options
	flag.DurationVar(&o.budget, "for", 0, "try a part for so long, such as 60m")
	flag.BoolVar(&o.all, "all", false, "try everything that has not passed at this commit")
	flag.BoolVar(&o.status, "status", false, "only print what was tried so far")
	flag.StringVar(&o.only, "only", "", "only units whose name, such as graphs/deaths 1, contains this `text`")
	flag.StringVar(&o.state, "state", "out/night.json", "`file` that keeps what was tried")
	flag.Parse()
	if flag.NArg() > 0 || (o.budget > 0) == o.all && !o.status {
		fmt.Fprintln(os.Stderr, "night: write -for 60m, -all or -status")
		os.Exit(exitWrongUse)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, o)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "night:", err)
		os.Exit(exitFailed)
	case interrupted:
		fmt.Fprintln(os.Stderr, "night: interrupted: the same command continues here")
		os.Exit(exitInterrupted)
	case failed:
		os.Exit(exitFailed)
	}
}

// run tries units, and prints a report. failed says that one of them failed; the error, that nothing can be tried here.
func run(ctx context.Context, o options) (failed bool, err error) {
	if _, err := os.Stat("go.mod"); err != nil {
		return false, fmt.Errorf("start it in the folder of the module: %w", err)
	}
	if !o.status {
		held, err := hold(o.state)
		if err != nil {
			return false, err
		}
		defer held.Close() // which ends the lock
	}
	s, err := load(o.state)
	if err != nil {
		return false, err
	}
	n := &night{state: s, begun: time.Now(), commit: commit(ctx), tonight: map[string]result{}}
	n.runner, err = newRunner(strings.TrimSuffix(o.state, filepath.Ext(o.state)))
	if err != nil {
		return false, err
	}
	defer n.sweep()
	if err := n.list(ctx, o.only); err != nil {
		return false, err
	}
	switch {
	case o.status:
	case o.all:
		err = n.runAll(ctx)
	default:
		err = n.runFor(ctx, o.budget)
	}
	n.report(os.Stdout, o.budget)
	return n.failed(), err
}

// hold keeps other processes from writing the same state.
func hold(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another process uses %s: %w", path, err), lock.Close())
	}
	return lock, nil
}

// commit names the code that is tried: the commit, and if files that git knows have changes, also a hash of these.
func commit(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	changes, err := exec.CommandContext(ctx, "git", "diff", "--no-ext-diff", "--binary", "HEAD").Output()
	if err != nil || len(changes) > 0 {
		return fmt.Sprintf("%s+%x", name, sha256.Sum256(changes))[:len(name)+7]
	}
	return name
}
