package landscape

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waymark/pipeline"
)

// LogEntry is an entry of the landscape's log: a signed note. Package evidence says what is in one.
type LogEntry struct {
	Position int64  `db:"position,key"` // from 0; set when it is appended
	About    string `db:"about"`        // what it is about, of which the log has one entry, such as began/RUN
	Entry    string `db:"entry"`        // the note
	Leaf     []byte `db:"leaf"`         // its hash in the tree of the log, 32 bytes
}

// Table returns log.
func (LogEntry) Table() string { return "log" }

// logAbout is an entry by what it is about.
type logAbout struct {
	About    string `db:"about,key"`
	Position int64  `db:"position"`
	Entry    string `db:"entry"`
	Leaf     []byte `db:"leaf"`
}

// Table returns log.
func (logAbout) Table() string { return LogEntry{}.Table() }

func (l logAbout) entry() LogEntry { return LogEntry{l.Position, l.About, l.Entry, l.Leaf} }

// LogHead says how long the log is. There is one; who appends holds it.
type LogHead struct {
	ID   int64 `db:"id,key"` // 0
	Size int64 `db:"size,move"`
}

// Table returns log_head.
func (LogHead) Table() string { return "log_head" }

// LogHash is a hash of the tree of the log that is kept: of an entry, or of a whole subtree.
type LogHash struct {
	Number int64  `db:"number,key"` // as tlog.StoredHashIndex counts them
	Hash   []byte `db:"hash"`       // 32 bytes
}

// Table returns log_hashes.
func (LogHash) Table() string { return "log_hashes" }

// SignedHead is a head of the log that its notary signed.
type SignedHead struct {
	Size int64  `db:"size,key"`
	Root []byte `db:"root"` // of the tree of that many entries, 32 bytes
	Note string `db:"note"` // the checkpoint
	At   Micros `db:"at_us,first"`
}

// Table returns log_heads.
func (SignedHead) Table() string { return "log_heads" }

// Anchored says that a signed head is at an anchor: a place that the landscape's owner need not own.
type Anchored struct {
	Anchor  string `db:"anchor,key"`
	Size    int64  `db:"size,key"`
	At      Micros `db:"at_us,first"`
	Receipt string `db:"receipt"` // what the anchor answered; empty if it answers nothing
}

// Table returns log_anchors.
func (Anchored) Table() string { return "log_anchors" }

// A Sealer makes the entries of the log that say what becomes of runs. Its methods may be called concurrently, and again for one run: of the
// entries about one thing the log keeps the first.
type Sealer interface {
	// Began returns the entry that says that a run begins, when run.Started says.
	Began(run Run) (LogEntry, error)

	// Sealed returns the entry that says that a seal binds what is recorded of a run that ended.
	Sealed(run RunHead, seal RunSeal) (LogEntry, error)

	// Forgot signs the certificate of an order to forget, and returns the entry that says that it was carried out.
	Forgot(done Forgetting) (certificate string, entry LogEntry, err error)

	// Attested returns the entry that says what the outputs of a run were found to be, all with one number.
	Attested(found []Attestation) (LogEntry, error)

	// SignedOff returns the entry that says that a person signed off a run.
	SignedOff(s SignOff) (LogEntry, error)

	// Archived returns the entry that says that a run is archived.
	Archived(a Archive) (LogEntry, error)

	// Noted returns the entry about a record of guarded changes: an ApprovalRule, an ApprovalRequest, an Approval or an
	// ApprovedExecution.
	Noted(r Record) (LogEntry, error)

	// Saw returns the entry that says that a person's key was in the approvers file at a moment.
	Saw(person, key string, at Micros) (LogEntry, error)
}

// SealedBy returns a Log that appends the sealer's entries to the landscape's log, in the transactions of what they tell. Both may be used at
// the same time.
func (l *Log) SealedBy(sealer Sealer) *Log {
	sealed := *l
	sealed.sealer = sealer
	return &sealed
}

// ErrKeyless says that the log would have no entry about something, because this process makes none: it would look as if somebody had made it up.
var ErrKeyless = errors.New("the log would have no entry about it: this process has no key that counts")

// keyless returns ErrKeyless if the log has begun, and this process makes no entries.
func (l *Log) keyless(ctx context.Context) error {
	if l.sealer != nil {
		return nil
	}
	size, err := l.LogSize(ctx)
	if err == nil && size > 0 {
		err = ErrKeyless
	}
	return err
}

// keylessAbout returns an error that wraps ErrKeyless if the log knows the run, and this process makes no entries.
func (l *Log) keylessAbout(ctx context.Context, run string) error {
	if l.sealer != nil {
		return nil
	}
	_, err := l.LogEntryAbout(ctx, "began/"+run)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("run %s: %w", run, ErrKeyless)
}

