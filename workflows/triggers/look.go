package triggers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// found is what a process found where files arrive. The zero value is that of one that has not looked.
type found struct {
	next  time.Time // before which nobody needs to look
	pause time.Duration

	// version is the row of the trigger that files or table is of; the zero one if nobody has compiled its version yet.
	version landscape.Trigger

	files    plugin.Watched               // where files arrive; nil for a table
	table    plugin.Growing               // where rows do; nil for files
	more     bool                         // others are there already, of rows
	known    map[string]landscape.Arrival // by item, what was recorded last: of all files that are there, and of all that are ready
	unready  map[string]unready           // by item
	left     string                       // what is there and can be no file of a run, in words; empty if nothing is
	gone     map[string]landscape.Arrival // by item, outputs that are gone and may come back; nil if that was not asked yet
	position int64                        // up to which the outbox was looked at, while nothing waits; 0 if that was not asked yet
	follows  landscape.Micros             // when the trigger became one after the pipeline after which it is; 0 if that was not asked yet
}

// unready is a file that may be written yet.
type unready struct {
	file  plugin.FileInfo
	since time.Time // when it was seen so first
}

const (
	// slowest is how many times as long as at first the time between two looks becomes while nothing comes.
	slowest = 10
	// rests is how many times as long as a look took nobody looks after it.
	rests = 3
)

// look puts on record what has arrived, and what is gone, if it is time to.
func (w *watched) look(ctx context.Context) error {
	begun := time.Now()
	if begun.Before(w.found.next) {
		return nil
	}
	every := cmp.Or(time.Duration(w.declared.Every), pipeline.DefaultTriggerEvery)
	next := w.at
	changes, err := w.lookAt(ctx, &next)
	next.Looked, next.Waiting, next.Error = landscape.MicrosOf(begun), int64(len(w.found.unready)), w.found.left
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		next.Error = sentence(err.Error())
	}
	w.found.pause = min(w.found.pause*3/2, slowest*every)
	if len(changes) > 0 || len(w.found.unready) > 0 || w.found.pause == 0 || w.declared.HTTP != nil {
		w.found.pause = every
	}
	pause := w.found.pause
	if w.found.more {
		pause = 0
	}
	w.found.next = time.Now().Add(max(pause, rests*time.Since(begun)))
	news := len(changes) > 0 || next.Waiting != w.at.Waiting || next.Error != w.at.Error || next.Position-w.at.Position >= unrecorded
	often := rest
	if !w.led {
		often = beat
	}
	if !news && w.owns && time.Since(w.at.Changed.Time()).Abs() < often {
		return nil
	}
	if err := w.record(ctx, next, changes); err != nil {
		return err
	}
	switch {
	case err != nil:
		w.Logger.Warn("cannot look for what arrives", "trigger", w.row.ID, "error", next.Error)
		w.yield()
	case next.Error != "":
		w.Logger.Warn("not all that is there can arrive", "trigger", w.row.ID, "error", next.Error)
	}
	return failpoint.Hit("arrival.found")
}

// lookAt returns what is to be recorded of what has arrived, and notes in next how far the outbox was looked at.
func (w *watched) lookAt(ctx context.Context, next *landscape.Watch) ([]landscape.ArrivalChange, error) {
	switch {
	case w.declared.Rows != nil:
		return w.grown(ctx)
	case w.declared.After == nil:
		return w.compare(ctx)
	}
	changes, position, err := w.compareOutputs(ctx)
	if err == nil {
		next.Position = position
	}
	return changes, err
}

// yield lets another process have the trigger: it may see what this one cannot.
func (w *watched) yield() {
	if !w.Alone {
		w.owns, w.since = false, time.Now().Add(lease)
	}
}

