package evidence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence/keys"
	"waymark/internal/failpoint"
	"waymark/landscape"
)

// Notary signs heads of a landscape's log, and brings them to its anchors. Of several processes with one key, one works at a time. It is safe for
// concurrent use.
type Notary struct {
	log     *landscape.Log
	folder  string   // of the keys
	key     keys.Key // of the log, that signs
	own     LogKeys  // of the log, public
	quantum quantumKeys
	anchors []Place
	mu      sync.Mutex
	away    map[string]time.Time // when an anchor could not be reached the last time
	failed  map[string]error     // why anchors do not have the last head, by their names

	mended  map[int64]tlog.Hash // hashes of the tree in whose place others are kept
	foreign int64               // the size of the newest head that is kept and that the log did not sign; 0 if none is newer than its own
}

// awayFor is how long an anchor that could not be reached is not asked again.
const awayFor = 30 * time.Second

// most is how many entries a head covers more than the one before it.
const most = 8_192

const stateFile = "notary.state"

// statePath is the file with the last head that was signed: it is durable before the signature is anywhere else.
func statePath(folder string) string { return filepath.Join(folder, stateFile) }

// readState returns the last head that the key in a folder signed; the zero Head if there is none.
func readState(folder string, by LogKeys) (Head, error) {
	text, err := os.ReadFile(statePath(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, fmt.Errorf("notary: %w", err)
	}
	head, err := openHead(string(text), by)
	if err != nil {
		return Head{}, fmt.Errorf("%s is not the last head that this key signed: restore it: %w", statePath(folder), err)
	}
	return head, nil
}

// Pass signs what is new in the log, as one head or several, and brings what is signed to the anchors. An entry that does not count is followed by
// one that says so. The error is a *RolledBackError or a *ForkedError if the log is not what was signed before: then nothing is signed. An anchor
// that cannot be reached keeps the others from nothing. If another process is at work, nothing is done.
func (n *Notary) Pass(ctx context.Context) error {
	_, err := n.ifFree(func() error {
		err := n.renew(ctx)
		var head Head
		if err == nil {
			err = n.announce(ctx)
		}
		if err == nil {
			head, err = n.sign(ctx)
		}
		if err != nil || head.Size == 0 {
			return err
		}
		return n.bring(ctx, head)
	})
	return err
}

// ifFree does something with the key of the log, unless another process does.
func (n *Notary) ifFree(do func() error) (free bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	unlock, err := n.lock()
	if err != nil || unlock == nil {
		return false, err
	}
	defer unlock()
	return true, do()
}

// lockPatience is how long an order about keys waits for another process that signs the log.
const lockPatience = 20 * time.Second

// once does something with the key of the log, once no other process does.
func (n *Notary) once(ctx context.Context, do func() error) error {
	for until := time.Now().Add(lockPatience); ; {
		if free, err := n.ifFree(do); free || err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("another process has signed the log for %s: try again", lockPatience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// bring brings a head to the anchors.
func (n *Notary) bring(ctx context.Context, head Head) (failed error) {
	for _, anchor := range n.anchors {
		if time.Since(n.away[anchor.String()]) > awayFor {
			err := n.isAway(n.anchor(ctx, anchor, head))
			n.failed[anchor.String()] = err
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// bringAll brings a head to the anchors, and returns why it is not at all of them.
func (n *Notary) bringAll(ctx context.Context, head Head) (waiting []string) {
	_ = n.bring(ctx, head) // failed says so, by anchor
	for _, err := range n.failures() {
		waiting = append(waiting, err.Error())
	}
	return waiting
}

// Failed returns why the last head could not be brought to anchors, by their names; nil if it is at all of them, or there was nothing to bring.
func (n *Notary) Failed() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failures()
}

// failures is Failed with the lock.
func (n *Notary) failures() (why []error) {
	for _, anchor := range slices.Sorted(maps.Keys(n.failed)) {
		if err := n.failed[anchor]; err != nil {
			why = append(why, err)
		}
	}
	return why
}

// isAway notes that an anchor cannot be reached, if the error says so.
func (n *Notary) isAway(err error) error {
	if away, ok := errors.AsType[*UnreachableError](err); ok {
		n.away[away.Anchor] = time.Now()
	}
	return err
}

// lock keeps other processes from signing; nil if one does.
func (n *Notary) lock() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(n.folder, "notary.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("notary: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		err = errors.Join(err, file.Close())
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = nil
		}
		return nil, err
	}
	return func() { _ = file.Close() }, nil // which gives the lock back
}

// signed returns the last head of the log that the landscape has, and the last that was signed, which is the same or,
// after a kill, a later one.
func (n *Notary) signed(ctx context.Context) (kept keptHead, last Head, err error) {
	if kept, err = lastHead(ctx, n.log.Reader, n.own); err == nil {
		n.foreign = 0
		if kept.foreign != nil {
			n.foreign = kept.foreign[0]
		}
		last, err = readState(n.folder, n.own)
	}
	return kept, last, err
}

// mostMarked is how many entries about foreign heads a pass appends: who inserts these without end shall not let the
// log grow without end.
const mostMarked = 3

// sign signs until nothing is new, and returns the last head. A size that has a foreign head is left out: a later
// head covers the same entries. If there is no other size, the notary appends an entry that says so.
func (n *Notary) sign(ctx context.Context) (Head, error) {
	before, last, err := n.signed(ctx)
	if err != nil {
		return Head{}, err
	}
	kept, marked := before.Head, 0
	ring, err := keysOf(ctx, n.log.Reader, kept.Size)
	for err == nil {
		var size int64
		if size, err = n.log.LogSize(ctx); err != nil {
			break
		}
		if size < last.Size {
			return Head{}, &RolledBackError{Here: size, There: last.Size, Place: statePath(n.folder)}
		}
		if size == kept.Size {
			return kept, nil
		}
		to := before.free(min(size, max(kept.Size+most, last.Size, n.own.last().from)))
		if to > size {
			if marked++; marked > mostMarked {
				return kept, nil
			}
			err = n.mark(ctx, size)
			continue
		}
		if kept, err = n.extend(ctx, ring, kept, last, to); err == nil && kept.Size > last.Size {
			last = kept
		}
	}
	return Head{}, err
}

// free returns the first size from one on for which no foreign head is kept.
func (k keptHead) free(size int64) int64 {
	for slices.Contains(k.foreign, size) {
		size++
	}
	return size
}

// mark appends an entry that says that a head of this size is kept which the log did not sign.
func (n *Notary) mark(ctx context.Context, size int64) error {
	const why = "log_heads has a head of this size that the log did not sign"
	e, err := entry(Statement{Type: Foreign, Position: size, Why: why}, n.key, n.log.Now().Time())
	if err != nil {
		return err
	}
	return n.log.AppendToLog(ctx, e)
}

// extend signs the head of the first entries of the log, after it has looked at those that no head covers. last is the last head that was signed:
// the new one agrees with it, and with the one that the landscape has.
func (n *Notary) extend(ctx context.Context, ring *keyring, kept, last Head, size int64) (Head, error) {
	grown := &tree{ctx: ctx, log: n.log.Reader, new: cloned(n.mended)}
	if kept.Size > 0 {
		if err := grown.has(kept, "log_heads"); err != nil {
			return kept, err
		}
	}
	n.mended = cloned(grown.new)
	hashes, err := n.look(ctx, ring, grown, kept.Size, size)
	if err != nil {
		return kept, err
	}
	if last.Size > kept.Size {
		if err := grown.has(last, statePath(n.folder)); err != nil {
			return kept, err
		}
	}
	root, err := grown.root(size)
	if err != nil {
		return kept, err
	}
	if has := ring.log.at(size); has.vkey != n.key.VKey {
		return kept, fmt.Errorf("the key %s signs the head of %d entries, and this process has %s: the key was rotated meanwhile, or an older record was put in the place of the newer one",
			short(has.vkey), size, short(n.key.VKey))
	}
	head, err := signHead(n.key, size, root)
	if err == nil {
		head = n.signQuantum(n.signBeside(head, ring.log), ring.quantum)
		err = n.save(head)
	}
	if err == nil {
		hashes, err = grown.keepable(hashes)
	}
	if err == nil {
		err = n.log.RecordHead(ctx, landscape.SignedHead{Size: size, Root: root[:], Note: head.Note}, hashes)
	}
	if err == nil {
		n.mended = grown.new
	}
	return head, err
}

// look verifies entries, lets the tree grow by them, and returns the hashes that are to be kept. Those that do not count are refused in the log.
func (n *Notary) look(ctx context.Context, ring *keyring, grown *tree, from, to int64) (hashes []landscape.LogHash, err error) {
	entries, err := n.log.LogEntries(ctx, from, int(to-from))
	if err != nil {
		return nil, err
	}
	if int64(len(entries)) != to-from {
		return nil, fmt.Errorf("log: %d entries are there from %d to %d: some are missing", len(entries), from, to)
	}
	var refusals []landscape.LogEntry
	for i, e := range entries {
		if e.Position != from+int64(i) {
			return nil, fmt.Errorf("log: the entry %d is missing", from+int64(i))
		}
		if _, wrong := ring.take(e); wrong != nil {
			refusal, err := entry(Statement{Type: Refused, Position: e.Position, Why: wrong.Error()}, n.key, n.log.Now().Time())
			if err != nil {
				return nil, err
			}
			refusals = append(refusals, refusal)
		}
		kept, err := grown.grow(e.Position, tlog.RecordHash([]byte(e.Entry)))
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, kept...)
	}
	if refusals != nil {
		err = n.log.AppendToLog(ctx, refusals...)
	}
	return hashes, err
}

// save makes a head durable as the last one that was signed.
func (n *Notary) save(head Head) error {
	err := keys.Replace(statePath(n.folder), head.Note)
	if err == nil {
		err = failpoint.Hit("log.signed")
	}
	if err != nil {
		return fmt.Errorf("notary: %w", err)
	}
	return nil
}

// anchor brings a head to an anchor, unless it is there.
func (n *Notary) anchor(ctx context.Context, at Place, head Head) error {
	receipt, err := at.bring(ctx, n.log.Reader, n.own, head)
	if errors.Is(err, errNotDue) {
		return nil
	}
	if err != nil {
		return err
	}
	known, err := lastAnchored(ctx, n.log.Reader, n.own, at.String())
	if err == nil && known < head.Size {
		err = n.log.RecordAnchored(ctx, landscape.Anchored{Anchor: at.String(), Size: head.Size, Receipt: receipt})
	}
	return err
}

// Work passes again and again until ctx ends, and a last time then. What fails is logged, and tried again.
func (n *Notary) Work(ctx context.Context, every time.Duration, logger *slog.Logger, passed func()) {
	told, marked := "", int64(0)
	for last := false; !last; {
		select {
		case <-ctx.Done():
			last = true
		case <-time.After(every):
		}
		within, done := context.WithTimeout(context.WithoutCancel(ctx), passTimeout)
		err := n.tick(within)
		if err == nil {
			err = n.Pass(within)
		}
		done()
		if err != nil && err.Error() != told {
			told = err.Error()
			logger.Error("the log is not signed or anchored up to its end", "error", err)
		}
		if foreign := n.foreignHead(); foreign > marked {
			marked = foreign
			logger.Warn("the landscape has a head that the log did not sign: a role that may write there inserted it. "+
				"It does not count, and the log is signed without it: waymark log check names it", "log_heads", foreign)
		}
		passed()
	}
}

// foreignHead returns the size of the newest head that is kept and that the log did not sign; 0 if none was newer than
// the log's own at the last pass.
func (n *Notary) foreignHead() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.foreign
}

// passTimeout is how long a pass may take.
const passTimeout = 20 * time.Second

// tick appends an entry if the last head is of another day: so that silence of a whole day is seen.
func (n *Notary) tick(ctx context.Context) error {
	last, err := lastHead(ctx, n.log.Reader, n.own)
	if err != nil || last.Size == 0 {
		return err
	}
	size, err := n.log.LogSize(ctx)
	today := n.log.Now().Time().UTC().Format(time.DateOnly)
	if err != nil || size != last.Size || last.at.Time().UTC().Format(time.DateOnly) == today {
		return err
	}
	_, err = n.ifFree(func() error { return n.say(ctx, Statement{Type: Tick}) })
	return err
}

// say appends a statement, signed by the key that the log has now. Nobody else signs the log meanwhile.
func (n *Notary) say(ctx context.Context, s Statement) error {
	if err := n.renew(ctx); err != nil {
		return err
	}
	if s.Type == Tick { // a day has one
		e, err := entry(s, n.key, n.log.Now().Time())
		if err == nil {
			err = n.log.AppendToLog(ctx, e)
		}
		return err
	}
	_, err := n.log.LogEntryAbout(ctx, s.about())
	s.Apart = err == nil
	if err != nil && !errors.Is(err, landscape.ErrNotFound) {
		return err
	}
	e, err := entry(s, n.key, n.log.Now().Time())
	switch {
	case err != nil:
		return err
	case s.Type == Revoked:
		err = n.log.AppendOrdered(ctx, landscape.OrderRevoke, e)
	default:
		err = n.log.AppendToLog(ctx, e)
	}
	if err != nil {
		return err
	}
	if is, err := n.log.LogEntryAbout(ctx, e.About); err != nil || is.Entry != e.Entry {
		taken := fmt.Errorf("entry %d of the log took the place of the one about %s: nothing changed, try again",
			is.Position, e.About)
		return errors.Join(taken, err)
	}
	return nil
}