// began returns the entry of a run that begins; nil if nobody makes one. A run that is recorded, by a process that made no entry, began then.
func (l *Log) began(ctx context.Context, run Run) ([]LogEntry, error) {
	if l.sealer == nil {
		return nil, nil
	}
	recorded, err := l.Run(ctx, run.ID)
	switch {
	case err == nil:
		run.Started = recorded.Started
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	entry, err := l.sealer.Began(run)
	return []LogEntry{entry}, err
}

// AppendToLog appends entries to the log, in this order; those about something of which the log has an entry are left out. Their positions
// are set by the log.
func (l *Log) AppendToLog(ctx context.Context, entries ...LogEntry) error {
	if err := l.plain.Commit(ctx, Tx{Append: entries}); err != nil {
		return fmt.Errorf("append to the log: %w", err)
	}
	return nil
}

// RecordHead keeps a head that was signed, and the hashes of the tree that are new with it; At is set. Repeating it changes nothing; a head of
// this size, or a hash of this number, that differs is a *DivergedError.
func (l *Log) RecordHead(ctx context.Context, head SignedHead, hashes []LogHash) error {
	head.At = l.now()
	insert := make([]Record, 0, len(hashes)+1)
	for _, hash := range hashes {
		insert = append(insert, hash)
	}
	return l.plain.Commit(ctx, Tx{Insert: append(insert, head)})
}

// RecordAnchored keeps that a signed head is at an anchor; At is set. Repeating it changes nothing.
func (l *Log) RecordAnchored(ctx context.Context, anchored Anchored) error {
	anchored.At = l.now()
	return l.plain.Commit(ctx, Tx{Insert: []Record{anchored}})
}

// RunHeads calls yield with every run, by id, until it returns false. yield must not use the reader.
func (r *Reader) RunHeads(ctx context.Context, yield func(RunHead) bool) error {
	return each(ctx, r.from, nil, yield)
}

// Beginning is what is recorded of how a run began, and of where it stands.
type Beginning struct {
	Run            string             `db:"run_id,key"`
	Pipeline       string             `db:"pipeline"`
	Document       string             `db:"document"`
	DocumentSHA256 string             `db:"document_sha256"`
	Actor          string             `db:"actor"`
	Trigger        string             `db:"trigger"`
	Started        Micros             `db:"started_us"`
	Epoch          int64              `db:"epoch"`
	Status         pipeline.RunStatus `db:"status"`
}

// Table returns runs.
func (Beginning) Table() string { return Run{}.Table() }

// Reopened reports whether the run is recorded as one that did not end yet in an epoch in which it did, or as it was before that epoch.
func (b Beginning) Reopened(ended int64) bool {
	return b.Epoch <= ended && !b.Ended(ended)
}

// Ended reports whether the run is recorded as one that ended in an epoch or a later one.
func (b Beginning) Ended(epoch int64) bool { return b.Epoch >= epoch && b.Status != pipeline.Running }

// RunIDs calls yield with the id of every run, in order, until it returns false. yield must not use the reader.
func (r *Reader) RunIDs(ctx context.Context, yield func(string) bool) error {
	return each(ctx, r.from, nil, func(run runID) bool { return yield(run.ID) })
}

// runID is the id of a run.
type runID struct {
	ID string `db:"run_id,key"`
}

// Table returns runs.
func (runID) Table() string { return Run{}.Table() }

// LogSize returns how many entries the log has.
func (r *Reader) LogSize(ctx context.Context) (int64, error) {
	head, err := get[LogHead](ctx, r.from, int64(0))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return head.Size, err
}

// LogEntries returns entries of the log from a position on, at most so many; nil if there are none.
func (r *Reader) LogEntries(ctx context.Context, from int64, most int) ([]LogEntry, error) {
	return Page[LogEntry](ctx, r.from, Query{After: []any{from - 1}, Limit: most})
}

// LogEntryAbout returns the entry about something. The error wraps ErrNotFound if there is none.
func (r *Reader) LogEntryAbout(ctx context.Context, about string) (LogEntry, error) {
	found, err := get[logAbout](ctx, r.from, about)
	return found.entry(), err
}

// LogEntriesAbout returns the entry about kind, and those about something that begins with it and a slash, by what they are about; nil if
// there are none.
func (r *Reader) LogEntriesAbout(ctx context.Context, kind string) (found []LogEntry, err error) {
	first, err := Page[logAbout](ctx, r.from, Query{Prefix: []any{kind}})
	if err != nil {
		return nil, err
	}
	for _, e := range first {
		found = append(found, e.entry())
	}
	err = r.from.Read(ctx, logAbout{}, Query{After: []any{kind + "/"}}, func(record Record) bool {
		e := record.(logAbout)
		if !strings.HasPrefix(e.About, kind+"/") {
			return false
		}
		found = append(found, e.entry())
		return true
	})
	return found, err
}
