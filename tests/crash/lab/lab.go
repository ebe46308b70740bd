// Package lab is a crash laboratory. It runs a pipeline with the real program, kills it at every moment that the program has a
// name for (see package failpoint), resumes it, and compares what came of it with a run that nobody disturbed.
//
// Everything is done in folders of its own: the pipeline's folder is copied, and only read.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// All asks for every moment, or every pair of them.
const All = -1

// Options say what to try.
type Options struct {
	Binary   string   // of a build with failpoints
	Pipeline string   // the document; its folder is copied, without what its sinks wrote and the state folder
	Params   []string // pairs of --param and a parameter: flags of `waymark run`
	Flags    []string // flags that all commands have, such as --allow-path
	Scratch  string   // folder for the copies, which must not exist; empty: a new one, in memory if there is room
	Singles  int      // how many moments to kill a run at, or All
	Pairs    int      // how many pairs of moments to kill a run and its recovery at, or All
	Jobs     int      // how many runs go on side by side
	Seed     uint64   // of the choice, if there is one
	Part     Part     // only moments of this part; zero: of all
	Only     []Moment // this moment alone, or this pair; Singles and Pairs are not regarded then
	Split    bool     // runs are split, as those of large inputs are
	Fault    string   // what happens there, as in failpoint.ParsePlan; empty: Kill. Pairs are of kills alone
	Keep     bool     // leave the scratch folder behind
	Timeout  time.Duration

	// Progress, if not nil, is called after every trial, by one goroutine at a time.
	Progress func(Tally)
}

// Tally counts trials.
type Tally struct {
	Singles, Pairs, Failed int
}

// Kill is the fault that the laboratory is made for. Other faults leave a process that may go on by itself.
const Kill = "kill"

// maxKept is how many failing states are kept: more of them tell no more.
const maxKept = 10

// laboratory is one use of the laboratory.
type laboratory struct {
	Options
	image  string // of the pipeline's folder
	exact  bool   // two undisturbed runs are equal
	report *Report

	mu     sync.Mutex
	kept   int
	made   int // benches
	budget int // of pairs: how many are still to be given out
	firsts int // moments that have yet to ask for their share
}

// Run does what the options say. The error is about the laboratory itself; what is wrong with the program is in the report.
// The scratch folder is removed unless a trial failed or Keep is set. If ctx ends, the report has what was tried until then.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if o.Fault == "" {
		o.Fault = Kill
	}
	if o.Fault != Kill && o.Pairs != 0 {
		return nil, errors.New("pairs are of kills alone")
	}
	l := &laboratory{Options: o, report: newReport(o)}
	if err := l.makeScratch(); err != nil {
		return nil, err
	}
	defer func() {
		if !o.Keep && (report == nil || report.Failed() == 0) {
			err = errors.Join(err, os.RemoveAll(l.Scratch))
		} else if report != nil {
			report.Scratch = l.Scratch
		}
	}()
	begin := time.Now()
	first, err := l.survey(ctx)
	if err != nil {
		return nil, err
	}
	err = l.try(ctx, first, l.choose())
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	l.report.finish(time.Since(begin))
	return l.report, err
}

// survey copies the pipeline and runs it undisturbed, twice: the moments are those of the first run, and the second tells whether
// runs are comparable.
func (l *laboratory) survey(ctx context.Context) (*bench, error) {
	if err := l.copyPipeline(ctx); err != nil {
		return nil, err
	}
	b, err := l.newBench(ctx)
	if err != nil {
		return nil, err
	}
	again, _, err := b.undisturbed(ctx)
	if err != nil {
		return nil, err
	}
	l.report.Moments, l.report.Unlike = b.moments, append(b.oracle.timed, b.oracle.differences(again)...)
	l.exact = len(l.report.Unlike) == 0
	return b, nil
}