// compare returns what is to be recorded of the files that are there, and of those that are not any more.
func (w *watched) compare(ctx context.Context) ([]landscape.ArrivalChange, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	if w.declared.HTTP != nil { // what is delivered is recorded already
		w.found.left = w.unverifiable()
		return nil, nil
	}
	files, left, err := w.found.files.Look(ctx)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(file plugin.FileInfo) bool {
		named := utf8.ValidString(file.Path)
		if !named {
			left = append(left, fmt.Errorf("%q: the name is not text in UTF-8", file.Path))
		}
		return !named
	})
	w.found.left = leftOut(left)
	there := make(map[string]plugin.FileInfo, len(files))
	for _, file := range files {
		there[file.Path] = file
	}
	if err := w.readKnown(ctx, there); err != nil {
		return nil, err
	}
	maps.DeleteFunc(w.found.unready, func(item string, u unready) bool { return there[item] != u.file })
	var changes []landscape.ArrivalChange
	for _, item := range slices.Sorted(maps.Keys(w.found.known)) {
		known := w.found.known[item]
		if now, is := there[item]; known.State == landscape.ArrivalReady && (!is || !same(known, now)) {
			changes = append(changes, gone(known, is))
		}
	}
	quiet := w.quiet()
	for _, file := range files {
		if change, is := w.arrived(file, quiet); is {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// unverifiable says why deliveries cannot be verified, if this process takes them; it is empty if they can.
func (w *watched) unverifiable() string {
	if !w.Alone {
		return ""
	}
	if err := recompute.CheckSecrets(w.Planner, w.row.Pipeline, *w.declared.HTTP); err != nil {
		return "deliveries cannot be verified: " + sentence(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return ""
}

// leftOut says what cannot arrive: the first, how many others, and the cure. It is empty if nothing is left out.
func leftOut(left []error) string {
	if len(left) == 0 {
		return ""
	}
	others := ""
	if n := len(left) - 1; n > 0 {
		others = fmt.Sprintf(", and %d more", n)
	}
	return sentence(left[0].Error()) + others + "; other files arrive: move it away, or let the path of the source not match it"
}

// mostSaid is how many bytes of an error are recorded: as many as its cure needs, which comes last.
const mostSaid = 2000

// sentence returns what is recorded of an error, valid UTF-8: whole or, if it is longer than any that has a cure, up
// to a word.
func sentence(text string) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= mostSaid {
		return text
	}
	text = text[:mostSaid]
	if at := strings.LastIndexByte(text, ' '); at > 0 {
		text = text[:at]
	}
	return strings.ToValidUTF8(text, "") + " …"
}

// open compiles the version of the trigger, unless the process has it.
func (w *watched) open(ctx context.Context) error {
	row := w.row
	if w.found.version == row {
		return nil
	}
	version, err := w.Log.Version(ctx, row.Pipeline, row.Version)
	if err != nil {
		return err
	}
	compiled, err := activities.CompileVersion(ctx, w.Log.Reader, w.Payloads, w.Planner, row.Environment, version, paramsOf(w.declared, "run"))
	if err != nil {
		return err
	}
	at := compiled.Find(w.declared.Source)
	if at == plan.None {
		return fmt.Errorf("version %d of %s has no source %s", row.Version, row.Pipeline, w.declared.Source)
	}
	now := found{
		version: row,
		next:    w.found.next,
		pause:   w.found.pause,
		known:   w.found.known,
		unready: map[string]unready{},
		left:    w.found.left,
	}
	var is bool
	what := "files"
	if w.declared.Rows == nil {
		now.files, is = compiled.Nodes[at].Source.(plugin.Watched)
	} else {
		what = "rows"
		now.table, is = compiled.Nodes[at].Source.(plugin.Growing)
	}
	if !is {
		return fmt.Errorf("no %s arrive at source %s", what, w.declared.Source)
	}
	w.found = now
	return nil
}

// quiet is how long a file must not have changed: objects appear whole.
func (w *watched) quiet() time.Duration {
	if w.declared.Quiet == 0 && w.local() {
		return pipeline.DefaultTriggerQuiet
	}
	return time.Duration(w.declared.Quiet)
}

// local reports whether the files are those of a host.
func (w *watched) local() bool {
	local, is := w.found.files.(plugin.OnHost)
	return is && local.OnHost()
}

// readKnown reads what is recorded of files that are there, and of those that are ready, unless the process knows.
func (w *watched) readKnown(ctx context.Context, there map[string]plugin.FileInfo) error {
	if w.found.known == nil {
		known := map[string]landscape.Arrival{}
		err := w.Log.LastArrivals(ctx, w.row.ID, func(a landscape.Arrival) bool {
			if _, is := there[a.Item]; is || a.State == landscape.ArrivalReady {
				known[a.Item] = a
			}
			return true
		})
		w.found.known = known
		return err
	}
	for item := range there {
		if _, is := w.found.known[item]; is {
			continue
		}
		last, err := w.Log.LastArrival(ctx, w.row.ID, item)
		if err == nil {
			w.found.known[item] = last
		} else if !errors.Is(err, landscape.ErrNotFound) {
			return err
		}
	}
	return nil
}

// same reports whether a file is still as an arrival says.
func same(known landscape.Arrival, now plugin.FileInfo) bool {
	then, err := known.File()
	return err == nil && then == now
}

// gone is the change of an arrival that no run can read any more.
func gone(known landscape.Arrival, changed bool) landscape.ArrivalChange {
	to := known
	to.State, to.Reason = landscape.ArrivalGone, "it was removed before a run took it"
	if changed {
		to.Reason = "it changed before a run took it"
	}
	return landscape.ArrivalChange{From: &known, To: to}
}

// arrived returns what is to be recorded of a file that is there; false if nothing is.
func (w *watched) arrived(file plugin.FileInfo, quiet time.Duration) (landscape.ArrivalChange, bool) {
	known, is := w.found.known[file.Path]
	if is && same(known, file) && known.State != landscape.ArrivalGone {
		return landscape.ArrivalChange{}, false
	}
	if since, seen := w.found.unready[file.Path]; quiet > 0 && (!seen || time.Since(since.since) < quiet) {
		if !seen {
			w.found.unready[file.Path] = unready{file, time.Now()}
		}
		return landscape.ArrivalChange{}, false
	}
	delete(w.found.unready, file.Path)
	to := landscape.NewArrival(w.row.ID, 0, file)
	if is {
		to.Revision = known.Revision + 1
	}
	if read := known.State == landscape.ArrivalTaken || known.State == landscape.ArrivalDone; read && w.declared.Changed == "ignore" {
		to.State, to.Reason = landscape.ArrivalIgnored, "it changed after a run took it (changed: ignore)"
	}
	return landscape.ArrivalChange{To: to}, true
}
