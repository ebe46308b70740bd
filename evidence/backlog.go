package evidence

import (
	"context"
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

// BacklogOf asks the landscape how far its log is.
func BacklogOf(ctx context.Context, log *landscape.Reader, anchors []string) (b Backlog, err error) {
	if b.Entries, err = log.LogSize(ctx); err != nil {
		return b, err
	}
	last, err := log.LastSignedHead(ctx)
	if err != nil {
		return b, err
	}
	if last != nil {
		b.Signed = last.Size
	}
	done := b.Signed
	for _, anchor := range anchors {
		size, err := log.LastAnchored(ctx, anchor)
		if err != nil {
			return b, err
		}
		b.Anchors = append(b.Anchors, Anchor{anchor, size})
		done = min(done, size)
	}
	if done == b.Entries {
		return b, nil
	}
	waiting, err := log.LogEntries(ctx, done, 1)
	if err != nil || waiting == nil {
		return b, err
	}
	if s, _, broken := read(waiting[0].Entry); broken == nil {
		b.Oldest, err = time.Parse(moment, s.At)
	}
	return b, err
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
