package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cost is what the tests of a package took.
type cost struct {
	Package string        `json:"package"` // its folder in the module
	CPU     time.Duration `json:"cpu"`     // of the process and its descendants
	Took    time.Duration `json:"took"`
	Round   float64       `json:"round"` // of calibrate, before the tests
}

// wrapped runs a binary of tests, writes what it cost into the file, and returns its exit code. `go test` starts it in
// the place of the binary.
func wrapped(file string, command []string) int {
	if len(command) == 0 {
		return 2
	}
	round := calibrate(fewRounds)
	started := time.Now()
	test := exec.Command(command[0], command[1:]...)
	test.Stdin, test.Stdout, test.Stderr = os.Stdin, os.Stdout, os.Stderr
	test.Env = without(os.Environ(), records)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM)
	if err := test.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "budget:", err)
		return 2
	}
	go func() {
		for s := range signals {
			_ = test.Process.Signal(s) // it may have ended
		}
	}()
	err := test.Wait()
	if failed := record(file, cost{folder(), cpu(test.ProcessState), time.Since(started), round}); failed != nil {
		fmt.Fprintln(os.Stderr, "budget:", failed)
		return 2
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(1, exit.ExitCode())
	} else if err != nil {
		return 2
	}
	return 0
}

// folder returns the package whose tests run: they do so in its folder.
func folder() string {
	here, err := os.Getwd()
	if err != nil {
		return "?"
	}
	for root := here; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			if name, err := filepath.Rel(root, here); err == nil {
				return filepath.ToSlash(name)
			}
		}
	}
	return here
}

func without(environment []string, name string) (rest []string) {
	for _, v := range environment {
		if !strings.HasPrefix(v, name+"=") {
			rest = append(rest, v)
		}
	}
	return rest
}

// record appends a line to the file: short lines of several processes do not mix.
func record(file string, c cost) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// read returns what the packages cost, in the order in which they ended.
func read(file string) (costs []cost, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c cost
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	return costs, nil
}
