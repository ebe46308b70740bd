package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"waymark/pipeline"
)

// attempts is how often a moment is tried that did not come: what continues side by side shifts the numbers of moments a little.
const attempts = 3

// bench is a place where one trial continues at a time. It has an oracle of its own, because the record holds the place.
type bench struct {
	lab     *laboratory
	folder  string
	work    string  // the copy of the pipeline's folder
	saved   string  // a copy of work as the crash at the moment left it
	crash   *Moment // of saved; nil: nothing is saved
	oracle  *snapshot
	code    int      // with which the undisturbed run ended
	moments []Moment // of the undisturbed run
}

// newBench makes a bench and runs the pipeline there undisturbed.
func (l *laboratory) newBench(ctx context.Context) (*bench, error) {
	l.mu.Lock()
	l.made++
	folder := filepath.Join(l.Scratch, fmt.Sprintf("bench-%d", l.made))
	l.mu.Unlock()
	b := &bench{lab: l, folder: folder, work: filepath.Join(folder, "work"), saved: filepath.Join(folder, "crashed")}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	var err error
	b.oracle, b.code, err = b.undisturbed(ctx)
	return b, err
}

// undisturbed runs the pipeline without a crash and returns what came of it. A run that does not account for all rows is no
// measure for others.
func (b *bench) undisturbed(ctx context.Context) (*snapshot, int, error) {
	if err := replaceFolder(b.work, b.lab.image); err != nil {
		return nil, 0, err
	}
	log := b.log()
	ended := b.run(ctx, "", log)
	if ended.code != exitDone && ended.code != exitRefused {
		return nil, 0, fmt.Errorf("the undisturbed run: %s", ended)
	}
	moments, err := readMoments(log)
	if err == nil && len(moments) == 0 {
		err = fmt.Errorf("%s has no armed failpoints: build it as docs/crash.md says", b.lab.Binary)
	}
	if err != nil {
		return nil, 0, err
	}
	if b.moments == nil {
		b.moments = moments
	}
	b.lab.reached(moments)
	seen, err := look(ctx, b.work)
	if err == nil && len(seen.faults) > 0 {
		err = fmt.Errorf("the undisturbed run is not in order: %s", seen.faults[0])
	}
	return seen, ended.code, errors.Join(err, ctx.Err())
}

// Exit codes of the program.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

// log returns the path of a log that does not exist yet.
func (b *bench) log() string {
	path := filepath.Join(b.folder, "moments")
	_ = os.Remove(path) // that it was there is no error, and neither that it was not
	return path
}

func (b *bench) process(plan, log string) process {
	return process{binary: b.lab.Binary, folder: b.work, timeout: b.lab.Timeout, plan: plan, log: log, split: b.lab.Split}
}

// state are the flags that keep the program in its state folder, whatever the settings say.
var state = []string{
	"--state", stateFolder, "--landscape", "sqlite:" + stateFolder + "/landscape.db", "--payloads", "file:" + stateFolder + "/payloads", "--quiet",
}

func (b *bench) run(ctx context.Context, plan, log string) end {
	args := append([]string{"run", filepath.Base(b.lab.Pipeline), "--run-id", RunID}, state...)
	return b.process(plan, log).run(ctx, append(append(args, b.lab.Flags...), b.lab.Params...)...)
}

func (b *bench) resume(ctx context.Context, plan, log string) end {
	args := append([]string{"resume", RunID}, state...)
	return b.process(plan, log).run(ctx, append(args, b.lab.Flags...)...)
}

func (b *bench) verify(ctx context.Context) end {
	args := append([]string{"verify", RunID}, state...)
	return b.process("", "").run(ctx, append(args, b.lab.Flags...)...)
}

// single lets the fault happen to a run at the moment, and resumes it if it did not come to its end. It also returns the
// moments of the recovery.
func (b *bench) single(ctx context.Context, first Moment) (Trial, []Moment, error) {
	trial := Trial{First: first}
	begin := time.Now()
	ended, came, err := b.crashAt(ctx, first)
	if err != nil {
		return trial, nil, err
	}
	trial.Died = came
	log := b.log()
	if came && ended.code != b.code && !ended.hung {
		ended = b.recover(ctx, "", log)
		trial.Resumed = true
	}
	if err := b.judge(ctx, &trial, ended); err != nil {
		return trial, nil, err
	}
	trial.Seconds = time.Since(begin).Seconds()
	seconds, err := readMoments(log)
	b.lab.reached(seconds)
	return trial, seconds, err
}

