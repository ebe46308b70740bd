// Package runlog records what a process logs about runs: their warnings and errors, of each run the first ones, and how many more there were.
package runlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"waymark/activities"
	"waymark/internal/defect"
	"waymark/landscape"
)

const (
	// mostLines is how many lines about a run a process records; of the others it records how many there are.
	mostLines = 50
	// mostRuns is of how many runs a process keeps lines. What comes on top is in its log alone.
	mostRuns = 1_000
	// mostBytes is how long a line may be.
	mostBytes = 2_000

	// pause is how long lines wait for others, and for the first try again; it grows with each that fails.
	pause    = time.Second
	maxPause = time.Minute
	// patience is how long lines wait for a run to be recorded: not everything is one that calls itself so.
	patience = 10 * time.Minute
)

// Keeper has what a process logged about runs and did not record yet. It is safe for concurrent use. The zero value is ready: lines wait until there is a record.
type Keeper struct {
	mu    sync.Mutex
	log   *landscape.Log
	runs  map[string]*told
	timer *time.Timer // nil: nothing waits
	fails int         // times in succession that lines could not be recorded
}

// told is what was logged about a run.
type told struct {
	waiting []landscape.RunEvent
	since   time.Time        // when the first of those that wait came
	lines   int              // that were recorded, or wait
	more    int64            // that came after those
	counted int64            // of more, those that the record counts
	last    landscape.Micros // when the last line was logged
}

// To says where to record lines from now on.
func (k *Keeper) To(log *landscape.Log) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.log = log
}

// Close records what waits. The Keeper is not used afterwards.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	if k.timer != nil {
		k.timer.Stop()
	}
	runs := slices.Sorted(maps.Keys(k.runs))
	k.mu.Unlock()
	var failed error
	for _, run := range runs {
		failed = errors.Join(failed, k.record(ctx, run, true))
	}
	return failed
}

// note keeps a line about a run.
func (k *Keeper) note(run string, event landscape.RunEvent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := k.runs[run]
	if of == nil {
		if k.evict(); len(k.runs) >= mostRuns {
			return
		}
		if k.runs == nil {
			k.runs = map[string]*told{}
		}
		of = &told{}
		k.runs[run] = of
	}
	of.last = event.At
	if of.lines < mostLines {
		of.lines++
		of.add(event)
	} else if of.more++; of.more < 2*of.counted {
		return // until the record is wrong by half
	}
	k.arm()
}

// evict makes room for another run, if nothing of one waits. It must be called with mu held.
func (k *Keeper) evict() {
	for run, of := range k.runs {
		if len(k.runs) < mostRuns {
			return
		}
		if len(of.waiting) == 0 && of.more == of.counted {
			delete(k.runs, run)
		}
	}
}

func (t *told) add(events ...landscape.RunEvent) {
	if len(t.waiting) == 0 {
		t.since = time.Now()
	}
	t.waiting = append(t.waiting, events...)
}

// arm lets lines be recorded soon. It must be called with mu held.
func (k *Keeper) arm() {
	if k.timer == nil {
		k.timer = time.AfterFunc(min(pause<<min(k.fails, 10), maxPause), defect.Guard("runlog", k.recordAll))
	}
}

// recordAll records what waits, or tries it again later.
func (k *Keeper) recordAll() {
	k.mu.Lock()
	k.timer = nil
	runs := slices.Sorted(maps.Keys(k.runs))
	k.mu.Unlock()
	ctx, done := context.WithTimeout(context.Background(), maxPause)
	defer done()
	var failed error
	for _, run := range runs {
		failed = cmp.Or(failed, k.record(ctx, run, false))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if failed == nil {
		k.fails = 0
		return
	}
	k.fails++
	k.arm()
}

// record records what waits of a run. last says that nothing comes any more.
func (k *Keeper) record(ctx context.Context, run string, last bool) error {
	k.mu.Lock()
	of, log := k.runs[run], k.log
	if of == nil {
		k.mu.Unlock()
		return nil
	}
	if of.more > of.counted && (last || of.more >= 2*of.counted) {
		of.counted = of.more
		of.add(event(slog.LevelWarn, of.last.Time(), fmt.Sprintf("%d further warnings and errors are in the log of this process alone", of.more)))
	}
	lines, old := of.waiting, time.Since(of.since) > patience
	of.waiting = nil
	k.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	err := errors.New("there is no record yet")
	if log != nil {
		err = log.RecordLogged(ctx, run, lines)
	}
	if err == nil || (old || last) && errors.Is(err, landscape.ErrNotFound) { // it never began
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	of.waiting = append(lines, of.waiting...)
	return err
}

// process names this process as activities do.
var process = sync.OnceValue(activities.ProcessName)

// event is the record of a line.
func event(level slog.Level, at time.Time, text string) landscape.RunEvent {
	word := landscape.LoggedWarning
	if level >= slog.LevelError {
		word = landscape.LoggedError
	}
	if len(text) > mostBytes {
		text = strings.ToValidUTF8(text[:mostBytes], "") + " …"
	}
	return landscape.RunEvent{Event: word, Detail: process() + ": " + text, At: landscape.MicrosOf(at)}
}
