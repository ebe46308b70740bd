package evidence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waymark/audit/evidence/keys"
	"waymark/internal/failpoint"
	"waymark/landscape"
)

// Rotation says which key took the place of another.
type Rotation struct {
	Kind  string `json:"kind"`  // log or sealer
	Old   string `json:"old"`   // public keys, as name+hash+base64
	New   string `json:"new"`   // the same
	Entry int64  `json:"entry"` // of the log that says so: the new one signs what follows
	Kept  string `json:"kept"`  // the file of the old one

	// Of the log: until when heads are also signed by the old key.
	Until time.Time `json:"until,omitzero"`

	// Why the head with the new key, or the entry about it, is not at anchors yet; nil if it is at all of them.
	Waiting []string `json:"waiting,omitempty"`
}

// RotatedError says that a process has a key of the log that another one replaced: it signs nothing.
type RotatedError struct {
	Had, Has string // public keys
	Entry    int64  // that says so
	Folder   string // of the keys of this process
}

// Error names both keys and the cure.
func (e *RotatedError) Error() string {
	return fmt.Sprintf("the key of the log is %s since entry %d, and %s has %s, which it replaced: copy the new log.key there, or move the old one away",
		short(e.Has), e.Entry, e.Folder, short(e.Had))
}

// replaced returns a *RotatedError if a key is one that the log had before; nil if it is not.
func (k LogKeys) replaced(key *keys.Key, folder string) error {
	if key == nil || len(k) == 0 || k.last().vkey == key.VKey || !k.has(key.VKey) {
		return nil
	}
	return &RotatedError{Had: key.VKey, Has: k.last().vkey, Entry: k.last().from - 1, Folder: folder}
}

// Replaced returns a *RotatedError if a key of a folder is one that the log had before, and the folder has no newer one; else nil, also if the log cannot be read.
func Replaced(ctx context.Context, log *landscape.Reader, key keys.Key, folder string) error {
	size, err := log.LogSize(ctx)
	if err != nil {
		return nil //nolint:nilerr // other looks at the log say so
	}
	ring, err := keysOf(ctx, log, size)
	if err != nil || ring.log == nil {
		return nil //nolint:nilerr // the same
	}
	if _, err := keys.LoadAs(folder, keys.Log, ring.log.last().vkey); err == nil {
		return nil
	}
	return ring.log.replaced(&key, folder)
}

// renew reads which key the log has, and takes it from the folder if it is another one than before. One that was to take its place does so now: a kill
// may have come before. The log's owner may have put back an older record; then the keys that were known stay, and what is signed does not agree.
func (n *Notary) renew(ctx context.Context) error {
	size, err := n.log.LogSize(ctx)
	if err != nil {
		return err
	}
	ring, err := keysOf(ctx, n.log.Reader, size)
	if err != nil {
		return err
	}
	if ring.log.extends(n.own) {
		n.own, n.quantum = ring.log, ring.quantum
	}
	has := n.own.last()
	if n.key.VKey != has.vkey {
		key, err := keys.LoadAs(n.folder, keys.Log, has.vkey)
		if errors.Is(err, keys.ErrNone) {
			return n.own.replaced(&n.key, n.folder)
		}
		if err != nil {
			return err
		}
		n.key = key
	}
	if n.key.IsNext() {
		n.key, _, err = n.key.Replace(n.folder)
	}
	return err
}

// NextKey returns the key of keys.Next of a name: a rotation makes it only once nothing else stands in its way.
type NextKey func(name string) (keys.Key, error)

// Rotate lets a key of keys.Next take the place of the log's: the old one signs an entry that says so, and the new one all that comes after it. If a
// rotation was killed before its end, that one is finished instead. An anchor that cannot be reached, such as a witness that does not know the new key,
// stops nothing.
func (n *Notary) Rotate(ctx context.Context, next NextKey, why string) (done Rotation, err error) {
	err = n.once(ctx, func() error {
		unfinished := n.key.IsNext()
		if err := n.renew(ctx); err != nil {
			return err
		}
		if !unfinished {
			if err := n.replace(ctx, next, why); err != nil {
				return err
			}
		}
		has, had := n.own.last(), n.own.at(n.own.last().from-1)
		done = Rotation{Kind: string(keys.Log), Old: had.vkey, New: has.vkey, Entry: has.from - 1, Kept: keys.Kept(n.folder, keys.Log, had.KeyHash()), Until: had.replaced.Add(Overlap)}
		clear(n.away)
		head, err := n.sign(ctx)
		if err == nil {
			done.Waiting = n.bringAll(ctx, head)
		}
		return err
	})
	return done, err
}