// crashAt lets the fault happen to a fresh run at the moment, and saves what it leaves behind. It reports whether the moment came.
func (b *bench) crashAt(ctx context.Context, first Moment) (ended end, came bool, err error) {
	b.crash = nil
	for range attempts {
		if err := replaceFolder(b.work, b.lab.image); err != nil {
			return end{}, false, err
		}
		log := b.log()
		ended = b.run(ctx, first.String()+"="+b.lab.Fault, log)
		if ctx.Err() != nil {
			return end{}, false, ctx.Err()
		}
		moments, err := readMoments(log)
		if err != nil {
			return end{}, false, err
		}
		if !slices.Contains(moments, first) || b.lab.Fault == Kill && !ended.killed {
			continue
		}
		b.crash = &first
		return ended, true, replaceFolder(b.saved, b.work)
	}
	return ended, false, nil
}

// pair kills a run at the first moment, its recovery at the second, and recovers it then.
func (b *bench) pair(ctx context.Context, first, second Moment) (Trial, error) {
	trial := Trial{First: first, Second: &second}
	begin := time.Now()
	var ended end
	for range attempts {
		if err := b.restore(ctx, first); err != nil {
			return trial, err
		}
		if ended = b.recover(ctx, second.String()+"=kill", ""); ended.killed {
			break
		}
	}
	if trial.Died = ended.killed; trial.Died {
		log := b.log()
		ended = b.recover(ctx, "", log)
		trial.Resumed = true
		moments, err := readMoments(log)
		if err != nil {
			return trial, err
		}
		b.lab.reached(moments)
	}
	err := b.judge(ctx, &trial, ended)
	trial.Seconds = time.Since(begin).Seconds()
	return trial, err
}

// restore puts back what a crash at the moment left behind.
func (b *bench) restore(ctx context.Context, first Moment) error {
	if b.crash != nil && *b.crash == first {
		return replaceFolder(b.work, b.saved)
	}
	_, _, err := b.crashAt(ctx, first)
	return err
}

// recover does what a person would do after a crash: resume the run, or run it again if it had not begun. For a run that was complete before
// the crash, resume has nothing to do, and ends well whatever became of the run.
func (b *bench) recover(ctx context.Context, plan, log string) end {
	resumed := b.resume(ctx, plan, log)
	if resumed.code != exitUsage && resumed.code != exitDone && resumed.code != exitFailed {
		return resumed
	}
	switch status, err := statusOf(ctx, b.work); {
	case err != nil:
		resumed.code, resumed.stderr = -1, []byte(err.Error())
	case status == "":
		_ = os.Remove(log) // of the resume, which came to nothing
		return b.run(ctx, plan, log)
	case status == pipeline.CompletedWithFailures && resumed.code == exitDone:
		resumed.code = exitRefused
	}
	return resumed
}

// judge notes in the trial what is wrong with what is there now.
func (b *bench) judge(ctx context.Context, trial *Trial, ended end) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ended.code != b.code {
		trial.Findings = append(trial.Findings, Finding{Kind: Stuck, Count: 1, What: ended.String()})
	}
	seen, err := look(ctx, b.work)
	if err != nil {
		return err
	}
	trial.Findings = append(trial.Findings, seen.faults...)
	if b.lab.exact {
		trial.Findings = append(trial.Findings, b.oracle.differences(seen)...)
	} else {
		trial.Findings = append(trial.Findings, b.oracle.missing(seen)...)
	}
	if len(trial.Findings) == 0 {
		if verified := b.verify(ctx); verified.code != exitDone {
			trial.Findings = append(trial.Findings, Finding{Kind: Differing, Count: 1, What: "waymark verify: " + verified.String()})
		}
	}
	return ctx.Err()
}
