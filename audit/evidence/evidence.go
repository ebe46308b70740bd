package evidence

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/keys"
	"waymark/landscape"
	"waymark/landscape/persons"
)

// UnusableKeyError is about a key that is there, and cannot be used.
type UnusableKeyError = keys.UnusableError

// Options say which keys sign the log of a landscape, and where its heads go.
type Options struct {
	Keys    string   // folder; empty for none
	Make    bool     // make the keys that are missing
	Host    string   // in the names of keys that are made
	Anchors []string // folders, which are there, and URLs of buckets and witnesses
}

// Evidence is the log of a landscape, for a process that writes it.
type Evidence struct {
	Log      *landscape.Log // appends what becomes of runs to the log, unless Unsealed says why not
	Unsealed string         // why no entries are made, for people; empty if they are
	Revoked  bool           // that is because the sealer's key was revoked
	Away     []error        // anchors that could not be reached, or have what the log did not sign, which keeps nothing from anything
	Notary   *Notary        // nil if this process does not have the key of the log
	Replaced error          // a *RotatedError if it has one that another replaced; else nil
	Silent   []error        // a *SilentError for each key that was replaced, should still sign heads and is not there, which keeps nothing from anything
}

// Open compares the log with the heads that were signed, and begins it if there is none. The error is a *RolledBackError or a *ForkedError if the
// log is not what was signed before: nothing may be written then. Keys that cannot be used are errors as well.
func Open(ctx context.Context, log *landscape.Log, o Options) (*Evidence, error) {
	opening := &opening{Options: o, log: log, reader: log.Reader}
	if err := opening.loadKeys(ctx); err != nil {
		return nil, err
	}
	if opening.key == nil && opening.sealer == nil {
		return &Evidence{Log: log, Unsealed: "this process has no keys"}, nil
	}
	if err := opening.compare(ctx); err != nil {
		return nil, err
	}
	return opening.begin(ctx)
}

// Compare compares the log with the heads that were signed, as Open does, and makes and begins nothing. away is as in Evidence.
func Compare(ctx context.Context, log *landscape.Reader, o Options) (away []error, err error) {
	o.Make = false
	opening := &opening{Options: o, reader: log}
	if err := opening.loadKeys(ctx); err != nil {
		return nil, err
	}
	err = opening.compare(ctx)
	return opening.away, err
}

// opening is what Open knows.
type opening struct {
	Options
	log     *landscape.Log // nil if nothing is to be written
	reader  *landscape.Reader
	size    int64     // of the log
	ring    *keyring  // keys that count
	key     *keys.Key // of the log; nil if this process has none
	sealer  *keys.Key // nil if this process has none
	anchors []Place
	away    []error
}

// loadKeys reads the log's keys and one's own. A key for a log is only made if there is no log yet.
func (o *opening) loadKeys(ctx context.Context) (err error) {
	o.anchors = placesOf(o.Anchors)
	if o.size, err = o.reader.LogSize(ctx); err != nil {
		return err
	}
	if o.ring, err = keysOf(ctx, o.reader, o.size); err != nil || o.Keys == "" {
		return err
	}
	load := func(kind keys.Kind, make bool) (*keys.Key, error) {
		var key keys.Key
		var err error
		if make {
			key, err = keys.LoadOrGenerate(o.Keys, kind, keyName(kind, o.Host))
		} else {
			key, err = keys.Load(o.Keys, kind)
		}
		if errors.Is(err, keys.ErrNone) {
			return nil, nil //nolint:nilnil // none is no error
		}
		return &key, err
	}
	if o.key, err = load(keys.Log, o.Make && o.size == 0); err != nil {
		return err
	}
	if err := o.takeNext(); err != nil {
		return err
	}
	o.sealer, err = load(keys.Sealer, o.Make)
	return err
}

