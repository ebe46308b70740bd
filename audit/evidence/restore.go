package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"waymark/landscape"
)

// Restoration says what Restore did.
type Restoration struct {
	Found    int64    `json:"found"`    // entries that were left
	Anchored int64    `json:"anchored"` // entries that the anchor has
	Lost     []string `json:"lost"`     // runs that the log knows, and that are not recorded any more; nil if there are none

	// What else the entries that came back are about, and is not recorded any more, in the order of the log; nil if there is nothing.
	Missing []Missing `json:"missing,omitempty"`
}

// Restore takes the entries that the log does not have any more from an anchor, after a backup of the landscape was restored, and appends to the
// log that this happened, why, and which runs are lost. What else is lost is in Missing: the entries about it say so from then on. The error is a *ForkedError if the entries that were left are not those of the anchor.
func Restore(ctx context.Context, log *landscape.Log, o Options, from, why string) (done Restoration, err error) {
	opening := &opening{Options: o, log: log, reader: log.Reader}
	if err := opening.loadKeys(ctx); err != nil {
		return done, err
	}
	if opening.key == nil {
		return done, fmt.Errorf("only who has the key of the log restores it, and %s has none", o.Keys)
	}
	by, err := opening.verifiers()
	if err != nil {
		return done, err
	}
	if _, folder := PlaceOf(from).(Folder); !folder {
		return done, fmt.Errorf("%s has the heads of the log, and not its entries: restore it from an anchor that is a folder", from)
	}
	r := &restorer{opening: opening, at: Folder(from), tree: &tree{ctx: ctx, log: log.Reader, new: map[int64]tlog.Hash{}}}
	if r.head, err = r.at.Head(ctx, by); err != nil {
		return done, err
	}
	known := r.at.continued(by)
	if err := known.replaced(opening.key, o.Keys); err != nil {
		return done, err
	}
	if has := known.last(); has.vkey != opening.key.VKey {
		return done, fmt.Errorf("the log at %s has the key %s, and %s has %s: put back the log.key of then; if the key was rotated, it was kept beside the new one", from, short(has.vkey), o.Keys, short(opening.key.VKey))
	}
	done.Found, done.Anchored = opening.size, r.head.Size
	if r.head.Size <= opening.size {
		return done, fmt.Errorf("nothing is to be restored: the log has %d entries here, and %s has %d; if a witness, bucket or repository knows more, the folder was put back as well: "+
			"restore from another copy of it, or from the landscape that was replaced. If the entries are in neither, they are lost, and that anchor never agrees again: "+
			"keep all as it is for those who ask, and take the anchor out of --log-anchor", opening.size, from, r.head.Size)
	}
	if err := r.read(ctx); err != nil {
		return done, err
	}
	if done.Lost, err = r.lost(ctx); err != nil {
		return done, err
	}
	came := slices.Clone(r.missing)
	if err := r.write(ctx, done, why); err != nil {
		return done, err
	}
	done.Missing, err = missing(ctx, log.Reader, came, gaps{{Found: done.Found, Anchored: done.Anchored}})
	done.Missing = slices.DeleteFunc(done.Missing, func(m Missing) bool { return slices.Contains(done.Lost, m.Run) })
	return done, err
}

// restorer is what Restore knows.
type restorer struct {
	*opening
	at      Folder
	head    Head
	tree    *tree
	hashes  []landscape.LogHash
	missing []landscape.LogEntry
	runs    []string
}

// read reads the anchor's entries, and compares them with its head and with what is left here.
func (r *restorer) read(ctx context.Context) error {
	var here []landscape.LogEntry
	ring := newKeyring()
	err := r.at.entries(r.head, func(position int64, entry string) (err error) {
		if position < r.size && position%most == 0 {
			if here, err = r.log.LogEntries(ctx, position, most); err != nil {
				return err
			}
		}
		leaf := tlog.RecordHash([]byte(entry))
		if i := int(position % most); position < r.size && (i >= len(here) || here[i].Entry != entry) {
			return &ForkedError{r.head.Size, string(r.at)}
		}
		hashes, err := r.tree.grow(position, leaf)
		r.hashes = append(r.hashes, hashes...)
		e := landscape.LogEntry{Position: position, About: fmt.Sprintf("unreadable/%d", position), Entry: entry, Leaf: leaf[:]}
		s, _, broken := read(entry)
		if broken == nil {
			e.About = s.about()
		}
		if _, wrong := ring.take(e); wrong == nil && s.Type == Began {
			r.runs = append(r.runs, s.Run)
		}
		if position >= r.size {
			r.missing = append(r.missing, e)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.tree.has(r.head, string(r.at))
}

// lost returns the runs that the anchor knows and that are not recorded here.
func (r *restorer) lost(ctx context.Context) ([]string, error) {
	recorded := map[string]bool{}
	err := r.log.RunIDs(ctx, func(run string) bool { recorded[run] = true; return true })
	return slices.DeleteFunc(r.runs, func(run string) bool { return recorded[run] }), err
}

// write appends the missing entries and what happened, in one transaction.
func (r *restorer) write(ctx context.Context, done Restoration, why string) error {
	add := func(s Statement) error {
		e, err := entry(s, *r.key, r.log.Now().Time())
		r.missing = append(r.missing, e)
		return err
	}
	err := add(Statement{Type: Restored, Found: done.Found, Anchored: done.Anchored, Why: why})
	for _, run := range done.Lost {
		err = errors.Join(err, add(Statement{Type: Lost, Run: run}))
	}
	if err == nil {
		err = r.log.AppendToLog(ctx, r.missing...)
	}
	if err != nil {
		return err
	}
	there, err := landscape.Select[landscape.SignedHead](ctx, r.log, r.head.Size)
	if err != nil || len(there) > 0 && there[0].Note != r.head.Note { // a foreign head: the notary signs the next size
		return err
	}
	hashes, err := r.tree.keepable(r.hashes)
	if err == nil {
		err = r.log.RecordHead(ctx, landscape.SignedHead{Size: r.head.Size, Root: r.head.Root[:], Note: r.head.Note}, hashes)
	}
	return err
}
