package retain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// What one turn does at most: the next one continues where it ended.
const (
	mostPayloads = 2_000
	mostStaged   = 100
)

// quiet is how often a turn is recorded that did nothing new, so that everybody sees that somebody looks.
const quiet = 24 * time.Hour

// Keeper deletes what is due by configured periods, one turn after the other. Everything that it does may be done by
// several processes at once, and by one that was killed in the middle: the next turn finishes it.
type Keeper struct {
	Log      *landscape.Log
	Payloads *payload.Store
	Periods  Periods // as the settings of this process say
	Actor    string  // the process

	// MayPurge says why this process may not purge; nil if it may.
	MayPurge func(ctx context.Context) error
	// Staged reports whether a run has staged something that this process sees; Discard deletes that. Nil if the
	// process sees nothing.
	Staged  func(run landscape.Run) (bool, error)
	Discard func(ctx context.Context, run string) error

	// clean is the epoch in which a run stopped, with nothing staged: it can stage nothing before it is resumed.
	clean map[string]int64
}

// turn is one turn.
type turn struct {
	*Keeper
	done    landscape.RetentionTurn
	force   *landscape.RetentionPeriods // nil if none
	periods *Periods                    // in force
	holds   []landscape.Hold
	said    documents
	heads   map[string]landscape.RunHead // that were read, by id; of one that never began it is empty
	more    bool                         // is due, and left to the next turn
	wrong   []string
}

// Turn brings the periods of this process into force, as far as nobody must approve them, and deletes what is due by
// those in force. more says that something was left to the next turn. What fails is in the Problem of the turn, and
// keeps nothing else from being deleted; the error says that the record could not be read or written.
func (k *Keeper) Turn(ctx context.Context) (done landscape.RetentionTurn, more bool, err error) {
	t := &turn{Keeper: k, said: documents{k.Log.Reader, map[string]said{}}, heads: map[string]landscape.RunHead{}}
	purges := k.Periods.Given
	if refused := k.mayPurge(ctx); refused != nil && purges {
		purges = false
		t.fail("payloads", refused)
	}
	if purges {
		if err := k.force(ctx); err != nil {
			return done, false, err
		}
	}
	if t.force, _, err = k.Log.Periods(ctx); err != nil {
		return done, false, err
	}
	if t.periods, err = ReadPeriods(t.force); err != nil {
		return done, false, err
	}
	if t.holds, err = k.Log.OpenHolds(ctx); err != nil {
		return done, false, err
	}
	t.begin()
	if purges && t.force != nil {
		t.fail("payloads", t.purge(ctx))
	}
	t.fail("events", t.drop(ctx))
	if k.Periods.Given && t.force != nil && k.Discard != nil {
		t.fail("staged output", t.discard(ctx))
	}
	if ctx.Err() != nil {
		return t.done, false, context.Cause(ctx)
	}
	t.done.Problem = strings.Join(t.wrong, "; ")
	done, err = t.record(ctx)
	return done, t.more, err
}

func (k *Keeper) mayPurge(ctx context.Context) error {
	if k.MayPurge == nil {
		return nil
	}
	return k.MayPurge(ctx)
}

// force brings the periods of this process into force, or asks for them.
func (k *Keeper) force(ctx context.Context) error {
	asked := k.Periods.record(k.who(), "the settings say so")
	_, err := k.Log.SetPeriods(ctx, asked, func(before *landscape.RetentionPeriods) (bool, error) {
		earlier, err := ReadPeriods(before)
		return err == nil && k.Periods.Shortens(earlier) != nil, err
	})
	return err
}

// Approve brings periods into force that wait for approval, as the execution of the order about them.
func Approve(
	ctx context.Context, under *landscape.Log, asked *landscape.RetentionPeriods, actor, why string,
) (landscape.RetentionPeriods, error) {
	p := landscape.RetentionPeriods{SHA256: asked.SHA256, Text: asked.Text, Actor: actor, Why: why}
	return under.SetPeriods(ctx, p, func(*landscape.RetentionPeriods) (bool, error) { return true, nil })
}

// record returns what is recorded of periods.
func (p *Periods) record(actor, why string) landscape.RetentionPeriods {
	return landscape.RetentionPeriods{SHA256: p.Digest(), Text: p.String(), Actor: actor, Why: why}
}

// who is the process and its settings.
func (k *Keeper) who() string {
	if !k.Periods.Given {
		return k.Actor
	}
	return fmt.Sprintf("%s, settings %.12s", k.Actor, k.Periods.Digest())
}

// begin says who does this, and why.
func (t *turn) begin() {
	t.done.Actor, t.done.Why = t.who(), "events are kept "+lengthText(DefaultDebugging)
	if t.force != nil {
		t.done.Periods, t.done.Why = t.force.SHA256, "retention: "+t.periods.Told()
	}
}

// fail notes what failed.
func (t *turn) fail(what string, err error) {
	if err != nil {
		t.wrong = append(t.wrong, fmt.Sprintf("%s: %v", what, err))
	}
}

