package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/landscape"
)

// keyring are the keys that count at a position of the log, as the entries before it say. Entries are given to it in order.
type keyring struct {
	log     LogKeys                  // nil before the first entry
	genesis Statement                // the first entry
	sealers map[string]note.Verifier // by public key
	since   map[string]int64         // positions, by public key
	revoked map[string]int64         // positions, by public key
	quantum quantumKeys              // that also sign heads
}

func newKeyring() *keyring {
	return &keyring{sealers: map[string]note.Verifier{}, since: map[string]int64{}, revoked: map[string]int64{}}
}

// keysOf returns the keys that count before a position of the log: only the entries about keys are read.
func keysOf(ctx context.Context, log *landscape.Reader, before int64) (*keyring, error) {
	_, ring, err := entriesAboutKeys(ctx, log, before)
	return ring, err
}

// entriesAboutKeys returns the entries before a position that say which keys count, and that count themselves, and those keys.
func entriesAboutKeys(ctx context.Context, log *landscape.Reader, before int64) (counting []landscape.LogEntry, ring *keyring, err error) {
	ring = newKeyring()
	var about []landscape.LogEntry
	for _, kind := range aboutKeys {
		found, err := log.LogEntriesAbout(ctx, string(kind))
		if err != nil {
			return nil, nil, err
		}
		about = append(about, found...)
	}
	slices.SortFunc(about, func(a, b landscape.LogEntry) int { return int(a.Position - b.Position) })
	for _, e := range about {
		if e.Position >= before {
			break
		}
		switch _, err := ring.take(e); {
		case err == nil:
			counting = append(counting, e)
		case e.Position == 0:
			return nil, nil, fmt.Errorf("%w: %w", errNoGenesis, err)
		}
	}
	return counting, ring, nil
}

var errNoGenesis = errors.New("the log does not begin with a genesis that counts")

// take reads the next entry. The error says why it does not count. What an entry that counts says of keys holds from the next one on.
func (k *keyring) take(e landscape.LogEntry) (Statement, error) {
	leaf := tlog.RecordHash([]byte(e.Entry))
	if !bytes.Equal(leaf[:], e.Leaf) {
		return Statement{}, errors.New("its leaf is not the hash of what it says")
	}
	s, _, err := read(e.Entry)
	if err != nil {
		return s, err
	}
	if s.about() != e.About {
		return s, fmt.Errorf("it is about %s, not %s", s.about(), e.About)
	}
	if e.Position == 0 {
		err = k.begin(s)
	}
	if err == nil {
		err = k.signed(e.Entry, s.Type, e.Position)
	}
	if err != nil {
		return s, err
	}
	return s, k.learn(s, e.Position)
}

// begin takes the key of the log from its first entry.
func (k *keyring) begin(s Statement) error {
	if s.Type != Genesis {
		return errors.New("it is the first, and no genesis")
	}
	verifier, err := note.NewVerifier(s.Key)
	if err != nil || verifier.Name() != s.Origin {
		return errors.New("it names no key of the log")
	}
	k.log, k.genesis = LogKeys{{Verifier: verifier, vkey: s.Key}}, s
	return nil
}

// signed verifies the one signature of an entry.
func (k *keyring) signed(entry string, of Type, position int64) error {
	if k.log == nil {
		return errors.New("the log has no genesis that counts")
	}
	allowed := []note.Verifier{k.log.at(position)}
	if bySealer(of) {
		allowed = allowed[:0]
		for _, sealer := range k.sealers {
			allowed = append(allowed, sealer)
		}
	}
	n, err := note.Open([]byte(entry), note.VerifierList(allowed...))
	switch {
	case err != nil && bySealer(of):
		return fmt.Errorf("it is signed by no sealer that counts here: %w", err)
	case err != nil:
		return fmt.Errorf("it is not signed by the key that the log has there: %w", err)
	case !oneSignature(n, entry):
		return errors.New("it does not have one signature")
	}
	return nil
}

// oneSignature reports whether a note has the one signature that was verified, and nothing else: Open leaves out what it saw already.
func oneSignature(n *note.Note, text string) bool {
	return len(n.Sigs) == 1 && text == fmt.Sprintf("%s\n\u2014 %s %s\n", n.Text, n.Sigs[0].Name, n.Sigs[0].Base64)
}

// bySealer reports whether a sealer signs entries of a type, and not the key of the log.
func bySealer(of Type) bool {
	switch of {
	case Began, Sealed, Forgot, Attested, SignedOff, Archived, Ruled, Requested, Approved, Executed, Saw:
		return true
	}
	return false
}

// learn keeps what an entry says of keys.
func (k *keyring) learn(s Statement, at int64) error {
	switch s.Type {
	case Admitted:
		verifier, err := note.NewVerifier(s.Key)
		if err != nil {
			return errors.New("it admits no key")
		}
		k.sealers[s.Key], k.since[s.Key] = verifier, at
	case Revoked:
		delete(k.sealers, s.Key)
		k.revoked[s.Key] = at
	case Rotated:
		return k.rotate(s, at+1)
	case Retired:
		return k.retire(s.Key, at+1)
	case Secured:
		k.quantum = append(slices.Clip(k.quantum), quantumKey{s.Note, at})
	}
	return nil
}

// rotate lets another key of the log sign from a position on. One that it had before never comes back: its earlier signatures would count again.
func (k *keyring) rotate(s Statement, from int64) error {
	verifier, err := note.NewVerifier(s.Key)
	at, wrong := time.Parse(moment, s.At)
	switch {
	case err != nil || verifier.Name() != k.log.origin():
		return errors.New("it names no key of this log")
	case wrong != nil:
		return errors.New("it does not say when")
	case slices.ContainsFunc(k.log, func(had logKey) bool { return had.KeyHash() == verifier.KeyHash() }):
		return errors.New("it names a key that the log had already")
	}
	k.log = slices.Clone(k.log)
	k.log[len(k.log)-1].replaced = at
	k.log = append(k.log, logKey{Verifier: verifier, vkey: s.Key, from: from})
	return nil
}

// retire lets a key that was replaced sign no head from a position on.
func (k *keyring) retire(vkey string, from int64) error {
	i := slices.IndexFunc(k.log, func(had logKey) bool { return had.vkey == vkey && !had.replaced.IsZero() && had.retired == 0 })
	if i < 0 {
		return errors.New("it names no key that was replaced and still signs heads")
	}
	k.log = slices.Clone(k.log)
	k.log[i].retired = from
	return nil
}

// refuses says why the key of a sealer does not count, and what can be done; empty if it counts.
func (k *keyring) refuses(sealer string) string {
	switch {
	case k.sealers[sealer] != nil:
		return ""
	case k.revoked[sealer] > 0:
		return fmt.Sprintf("the key %s was revoked, in entry %d: beside the log's key, waymark keys rotate sealer --why TEXT makes another one that counts; elsewhere, move its file away, "+
			"and admit what waymark keys generate makes", short(sealer), k.revoked[sealer])
	}
	return fmt.Sprintf("the log %s does not know this sealer's key; who has the key of the log admits it: waymark keys admit %s", k.genesis.Origin, sealer)
}

// short names a public key for people.
func short(vkey string) string {
	name, rest, _ := strings.Cut(vkey, "+")
	hash, _, _ := strings.Cut(rest, "+")
	return name + "+" + hash
}
