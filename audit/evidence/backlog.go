package evidence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/landscape"
)

// Backlog is how far the log is sealed, signed and anchored.
type Backlog struct {
	Entries int64     `json:"entries"` // of the log
	Signed  int64     `json:"signed"`  // of them, under a head
	Anchors []Anchor  `json:"anchors,omitempty"`
	Oldest  time.Time `json:"oldest,omitzero"` // when the oldest entry was made that is not signed, or not at all anchors; zero if there is none
}

// BacklogOf asks the landscape how far its log is. Only heads that the log signed count.
func BacklogOf(ctx context.Context, log *landscape.Reader, anchors []string) (b Backlog, err error) {
	if b.Entries, err = log.LogSize(ctx); err != nil {
		return b, err
	}
	last, by, err := signedSoFar(ctx, log)
	if err != nil {
		return b, err
	}
	b.Signed = last.Size
	done := b.Signed
	for _, at := range placesOf(anchors) {
		size, err := lastAnchored(ctx, log, by, at.String())
		if err != nil {
			return b, err
		}
		b.Anchors = append(b.Anchors, Anchor{Anchor: at.String(), Entries: size})
		if size < done && grace(at) > 0 {
			made, err := madeAt(ctx, log, size)
			if err != nil {
				return b, err
			}
			if time.Since(made) < grace(at) {
				continue
			}
		}
		done = min(done, size)
	}
	if done == b.Entries {
		return b, nil
	}
	b.Oldest, err = madeAt(ctx, log, done)
	return b, err
}

// SealPatience is how long a server or a worker has to seal a run that ended, before that deserves a look.
const SealPatience = time.Minute

// LongWait is how long an entry may wait for its signature, or for an anchor, before that deserves a look.
const LongWait = 5 * time.Minute

// madeAt returns when an entry was made, as it says; zero if it cannot be read.
func madeAt(ctx context.Context, log *landscape.Reader, position int64) (at time.Time, err error) {
	entries, err := log.LogEntries(ctx, position, 1)
	if err != nil || entries == nil {
		return at, err
	}
	if s, _, broken := read(entries[0].Entry); broken == nil {
		at, err = time.Parse(moment, s.At)
	}
	return at, err
}

// waiting warns of entries that should be under a signed head and at each anchor by now.
func (c *checker) waiting(ctx context.Context) error {
	done, wait := c.Signed, LongWait
	for _, anchor := range c.Anchors {
		if anchor.Entries < done {
			done, wait = anchor.Entries, LongWait+c.grace(anchor.Anchor)
		}
	}
	if done == c.Entries {
		return nil
	}
	at, err := madeAt(ctx, c.log, done)
	if err != nil || at.IsZero() || time.Since(at) < wait {
		return err
	}
	what := fmt.Sprintf("entry %d was made at %s, and it is not at every anchor under a signed head: no process with the key of the log works, or somebody removed heads", done, at.Format(moment))
	if c.Signed == 0 {
		what = fmt.Sprintf("no head of it is signed, and its first entry was made at %s: no process with the key of the log works, or somebody removed all heads; anybody can have written what is not signed", at.Format(moment))
	}
	c.Warnings = append(c.Warnings, Problem{"log", what})
	return nil
}

// grace is how long entries wait at the anchor with this name as a matter of course.
func (c *checker) grace(name string) time.Duration {
	for _, at := range c.anchors {
		if at.String() == name {
			return grace(at)
		}
	}
	return 0
}

// Unlogged counts the runs without an entry that are not older than the log: a process without a key that counts recorded them, or somebody made them
// up; 0 if the log has not begun. Nothing is verified.
func Unlogged(ctx context.Context, log *landscape.Reader) (runs int64, err error) {
	size, err := log.LogSize(ctx)
	if err != nil || size == 0 {
		return 0, err
	}
	ring, err := keysOf(ctx, log, size)
	if err != nil {
		return 0, err
	}
	entries, err := log.LogEntriesAbout(ctx, string(Began))
	if err != nil {
		return 0, err
	}
	logged := map[string]bool{}
	for _, e := range entries {
		logged[e.About] = true
	}
	err = log.RunIDs(ctx, func(run string) bool {
		if !logged[Statement{Type: Began, Run: run}.about()] {
			runs++
		}
		return true
	})
	return max(runs-ring.genesis.Runs, 0), err
}

// sortProblems orders problems by where they are.
func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Where, b.Where) })
}

// sortKeys orders keys by when they came.
func sortKeys(known []KnownKey) {
	slices.SortFunc(known, func(a, b KnownKey) int { return int(a.Since - b.Since) })
}