// takeNext takes the key that was to take the place of the log's, if the log has it: a kill came before it was in its place.
func (o *opening) takeNext() error {
	if o.key == nil || o.ring.log == nil {
		return nil
	}
	key, err := keys.LoadAs(o.Keys, keys.Log, o.ring.log.last().vkey)
	if err == nil {
		o.key = &key
	} else if !errors.Is(err, keys.ErrNone) {
		return err
	}
	return nil
}

var noName = regexp.MustCompile(`[^a-z0-9.-]+`)

// keyName makes a name for a key: of a log it is one that no other log has.
func keyName(kind keys.Kind, host string) string {
	const maxHost = 40
	host = strings.Trim(noName.ReplaceAllString(strings.ToLower(host), "-"), ".-")
	host = strings.TrimRight(host[:min(len(host), maxHost)], ".-")
	if host == "" {
		host = "localhost"
	}
	if kind == keys.Sealer {
		return host + "/sealer"
	}
	var chance [4]byte
	rand.Read(chance[:]) // never fails
	return host + "/" + hex.EncodeToString(chance[:])
}

// verifiers are the public keys of the log: the log's own word for them, or one's own if it has not begun here.
func (o *opening) verifiers() (LogKeys, error) {
	if o.ring.log != nil || o.key == nil {
		return o.ring.log, nil
	}
	return OneKey(o.key.VKey)
}

// notary reports whether this process has the key of the log.
func (o *opening) notary() bool {
	return o.key != nil && (o.ring.log == nil || o.ring.log.last().vkey == o.key.VKey)
}

// compare holds the heads that anchors and the notary have against the log.
func (o *opening) compare(ctx context.Context) error {
	by, err := o.verifiers()
	if err != nil || by == nil {
		return err
	}
	var hashed int64 // entries whose hashes are kept
	if last, err := lastHead(ctx, o.reader, by); err != nil {
		return err
	} else {
		hashed = last.Size
	}
	here := here{o.reader, by, o.size, hashed}
	for _, anchor := range o.anchors {
		err := anchor.agrees(ctx, here)
		_, away := errors.AsType[*UnreachableError](err)
		if _, stray := errors.AsType[*StrayError](err); away || stray {
			o.away = append(o.away, err)
			continue // what it has is compared before anything is brought there
		}
		if err != nil {
			return err
		}
	}
	if o.key == nil || !o.notary() && o.key.Name() != by.origin() {
		return nil
	}
	if !by.has(o.key.VKey) { // the log had this key before an older record was put in its place
		if by, err = OneKey(o.key.VKey); err != nil {
			return err
		}
	}
	head, err := readState(o.Keys, by)
	if err == nil {
		err = here.agrees(ctx, head, statePath(o.Keys))
	}
	return err
}

// begin appends what the log has to have before the first run, and returns what works with it.
func (o *opening) begin(ctx context.Context) (*Evidence, error) {
	e := &Evidence{Log: o.log, Away: o.away, Replaced: o.ring.log.replaced(o.key, o.Keys)}
	if !o.notary() {
		return o.seal(e), nil
	}
	var first []landscape.LogEntry
	if o.size == 0 {
		genesis, err := o.genesis(ctx)
		if err != nil {
			return nil, err
		}
		first = append(first, genesis)
	}
	if o.sealer != nil && o.ring.sealers[o.sealer.VKey] == nil && o.ring.revoked[o.sealer.VKey] == 0 {
		admitted, err := entry(Statement{Type: Admitted, Key: o.sealer.VKey, Why: "made beside the key of the log"}, o.key, o.log.Now().Time())
		if err != nil {
			return nil, err
		}
		first = append(first, admitted)
	}
	if first != nil {
		if err := o.log.AppendToLog(ctx, first...); err != nil {
			return nil, err
		}
		var err error
		if o.size, err = o.log.LogSize(ctx); err != nil {
			return nil, err
		}
		if o.ring, err = keysOf(ctx, o.log.Reader, o.size); err != nil {
			return nil, err
		}
	}
	if o.notary() { // it is not if another process was faster
		e.Notary = &Notary{log: o.log, folder: o.Keys, key: *o.key, own: o.ring.log, anchors: o.anchors, away: map[string]time.Time{}, failed: map[string]error{}}
		for _, away := range o.away {
			_ = e.Notary.isAway(away)
		}
		e.Silent = o.ring.silent(o.size, o.Keys, o.log.Now().Time(), func(keys.Key) error { return nil })
	}
	return o.seal(e), nil
}