// choose returns the moments at which runs are killed.
func (l *laboratory) choose() []Moment {
	if len(l.Only) > 0 {
		l.budget, l.firsts = len(l.Only)-1, 1
		return l.Only[:1]
	}
	fit := slices.DeleteFunc(slices.Clone(l.report.Moments), func(m Moment) bool {
		return !m.takes(l.Fault) || !l.Part.has(m)
	})
	chosen := sample(fit, l.Singles, l.Seed)
	l.budget, l.firsts = l.Pairs, len(chosen)
	return chosen
}

// try tries the moments, each followed by its share of pairs, on as many benches as there are jobs.
func (l *laboratory) try(ctx context.Context, first *bench, moments []Moment) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan Moment, len(moments))
	for _, moment := range moments {
		queue <- moment
	}
	close(queue)
	var workers sync.WaitGroup
	for job := range min(max(1, l.Jobs), len(moments)) {
		workers.Go(func() {
			b, err := first, error(nil)
			if job > 0 {
				b, err = l.newBench(ctx)
			}
			for moment := range queue {
				if err != nil || ctx.Err() != nil {
					break
				}
				b, err = l.tryAt(ctx, b, moment)
			}
			if err != nil {
				stop(err)
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// tryAt kills a run at the moment, and its recovery at the moments of its share. A bench on which something failed is kept, and
// another is returned.
func (l *laboratory) tryAt(ctx context.Context, b *bench, first Moment) (*bench, error) {
	trial, seconds, err := b.single(ctx, first)
	if err != nil {
		return b, err
	}
	if b, err = l.add(ctx, b, trial); err != nil {
		return b, err
	}
	for _, second := range l.share(first, seconds, trial) {
		trial, err := b.pair(ctx, first, second)
		if err != nil {
			return b, err
		}
		if b, err = l.add(ctx, b, trial); err != nil {
			return b, err
		}
	}
	return b, nil
}

// share returns the moments of a recovery at which it is to be killed.
func (l *laboratory) share(first Moment, seconds []Moment, single Trial) []Moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	firsts := max(1, l.firsts)
	l.firsts--
	switch {
	case len(l.Only) > 1:
		return l.Only[1:]
	case !single.Died || single.failed():
		return nil
	case l.Pairs == All:
		return seconds
	}
	chosen := sample(seconds, (l.budget+firsts-1)/firsts, l.Seed^first.number())
	l.budget -= len(chosen)
	return chosen
}

// add notes a trial. The bench of a failed one is kept as it is, and a new one takes its place.
func (l *laboratory) add(ctx context.Context, b *bench, trial Trial) (*bench, error) {
	l.mu.Lock()
	keep := trial.failed() && l.kept < maxKept
	if keep {
		l.kept++
		trial.Folder, trial.Repeat = b.folder, l.repeat(trial)
	}
	l.report.add(trial)
	if l.Progress != nil {
		l.Progress(l.report.tally())
	}
	l.mu.Unlock()
	if !keep {
		return b, nil
	}
	return l.newBench(ctx)
}

// repeat returns the command line that tries the same again.
func (l *laboratory) repeat(trial Trial) string {
	only := trial.First.String()
	if trial.Second != nil {
		only += "," + trial.Second.String()
	}
	command := fmt.Sprintf("%s -waymark %s -keep -only %s", os.Args[0], l.Binary, only)
	if l.Fault != Kill {
		command += " -fault '" + l.Fault + "'"
	}
	if l.Split {
		command += " -split"
	}
	for _, flag := range l.Flags {
		command += " -global '" + flag + "'"
	}
	for pair := range slices.Chunk(l.Params, 2) {
		command += " -param '" + pair[1] + "'"
	}
	return command + " " + l.Pipeline
}

func (l *laboratory) makeScratch() (err error) {
	if l.Binary, err = filepath.Abs(l.Binary); err != nil {
		return err
	}
	if l.Pipeline, err = filepath.Abs(l.Pipeline); err != nil {
		return err
	}
	if l.Scratch != "" {
		if l.Scratch, err = filepath.Abs(l.Scratch); err != nil {
			return err
		}
		return os.Mkdir(l.Scratch, 0o700)
	}
	l.Scratch, err = os.MkdirTemp(roomy(), "waymark-lab-")
	return err
}
