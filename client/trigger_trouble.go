package client

import (
	"cmp"
	"fmt"
	"time"

	"waymark/pipeline"
)

const (
	// slowestLooks is how many times as long as at first the time between two looks becomes while nothing comes.
	slowestLooks = 10
	// untended is for how long nobody may do anything for a trigger besides that.
	untended = time.Minute
	// longWait is for how long an arrival may wait besides what its trigger says: as long as runs before it take is no trouble.
	longWait = 10 * time.Minute
)

// Trouble says what keeps the trigger from beginning runs, or may do so, in words, and what cures it; both are empty
// if nothing does.
func (t *Trigger) Trouble(now time.Time) (trouble, cure string) {
	waits := t.Kind.Count(t.Waiting) + " wait"
	if t.Waiting == 1 {
		waits += "s"
	}
	switch age := now.Sub(t.Oldest.Time()); {
	case t.Removed && t.Waiting > 0:
		return fmt.Sprintf("it was removed with version %d, and %s", t.Version, waits),
			fmt.Sprintf("deploy a version that has it, or waymark triggers ignore %s --all --why TEXT", t.ID)
	case t.Removed:
		return "", ""
	case t.Paused:
		return fmt.Sprintf("paused by %s: %s; %s", t.Actor, t.Why, waits), "waymark triggers resume " + t.ID
	case t.Error != "":
		return t.Error, "do what is said of " + t.ID
	case now.Sub(t.tended.Time()) > t.looksAtLeast()+untended && now.Sub(t.Since.Time()) > untended:
		return "nobody looks after it; " + waits,
			"start waymark serve, or a worker that sees the same files, and look what it says"
	case t.Waiting > 0 && age > cmp.Or(time.Duration(t.declared.Batch.Wait), pipeline.DefaultTriggerWait)+longWait:
		return fmt.Sprintf("%s, since %s", waits, t.Oldest.Time().UTC().Format(time.RFC3339)),
			fmt.Sprintf("see what waits with waymark triggers arrivals %s, and what executes with waymark runs", t.ID)
	}
	return "", ""
}

// looksAtLeast is how often at least somebody looks after the trigger.
func (t *Trigger) looksAtLeast() time.Duration {
	return slowestLooks * cmp.Or(time.Duration(t.declared.Every), pipeline.DefaultTriggerEvery)
}