// purge deletes payloads.
func (t *turn) purge(ctx context.Context) error {
	plan, err := newPlan(ctx, t.Log.Reader, t.periods, t.Log.Now().Time(), mostPayloads)
	if err != nil {
		return err
	}
	purger := Purger{Log: t.Log, Payloads: t.Payloads, By: t.force}
	did, err := purger.Purge(ctx, plan, landscape.Purge{Actor: t.done.Actor, Why: t.done.Why, Rules: t.force.Text})
	t.done.Payloads, t.done.Bytes, t.done.Left = int64(did.Deleted), did.Bytes, int64(plan.Left)
	if did.Purge > 0 {
		t.done.Purge = &did.Purge
	}
	t.more = t.more || plan.Left > 0
	return err
}

// drop drops events from the oldest on, up to the first that is not due, or that somebody needs.
func (t *turn) drop(ctx context.Context) error {
	upTo, err := t.Log.DroppableEvents(ctx)
	if err != nil {
		return err
	}
	t.done.Events, err = t.Log.DropEvents(ctx, upTo, func(e landscape.AgedEvent) (bool, error) { return t.old(ctx, e) })
	t.more = t.more || t.done.Events >= landscape.MostDropped
	return err
}

// old reports whether an event is due, and no hold is about its run.
func (t *turn) old(ctx context.Context, e landscape.AgedEvent) (bool, error) {
	if due := t.due(t.periods.Of(e.Pipeline, nil), e.At); !due || e.Run == "" {
		return due, nil
	}
	run, known := t.heads[e.Run]
	if !known {
		found, err := t.Log.Run(ctx, e.Run)
		if err != nil && !errors.Is(err, landscape.ErrNotFound) {
			return false, err
		}
		run = found.RunHead
		t.heads[e.Run] = run
	}
	switch {
	case run.ID == "": // it never began
		return true, nil
	case t.held(run):
		return false, nil
	}
	said, readable, err := t.said.of(ctx, run)
	return err == nil && readable && t.due(t.periods.Of(run.Pipeline, said), e.At), err
}

// due reports whether what a run left for debugging, and since when, is due.
func (t *turn) due(rules Rules, since landscape.Micros) bool {
	keep, ends := rules[landscape.DebuggingClass]
	return ends && since+landscape.Micros(keep.Microseconds()) <= t.Log.Now()
}

func (t *turn) held(run landscape.RunHead) bool {
	return slices.ContainsFunc(t.holds, func(h landscape.Hold) bool { return h.Holds(run) })
}

// discard deletes what runs staged that can no longer be resumed: they were cancelled permanently, or their records
// were purged.
func (t *turn) discard(ctx context.Context) error {
	if t.clean == nil {
		t.clean = map[string]int64{}
	}
	var dead []landscape.RunHead
	err := t.Log.RunHeads(ctx, func(head landscape.RunHead) bool {
		if epoch, clean := t.clean[head.ID]; clean && epoch == head.Epoch {
			return true
		}
		if head.Finished != 0 && !complete(head.Status) && !t.held(head) &&
			t.due(t.periods.Of(head.Pipeline, nil), head.Finished) {
			dead = append(dead, head)
		}
		return true
	})
	if err != nil {
		return err
	}
	var wrong []error
	for _, head := range dead {
		if t.done.Staged >= mostStaged {
			t.more = true
			break
		}
		if err := t.discardOf(ctx, head); err != nil {
			wrong = append(wrong, fmt.Errorf("run %s: %w", head.ID, err))
		}
	}
	return errors.Join(wrong...)
}

func complete(status pipeline.RunStatus) bool {
	return status == pipeline.Completed || status == pipeline.CompletedWithFailures || status == pipeline.Empty
}

// discardOf deletes what one run staged, if it is dead.
func (t *turn) discardOf(ctx context.Context, head landscape.RunHead) error {
	said, readable, err := t.said.of(ctx, head)
	if err != nil || !readable || !t.due(t.periods.Of(head.Pipeline, said), head.Finished) {
		return err
	}
	run, err := t.Log.Run(ctx, head.ID)
	if err != nil {
		return err
	}
	staged, err := t.Staged(run)
	if err != nil {
		return err
	}
	if !staged {
		t.clean[head.ID] = head.Epoch
		return nil
	}
	if !head.Final {
		purged, err := t.Log.FirstPurged(ctx, head.ID)
		if err != nil || purged == nil {
			return err
		}
	}
	if err := t.Discard(ctx, head.ID); err != nil {
		return err
	}
	t.done.Staged++
	return nil
}

// record records the turn if it did something, or if something is wrong that was not, or is no longer; else once in a
// while.
func (t *turn) record(ctx context.Context) (landscape.RetentionTurn, error) {
	last, _, err := t.Log.LastRetention(ctx)
	if err != nil {
		return t.done, err
	}
	now := t.Log.Now()
	t.done.At = now
	switch {
	case t.done.Did():
	case last == nil && t.force == nil && t.done.Problem == "":
		return t.done, nil // nothing is configured, and nothing was to be done
	case last != nil && last.Problem == t.done.Problem && last.Periods == t.done.Periods &&
		now-last.At < landscape.Micros(quiet.Microseconds()):
		return t.done, nil
	}
	return t.Log.RecordRetention(ctx, t.done)
}
