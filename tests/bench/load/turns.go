package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"waymark/tests/bench/served"
)

// process is a `waymark run` of a small document.
type process struct {
	*exec.Cmd
	output string // path
	err    error  // with which it ended
}

// turns has many processes execute a run in one state folder, of each way its own: one after the other, all at once,
// and at once while one is killed.
func turns(ctx context.Context, b *bench) error {
	if err := errors.Join(b.write("small.yaml", served.Small), b.write("in.csv", served.SmallInput(smallRows))); err != nil {
		return err
	}
	for _, way := range []struct {
		name  string
		many  int
		begin func(all []*process) error
	}{
		{"16 one after the other", 16, oneAfterTheOther},
		{"16 at once", 16, atOnce},
		{"64 one after the other", 64, oneAfterTheOther},
		{"64 at once", 64, atOnce},
		{"16 at once, one killed", 16, oneKilled},
	} {
		all := make([]*process, way.many)
		for i := range all {
			folder := strings.ReplaceAll(way.name, " ", "-")
			to := filepath.Join(folder, fmt.Sprintf("%d.jsonl", i))
			run := exec.CommandContext(ctx, b.binary,
				"run", "small.yaml", "--param", "to="+to, "--state", ".waymark-"+folder, "--quiet")
			run.Dir = b.folder
			all[i] = &process{Cmd: run, output: filepath.Join(b.folder, to)}
		}
		began := time.Now()
		if err := way.begin(all); err != nil {
			return err
		}
		seconds, complete, cpu := time.Since(began).Seconds(), 0, time.Duration(0)
		for _, p := range all {
			cpu += p.ProcessState.UserTime() + p.ProcessState.SystemTime()
			if p.err != nil {
				continue
			}
			complete++
			if err := p.check(); err != nil {
				return err
			}
		}
		b.tell(way.name+", complete", float64(complete), fmt.Sprintf("of %d", way.many))
		b.tell(way.name, float64(way.many)/seconds, "runs/s")
		b.tell(way.name+", CPU", float64(cpu.Milliseconds())/float64(way.many), "ms/run")
	}
	return nil
}

func oneAfterTheOther(all []*process) error {
	for _, p := range all {
		if err := p.Start(); err != nil {
			return err
		}
		p.err = p.Wait()
	}
	return nil
}

func atOnce(all []*process) error { return begun(all, func() error { return nil }) }

// oneKilled kills a process that has not written its output, when the first output is there.
func oneKilled(all []*process) error {
	return begun(all, func() error {
		outputs := filepath.Join(filepath.Dir(all[0].output), "*.jsonl")
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			there, err := filepath.Glob(outputs)
			if err != nil || len(there) > 0 || time.Now().After(deadline) {
				break
			}
		}
		for _, p := range all {
			if _, err := os.Stat(p.output); err != nil {
				return p.Process.Kill()
			}
		}
		return nil
	})
}

// begun begins all at once, and does something while they run.
func begun(all []*process, meanwhile func() error) error {
	for _, p := range all {
		if err := p.Start(); err != nil {
			return err
		}
	}
	err := meanwhile()
	for _, p := range all {
		p.err = p.Wait()
	}
	return err
}

// check requires that the outputs have all rows of the input.
func (p *process) check() error {
	review, err := os.ReadFile(p.output)
	all, failed := os.ReadFile(p.output + ".all")
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if rows := strings.Count(string(review)+string(all), "\n"); rows != smallRows {
		return fmt.Errorf("%s has %d rows, not %d", p.output, rows, smallRows)
	}
	return nil
}