// replace appends the entry that names the next key, and lets it take its place.
func (n *Notary) replace(ctx context.Context, next NextKey, why string) error {
	if _, err := n.sign(ctx); err != nil { // what the old key can sign
		return err
	}
	key, err := next(n.key.Name())
	if err != nil {
		return err
	}
	if err := key.Test(); err != nil {
		return err
	}
	said, err := entry(Statement{Type: Rotated, Key: key.VKey, Why: why}, n.key, n.log.Now().Time())
	if err == nil {
		err = n.log.AppendToLog(ctx, said)
	}
	if err == nil {
		err = failpoint.Hit("log.rotated")
	}
	if err == nil {
		err = n.renew(ctx)
	}
	if err == nil && n.key.VKey != key.VKey {
		err = fmt.Errorf("the entry that names %s does not count: waymark log check says why", short(key.VKey))
	}
	return err
}

// announce appends what the log has to say of its keys before the next head.
func (n *Notary) announce(ctx context.Context) error {
	return errors.Join(n.retire(ctx), n.secure(ctx))
}

// retire appends, for each key whose time beside the new one is over, the entry after which it signs no head.
func (n *Notary) retire(ctx context.Context) error {
	for _, key := range n.own[:len(n.own)-1] {
		if key.retired > 0 || n.log.Now().Time().Before(key.replaced.Add(Overlap)) {
			continue
		}
		if err := n.say(ctx, Statement{Type: Retired, Key: key.vkey, Why: "its time beside the new key is over"}); err != nil {
			return err
		}
	}
	return nil
}

// signBeside lets the keys that were replaced, and are not retired yet, sign a head as well. One that cannot stops nothing, and is not asked again soon.
func (n *Notary) signBeside(head Head, known LogKeys) Head {
	for _, had := range known.beside(head.Size) {
		if time.Since(n.away[had.vkey]) < awayFor {
			continue
		}
		key, err := keys.LoadKept(n.folder, keys.Log, had.vkey)
		var both Head
		if err == nil {
			both, err = head.alsoBy(key)
		}
		if err != nil {
			n.away[had.vkey] = time.Now()
			continue
		}
		head = both
	}
	return head
}

// SilentError says that a key that was replaced, and should sign heads beside the new one, cannot.
type SilentError struct {
	Key   string    // public
	Until time.Time // it should
	Err   error     // why it cannot
}

// Error names the key, the reason and the cure.
func (e *SilentError) Error() string {
	return fmt.Sprintf("heads of the log are signed by the new key alone, and readers of the old policy may want the old one, %s, until %s: put back its file, or send them the new policy: %v",
		short(e.Key), e.Until.UTC().Format(time.DateOnly), e.Err)
}

// Unwrap returns why it cannot.
func (e *SilentError) Unwrap() error { return e.Err }

// Silent returns a *SilentError for each key that should sign heads beside the one of this folder, and cannot: it is not there, or its signer does not answer;
// and why the key of ML-DSA-44 that the log has cannot; nil if all can, or the log cannot be read.
func Silent(ctx context.Context, log *landscape.Reader, folder string, now time.Time) (silent []error) {
	size, err := log.LogSize(ctx)
	if err != nil {
		return nil
	}
	ring, err := keysOf(ctx, log, size)
	if err != nil {
		return nil
	}
	return ring.silent(size, folder, now, keys.Key.Test)
}

// silent is Silent for the head of so many entries. test says more of a key that is there.
func (k *keyring) silent(size int64, folder string, now time.Time, test func(keys.Key) error) []error {
	silent := k.log.silent(size, folder, now, test)
	if err := silentQuantum(folder, k.log.origin(), k.quantum); err != nil {
		silent = append(silent, err)
	}
	return silent
}

// silent returns a *SilentError for each key that was replaced and cannot sign.
func (k LogKeys) silent(size int64, folder string, now time.Time, test func(keys.Key) error) (silent []error) {
	for _, had := range k.beside(size) {
		until := had.replaced.Add(Overlap)
		if !now.Before(until) { // the next pass retires it
			continue
		}
		key, err := keys.LoadKept(folder, keys.Log, had.vkey)
		if err == nil {
			err = test(key)
		}
		if err != nil {
			silent = append(silent, &SilentError{had.vkey, until, err})
		}
	}
	return silent
}

// RotateSealer lets a key of keys.Next take the place of the sealer's key in the folder: the log admits it. The old one counts until it is revoked, because
// processes may work with it.
func (n *Notary) RotateSealer(ctx context.Context, next NextKey, why string) (Rotation, error) {
	was, err := keys.Load(n.folder, keys.Sealer)
	if err != nil {
		return Rotation{}, err
	}
	key, err := next(was.Name())
	if err != nil {
		return Rotation{}, err
	}
	if _, err := n.Admit(ctx, key.VKey, why); err != nil {
		return Rotation{}, err
	}
	ring, err := n.ring(ctx, key.VKey)
	if err != nil {
		return Rotation{}, err
	}
	done := Rotation{Kind: string(keys.Sealer), Old: was.VKey, New: key.VKey, Entry: ring.since[key.VKey]}
	_, done.Kept, err = key.Replace(n.folder)
	return done, err
}