// seal lets runs be sealed, if the process has a sealer's key that counts.
func (o *opening) seal(e *Evidence) *Evidence {
	switch {
	case o.sealer == nil:
		e.Unsealed = "this process has no sealer's key"
	case o.ring.log == nil:
		e.Unsealed = "the log has not begun: a process with its key begins it"
	default:
		e.Revoked = o.ring.revoked[o.sealer.VKey] > 0
		if e.Unsealed = o.ring.refuses(o.sealer.VKey); e.Unsealed == "" {
			e.Log = o.log.SealedBy(sealer{*o.sealer})
		}
	}
	return e
}

// genesis is the first entry. It says which runs are older than the log.
func (o *opening) genesis(ctx context.Context) (landscape.LogEntry, error) {
	s := Statement{Type: Genesis, Origin: o.key.Name(), Key: o.key.VKey, Landscape: chance()}
	before := newOlder()
	if err := o.log.RunIDs(ctx, before.add); err != nil {
		return landscape.LogEntry{}, err
	}
	s.Runs, s.RunsHash = before.runs, before.digest()
	return entry(s, o.key, o.log.Now().Time())
}

// sealer makes the entries about runs.
type sealer struct{ key keys.Key }

// Began does what landscape.Sealer says.
func (s sealer) Began(run landscape.Run) (landscape.LogEntry, error) {
	statement := Statement{Type: Began, Run: run.ID, Pipeline: run.Pipeline, Document: run.DocumentSHA256, N: chance()}
	statement.By = statement.byOf(run.Actor, run.Trigger)
	return entry(statement, s.key, run.Started.Time())
}

// Sealed does what landscape.Sealer says.
func (s sealer) Sealed(run landscape.RunHead, seal landscape.RunSeal) (landscape.LogEntry, error) {
	said := sealed(seal)
	said.Pipeline, said.Status, said.N = run.Pipeline, string(run.Status), chance()
	return entry(said, s.key, seal.At.Time())
}

// Forgot does what landscape.Sealer says.
func (s sealer) Forgot(done landscape.Forgetting) (string, landscape.LogEntry, error) {
	certificate, err := note.Sign(&note.Note{Text: done.Certificate}, s.key)
	if err != nil {
		return "", landscape.LogEntry{}, fmt.Errorf("sign the certificate of order %d: %w", done.Order, err)
	}
	done.Certificate = string(certificate)
	about, err := entry(forgot(done), s.key, done.At.Time())
	return string(certificate), about, err
}

// Attested does what landscape.Sealer says.
func (s sealer) Attested(found []landscape.Attestation) (landscape.LogEntry, error) {
	said := attested(found)
	said.N = chance()
	return entry(said, s.key, found[0].At.Time())
}

// SignedOff does what landscape.Sealer says.
func (s sealer) SignedOff(signed landscape.SignOff) (landscape.LogEntry, error) {
	said := signedOff(signed)
	said.N = chance()
	return entry(said, s.key, signed.At.Time())
}

// signedOff is what an entry says of a sign-off.
func signedOff(s landscape.SignOff) Statement {
	return Statement{Type: SignedOff, At: s.At.Time().UTC().Format(moment), Run: s.Run, Seal: s.Seal, SignOff: s.Seq, Note: persons.Digest(s)}
}

// sealed is what an entry says of a seal.
func sealed(seal landscape.RunSeal) Statement {
	return Statement{
		Type: Sealed, At: seal.At.Time().UTC().Format(moment), Run: seal.Run, Epoch: seal.Epoch, Seal: seal.Seq, Root: hex.EncodeToString(seal.Root), Leaves: seal.Leaves, Late: seal.Late,
	}
}
