package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"waymark/audit"
	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/client"
	"waymark/landscape"
	"waymark/worker/storage"
)

// LogKey is a key that signs, or signed, the landscape's log.
type LogKey struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`              // log, log-pq (of ML-DSA-44) or sealer
	Where   string `json:"where,omitempty"`   // the file, if it is in the folder of keys; agent:… or exec:… if another program signs with it
	Since   int64  `json:"since"`             // the entry of the log from which on it counts; -1 if it does not
	Revoked int64  `json:"revoked,omitempty"` // the entry from which on it does not

	Replaced int64     `json:"replaced,omitempty"` // of the log: the entry that names the key that took its place; 0 if it signs
	Until    time.Time `json:"until,omitzero"`     // of the log: until when it signs heads beside the key that took its place; zero if it does not
	Retired  int64     `json:"retired,omitempty"`  // of the log: the entry from which on it signs none

	Worth  string `json:"worth,omitempty"`      // who else than its holder could sign with it
	Key    string `json:"key"`                  // the public key: name+hash+base64; empty of one of ML-DSA-44 that is not in the folder of keys
	Digest string `json:"key_sha256,omitempty"` // of a key of ML-DSA-44: what the log has of it, the SHA-256 of the public key with a line end
}

// What keys are worth.
const (
	besideRecord = "beside the record: who may change that may sign as well"
	otherAccount = "another account's: who may change the record may not sign"
	apart        = "on this machine: the record is elsewhere"
	notCopied    = "not in a file: who can let its signer sign may sign, and cannot copy the key"
)

// LogKeys returns the keys of the landscape's log, and those in the folder of keys. Nothing is made.
func (h *Home) LogKeys(ctx context.Context) ([]LogKey, error) {
	known, err := evidence.Keys(ctx, h.stores.Log.Reader)
	if err != nil {
		return nil, err
	}
	files, err := h.keyFiles(known)
	if err != nil {
		return nil, err
	}
	var all []LogKey
	for _, k := range known {
		key := LogKey{Kind: k.Kind, Since: k.Since, Revoked: k.Revoked, Replaced: k.Replaced, Until: k.Until, Retired: k.Retired, Key: k.Key, Digest: k.Digest}
		if i := slices.IndexFunc(files, func(file keys.Key) bool { return k.IsKey(file.VKey) }); i >= 0 {
			key.Where, key.Worth, key.Key = whereIs(files[i]), h.options.worth(files[i]), files[i].VKey
			files = slices.Delete(files, i, i+1)
		}
		key.Name, _, _ = strings.Cut(cmp.Or(key.Key, known[0].Key), "+") // one of ML-DSA-44 has the log's name, which the first key has
		all = append(all, key)
	}
	for _, file := range files {
		all = append(all, LogKey{Name: file.Name(), Kind: string(file.Kind), Where: whereIs(file), Since: -1, Worth: "nothing: the log does not know it", Key: file.VKey})
	}
	return all, nil
}

// keyFiles returns the keys in the folder of keys, also those of the log that were replaced and still sign heads.
func (h *Home) keyFiles(known []evidence.KnownKey) (files []keys.Key, err error) {
	folder := h.options.evidence().Keys
	add := func(key keys.Key, err error) error {
		switch {
		case errors.Is(err, keys.ErrNone):
			return nil
		case err != nil:
			return keyError(err)
		}
		files = append(files, key)
		return nil
	}
	for _, kind := range []keys.Kind{keys.Log, keys.Quantum, keys.Sealer} {
		if err := add(keys.Load(folder, kind)); err != nil {
			return nil, err
		}
	}
	for _, k := range known {
		if !k.Until.IsZero() {
			if err := add(keys.LoadKept(folder, keys.Log, k.Key)); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// whereIs says where a private key is.
func whereIs(key keys.Key) string { return cmp.Or(key.From, key.Place) }

// worth says who else could sign with a key.
func (o *Options) worth(of keys.Key) string {
	if of.From != "" {
		return notCopied
	}
	path, elsewhere := storage.LandscapePath(o.Landscape)
	if elsewhere != nil {
		return apart
	}
	record, err := os.Stat(path)
	key, wrong := os.Stat(of.Place)
	if err == nil && wrong == nil && owner(record) != owner(key) {
		return otherAccount
	}
	return besideRecord
}

func owner(info os.FileInfo) uint32 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Uid
	}
	return 0
}

func keyError(err error) error {
	return &client.Error{Kind: client.Invalid, Code: client.InvalidKey, Message: err.Error(), Err: err}
}

// NewKeys are keys that GenerateKeys makes.
type NewKeys struct {
	Log    string // name of a new log; empty for none
	PQ     bool   // a key of ML-DSA-44 beside that of the log, of the same name: without Log, beside the one in the folder of keys
	Sealer string // name of a sealer; empty for none

	Witness string // name of a witness of other logs; empty for none

	Signer    string // who has the private key of the log: agent:FINGERPRINT or exec:PROGRAM; empty for a file
	PublicKey string // PEM file with the public key of such a program
}

// GenerateKeys makes keys with these names in the folder of keys. The error is an *Error of kind Invalid if there is one of the kind: no key is replaced.
func (o Options) GenerateKeys(wanted NewKeys) (made []LogKey, err error) {
	o = o.filled()
	folder := o.evidence().Keys
	add := func(key keys.Key, err error) error {
		if err != nil {
			return keyError(err)
		}
		made = append(made, LogKey{Name: key.Name(), Kind: string(key.Kind), Where: whereIs(key), Since: -1, Key: key.VKey})
		return nil
	}
	switch {
	case wanted.Log == "":
	case wanted.Signer != "":
		err = add(keys.Adopt(folder, keys.Log, wanted.Log, wanted.Signer, wanted.PublicKey))
	default:
		err = add(keys.Generate(folder, keys.Log, wanted.Log))
	}
	if err == nil && wanted.PQ {
		var log keys.Key
		if log, err = keys.Load(folder, keys.Log); err != nil {
			return made, keyError(fmt.Errorf("a post-quantum key is made beside the key of a log: %w", err))
		}
		err = add(keys.Generate(folder, keys.Quantum, log.Name()))
	}
	if err == nil && wanted.Sealer != "" {
		err = add(keys.Generate(folder, keys.Sealer, wanted.Sealer))
	}
	if err == nil && wanted.Witness != "" {
		err = add(keys.Generate(folder, keys.Witness, wanted.Witness))
	}
	return made, err
}

// TrustPolicy is what an auditor needs to verify the log, and must get in another way than the log.
type TrustPolicy struct {
	Policy string `json:"policy"` // the text, in the form of the C2SP (tlog-policy)
	SHA256 string `json:"sha256"` // of the text
}

// TrustPolicy returns the trust policy for the key that the landscape's log has now and its witnesses: more than half of them must have cosigned a head. Keys that
// it had before are in comments. The error is an *Error of kind NotFound if that has not begun.
func (h *Home) TrustPolicy(ctx context.Context) (TrustPolicy, error) {
	known, err := evidence.Keys(ctx, h.stores.Log.Reader)
	if err != nil {
		return TrustPolicy{}, err
	}
	if known == nil {
		return TrustPolicy{}, noLog()
	}
	var witnesses []trust.Witness
	for _, anchor := range h.options.LogAnchors {
		if w, ok := evidence.PlaceOf(anchor).(evidence.Witness); ok {
			witnesses = append(witnesses, w.Trust())
		}
	}
	before := ""
	var now []string
	for _, key := range known {
		switch {
		case key.Kind == string(keys.Sealer):
		case key.Kind == string(keys.Quantum):
			line, vkey, err := h.quantumLine(key)
			if err != nil {
				return TrustPolicy{}, err
			}
			before += line
			now = append(now, vkey...)
		case key.Replaced > 0:
			before += fmt.Sprintf("# until entry %d, and for files of before: log %s\n", key.Replaced, key.Key)
		default:
			now = append([]string{key.Key}, now...)
		}
	}
	text, err := trust.Text(now, witnesses...)
	if err != nil {
		return TrustPolicy{}, invalidOption(fmt.Errorf("--log-anchor: two witnesses have one name or key: %w", err))
	}
	text = before + text
	sum := sha256.Sum256([]byte(text))
	return TrustPolicy{text, hex.EncodeToString(sum[:])}, nil
}

// quantumLine returns what the policy has of a key of ML-DSA-44: the public key, if it signs and is in the folder of keys, and else a comment.
func (h *Home) quantumLine(of evidence.KnownKey) (comment string, vkey []string, err error) {
	if of.Replaced > 0 {
		return fmt.Sprintf("# until entry %d heads were signed by another post-quantum key\n", of.Replaced), nil, nil
	}
	key, err := keys.Load(h.options.evidence().Keys, keys.Quantum)
	switch {
	case err == nil && of.IsKey(key.VKey):
		return "", []string{key.VKey}, nil
	case err != nil && !errors.Is(err, keys.ErrNone):
		return "", nil, keyError(err)
	}
	return fmt.Sprintf("# since entry %d heads are also signed by a post-quantum key: print this policy where its file is; with a line end, the SHA-256 of the public key is %s\n", of.Since, of.Digest), nil, nil
}

func noLog() error {
	return &client.Error{Kind: client.NotFound, Code: client.LogNotFound, Message: "the landscape has no log yet: the first run begins it"}
}

// AdmitKey lets the entries of a sealer's key count from now on; of one that counts, changed is false. This process needs the key of the log.
func (h *Home) AdmitKey(ctx context.Context, key, why string) (changed bool, err error) {
	return h.withNotary(ctx, h.stores.Log, func(n *evidence.Notary) (bool, error) { return n.Admit(ctx, key, why) })
}

// RevokeKey lets the entries of a sealer's key count no more from now on; those before keep counting. Of one that is revoked, changed is false. This
// process needs the key of the log.
func (h *Home) RevokeKey(ctx context.Context, key, why string) (changed bool, err error) {
	return h.withNotary(ctx, h.stores.Log, func(n *evidence.Notary) (bool, error) { return n.Revoke(ctx, key, why) })
}

// Refused says why runs of this folder are refused because of its sealer's key, and the cure; empty if they are not.
func (h *Home) Refused(ctx context.Context) (why string, err error) {
	key, err := keys.Load(h.options.evidence().Keys, keys.Sealer)
	switch {
	case errors.Is(err, keys.ErrNone):
		return "", nil
	case err != nil:
		return "", keyError(err)
	}
	why, err = evidence.Refuses(ctx, h.stores.Log.Reader, key.VKey)
	if why != "" {
		why = "runs here are refused until their sealer has a key that counts: " + why
	}
	return why, err
}

// Kinds of keys that RotateKey replaces.
const (
	RotateLog    = string(keys.Log)
	RotateSealer = string(keys.Sealer)
)

// RotateRequest says which key gets another one in its place.
type RotateRequest struct {
	Kind      string // RotateLog or RotateSealer
	Why       string
	Signer    string // who has the private key of the log: agent:FINGERPRINT or exec:PROGRAM; empty for a file
	PublicKey string // PEM file with the public key of such a program
}

// RotateKey lets another key take the place of the log's, or of the sealer's in the folder of keys, and makes it. This process needs the key of the log, which
// signs the entry that names the new one.
func (h *Home) RotateKey(ctx context.Context, r RotateRequest) (evidence.Rotation, error) {
	notary, err := h.notary(ctx, h.stores.Log)
	if err != nil {
		return evidence.Rotation{}, err
	}
	next := func(name string) (keys.Key, error) {
		return keys.Next(h.options.evidence().Keys, keys.Kind(r.Kind), name, r.Signer, r.PublicKey)
	}
	rotate := notary.Rotate
	if r.Kind == RotateSealer {
		rotate = notary.RotateSealer
	}
	done, err := rotate(ctx, next, r.Why)
	if err != nil {
		return evidence.Rotation{}, keyError(err)
	}
	return done, nil
}

// notary returns who signs the log with the key of this process.
func (h *Home) notary(ctx context.Context, log *landscape.Log) (*evidence.Notary, error) {
	if size, err := h.stores.Log.LogSize(ctx); err != nil || size == 0 {
		return nil, errors.Join(err, noLog())
	}
	o := h.options.evidence()
	o.Make = false
	e, err := evidence.Open(ctx, log, o)
	switch {
	case err != nil:
		return nil, h.options.wordedLog(ctx, err)
	case e.Replaced != nil:
		return nil, keyError(e.Replaced)
	case e.Notary == nil:
		return nil, keyError(errors.New("the key of the log is not in " + o.Keys + ": only who has it admits, revokes and rotates keys"))
	}
	return e.Notary, nil
}

func (h *Home) withNotary(ctx context.Context, log *landscape.Log, do func(*evidence.Notary) (bool, error)) (changed bool, err error) {
	notary, err := h.notary(ctx, log)
	if err != nil {
		return false, err
	}
	changed, err = do(notary)
	if needs, ok := errors.AsType[*landscape.NeedsOrderError](err); ok {
		return false, client.NeedsOrder(needs)
	}
	if err != nil {
		return false, keyError(err)
	}
	return changed, nil
}

// LogEntries returns what entries of the landscape's log say, from a position on, at most so many; nil if there are none.
func (h *Home) LogEntries(ctx context.Context, from int64, most int) ([]evidence.Entry, error) {
	return evidence.Entries(ctx, h.stores.Log.Reader, from, most)
}

// RunInLog returns where a run is in the landscape's log; nil if that has not begun.
func (h *Home) RunInLog(ctx context.Context, run string) (*client.RunInLog, error) {
	backlog, err := h.LogBacklog(ctx)
	if err != nil || backlog.Entries == 0 {
		return nil, err
	}
	position, err := evidence.EntryOf(ctx, h.stores.Log.Reader, run)
	if errors.Is(err, landscape.ErrNotFound) {
		return &client.RunInLog{Entry: -1, Anchors: len(backlog.Anchors)}, nil
	}
	if err != nil {
		return nil, err
	}
	in := &client.RunInLog{Entry: position, Signed: backlog.Signed > position, Anchors: len(backlog.Anchors)}
	if in.Missing, err = evidence.MissingOf(ctx, h.stores.Log.Reader, run); err != nil {
		return nil, err
	}
	if len(in.Missing) > 0 && in.Missing[0].Type == evidence.Began {
		in.Entry, in.Signed = -1, false // it is another's
		return in, nil
	}
	for _, anchor := range backlog.Anchors {
		if anchor.Entries > position {
			in.Anchored++
		}
	}
	return in, nil
}

// Verify does what client.Client's does, and compares the run with the landscape's log.
func (h *Home) Verify(ctx context.Context, word string, o audit.VerifyOptions) (*audit.Report, error) {
	o.Logged = func(ctx context.Context, run string) (removed, lost []string, err error) {
		missing, err := evidence.MissingOf(ctx, h.stores.Log.Reader, run)
		for _, m := range missing {
			if m.Restored {
				lost = append(lost, m.String())
			} else {
				removed = append(removed, m.String())
			}
		}
		return removed, lost, err
	}
	return h.Client.Verify(ctx, word, o)
}

// LogBacklog returns how far the landscape's log is sealed, signed and anchored.
func (h *Home) LogBacklog(ctx context.Context) (evidence.Backlog, error) {
	anchors, err := h.options.comparedAnchors(ctx, h.stores.Log.Reader)
	if err != nil {
		return evidence.Backlog{}, err
	}
	return evidence.BacklogOf(ctx, h.stores.Log.Reader, anchors)
}

// CheckLog compares the landscape's log with its tree, its signed heads, what its anchors have, and the runs that are
// recorded, and verifies the signatures under approval requests, by the approvers file if there is one. The anchor in
// the state folder is one of them if heads of this log were brought there. key is the
// public key that the caller trusts; empty takes the log's own word. It changes nothing. The error is an *Error of kind
// Invalid if key is no public key, or the approvers file cannot be read.
func (h *Home) CheckLog(ctx context.Context, key string) (evidence.Report, error) {
	approvers, err := h.options.approvers()
	if err != nil {
		return evidence.Report{}, err
	}
	anchors, err := h.options.comparedAnchors(ctx, h.stores.Log.Reader)
	if err != nil {
		return evidence.Report{}, err
	}
	report, err := evidence.Check(ctx, h.stores.Log.Reader, key, anchors)
	if errors.Is(err, evidence.ErrNoKey) {
		err = keyError(err)
	}
	if err == nil {
		err = report.VerifyOrders(ctx, h.stores.Log.Reader, approvers)
	}
	return report, err
}

// RestoreLog takes the entries that the log does not have any more from an anchor, after a backup of the landscape was restored, and records that
// in the log. This process needs the key of the log.
func (h *Home) RestoreLog(ctx context.Context, from, why string) (evidence.Restoration, error) {
	if err := checkAnchors(from); err != nil {
		return evidence.Restoration{}, err
	}
	o := h.options.evidence()
	o.Make = false
	done, err := evidence.Restore(ctx, h.stores.Log, o, from, why)
	if err != nil {
		return done, h.options.wordedLog(ctx, err)
	}
	return done, nil
}
