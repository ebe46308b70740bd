package evidence

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/internal/strictjson"
	"waymark/landscape"
)

// Type is what an entry is about. Stored; never rename one.
type Type string

// The types. Those of runs are signed by a sealer, the others by the key of the log.
const (
	Genesis  Type = "genesis"      // the log begins
	Admitted Type = "key"          // from here on, a sealer's key counts
	Revoked  Type = "revoked"      // from here on, it does not
	Rotated  Type = "rotated"      // from here on, the log has another key
	Secured  Type = "post-quantum" // from here on, heads are also signed by a key of ML-DSA-44
	Retired  Type = "retired"      // from here on, heads are no longer also signed by a key that was replaced
	Began    Type = "began"        // a run begins
	Sealed   Type = "sealed"       // a run ended, or something was recorded of it afterwards: what binds its records
	Refused  Type = "refused"      // an entry before does not count
	Foreign  Type = "foreign"      // a head of this size is kept that the log did not sign
	Restored Type = "restored"     // entries that were missing here came back from an anchor
	Lost     Type = "lost"         // a run that the log knows is not recorded any more
	Tick     Type = "tick"         // nothing else happened on a day
	Forgot   Type = "forgot"       // an order to forget rows was carried out
	Attested Type = "attested"     // the targets of a run's outputs were read again

	SignedOff Type = "signed-off" // a person signed off a run
	Archived  Type = "archived"   // the records of a run are in a bundle elsewhere, and not here any more

	Ruled     Type = "rule"      // how many persons a guarded change needs
	Requested Type = "requested" // a person proposed a guarded change
	Approved  Type = "approved"  // a person signed it
	Executed  Type = "executed"  // it was executed
	Saw       Type = "approver"  // a person's key was in the approvers file for the first time
)

// aboutKeys are the types of the entries that say which keys count.
var aboutKeys = []Type{Genesis, Admitted, Revoked, Rotated, Retired, Secured}

// Statement is what an entry says. Which fields there are depends on the type; their JSON names are those of the entry, in its order.
type Statement struct {
	Anchored  int64  `json:"anchored,omitempty"`        // of a restored log: how many entries the anchor has
	Apart     bool   `json:"apart,omitempty"`           // another entry, that does not count, has the place of this one: see about
	Approval  int64  `json:"approval,omitempty"`        // which signature under an order it is, from 0
	At        string `json:"at"`                        // by the clock of who signed it, in UTC; of a run that begins, as recorded
	Look      int64  `json:"attestation,omitempty"`     // which look at the outputs of a run it is, from 0
	Bundle    string `json:"bundle_sha256,omitempty"`   // of an archived run: of its bundle, in hex
	By        string `json:"by_sha256,omitempty"`       // of who and what began a run: see byOf
	Document  string `json:"document,omitempty"`        // of a run: SHA-256 in hex
	Epoch     int64  `json:"epoch,omitempty"`           // of a run that is sealed: how often it was resumed
	Found     int64  `json:"found,omitempty"`           // of a restored log: how many entries were left
	Key       string `json:"key,omitempty"`             // a public key, as name+hash+base64
	Landscape string `json:"landscape,omitempty"`       // chance, that tells one landscape from another
	Late      bool   `json:"late,omitempty"`            // of a seal: it was not made when the run ended
	Leaves    int64  `json:"leaves,omitempty"`          // of a seal: records
	Manifest  string `json:"manifest_sha256,omitempty"` // of the bundle of an archived run, in hex
	N         string `json:"n"`                         // chance, so that nobody guesses an entry by its hash
	Note      string `json:"note_sha256,omitempty"`     // in hex: of the certificate of an order to forget; of a sign-off; of a person and key; of a key that is too long for an entry
	Order     int64  `json:"order,omitempty"`           // to forget
	Origin    string `json:"origin,omitempty"`          // the name of the log
	Pipeline  string `json:"pipeline,omitempty"`
	Position  int64  `json:"position,omitempty"` // of the entry that does not count; of a head that the log did not sign: its size
	// of what was found of outputs: landscape.AttestationDigest; of the line of a record of approval requests
	Records  string `json:"records_sha256,omitempty"`
	Digest   string `json:"request_sha256,omitempty"` // of an approval request
	Result   string `json:"result,omitempty"`         // the worst that was found of an output
	Root     string `json:"root,omitempty"`           // of a seal, and of an archived run: in hex
	Rows     int64  `json:"rows,omitempty"`           // that were forgotten
	Rule     int64  `json:"rule,omitempty"`           // which rule about a verb it is, from 0
	Run      string `json:"run,omitempty"`
	Runs     int64  `json:"runs,omitempty"`        // that are older than the log
	RunsHash string `json:"runs_sha256,omitempty"` // of their ids, sorted, each with a line end
	Seal     int64  `json:"seal,omitempty"`        // which of a run's seals it is, from 0
	SignOff  int64  `json:"sign_off,omitempty"`    // which of a run's sign-offs it is, from 0
	Status   string `json:"status,omitempty"`      // of a run that is sealed
	Type     Type   `json:"type"`
	V        int    `json:"v"`
	Verb     string `json:"verb,omitempty"` // that a rule is about
	Why      string `json:"why,omitempty"`
}

// formVersion is the version of the form of entries.
const formVersion = 1

// maxEntryBytes is how long an entry may be. maxWhy leaves room for keys with the longest names.
const (
	maxEntryBytes = 600
	maxWhy        = 100
)

// about returns what a statement is about: the log has one entry about it. A writer of the landscape can take that
// place first; the place of a statement apart cannot be guessed.
func (s Statement) about() string {
	if s.Apart {
		return s.place() + "/" + s.N
	}
	return s.place()
}

// place is about of a statement that is not apart.
func (s Statement) place() string {
	switch s.Type {
	case Genesis:
		return string(s.Type)
	case Admitted, Revoked, Rotated, Retired:
		return string(s.Type) + "/" + s.Key
	case Refused:
		return fmt.Sprintf("%s/%d", s.Type, s.Position)
	case Foreign: // random, so that no writer takes the place first
		return fmt.Sprintf("%s/%d/%s", s.Type, s.Position, s.N)
	case Restored:
		return fmt.Sprintf("%s/%d-%d", s.Type, s.Found, s.Anchored)
	case Sealed: // a record that was restored may get another seal of this number
		return fmt.Sprintf("%s/%s/%d/%s", s.Type, s.Run, s.Seal, s.At)
	case Attested: // a record that was restored may get another one of this number
		return fmt.Sprintf("%s/%s/%d/%s", s.Type, s.Run, s.Look, s.At)
	case Archived: // a run of a record that was restored may be archived again
		return fmt.Sprintf("%s/%s/%s", s.Type, s.Run, s.At)
	case Forgot: // a record that was restored may get another order of this number
		return fmt.Sprintf("%s/%d/%s", s.Type, s.Order, s.At)
	case SignedOff: // a record that was restored may get another one of this number
		return fmt.Sprintf("%s/%s/%d/%s", s.Type, s.Run, s.SignOff, s.At)
	case Ruled: // a record that was restored may get another one of this number, and another signature or execution
		return fmt.Sprintf("%s/%s/%d/%s", s.Type, s.Verb, s.Rule, s.At)
	case Approved:
		return fmt.Sprintf("%s/%s/%d/%s", s.Type, s.Digest, s.Approval, s.At)
	case Executed:
		return fmt.Sprintf("%s/%s/%s", s.Type, s.Digest, s.At)
	case Requested:
		return fmt.Sprintf("%s/%s", s.Type, s.Digest)
	case Saw, Secured:
		return fmt.Sprintf("%s/%s", s.Type, s.Note)
	case Tick:
		return string(s.Type) + "/" + s.At[:min(len(s.At), len(time.DateOnly))]
	default:
		return string(s.Type) + "/" + s.Run
	}
}

// line returns the statement in canonical form: one line of JSON whose members are sorted.
func (s Statement) line() (string, error) {
	text, err := strictjson.Encode(s)
	return string(text), err
}

// entry signs a statement that is made now.
func entry(s Statement, by note.Signer, now time.Time) (landscape.LogEntry, error) {
	s.N, s.V, s.At, s.Why = cmp.Or(s.N, chance()), formVersion, now.UTC().Format(moment), plain(s.Why)
	text, err := s.line()
	if err != nil {
		return landscape.LogEntry{}, err
	}
	signed, err := note.Sign(&note.Note{Text: text}, by)
	if err != nil {
		return landscape.LogEntry{}, fmt.Errorf("sign the entry %s: %w", s.about(), err)
	}
	if len(signed) > maxEntryBytes {
		return landscape.LogEntry{}, fmt.Errorf("the entry %s has %d bytes, and at most %d are allowed", s.about(), len(signed), maxEntryBytes)
	}
	leaf := tlog.RecordHash(signed)
	return landscape.LogEntry{About: s.about(), Entry: string(signed), Leaf: leaf[:]}, nil
}

// chance returns 16 random bytes.
func chance() string {
	var bytes [16]byte
	rand.Read(bytes[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}

// byOf returns the SHA-256, in hex, of the entry's chance, who began a run, and what that came of, a line each. So an anchor, which nothing can be
// taken out of, has no names of people.
func (s Statement) byOf(actor, trigger string) string {
	sum := sha256.Sum256([]byte(s.N + "\n" + actor + "\n" + trigger + "\n"))
	return hex.EncodeToString(sum[:])
}

// moment is how entries write a moment.
const moment = "2006-01-02T15:04:05.000000Z"

// plain makes one line of what a person wrote, without what JSON writes in several ways, and cuts it.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > maxWhy {
		text = strings.ToValidUTF8(text[:maxWhy-3], "") + "..."
	}
	return text
}

// parse reads a statement, and refuses one that is not written as this package writes it.
func parse(text string) (s Statement, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("it is not a statement: %w", err)
	}
	line, err := s.line()
	if err == nil && (line != text || s.V != formVersion) {
		err = errors.New("it is not in canonical form, or of another version")
	}
	return s, err
}

// read returns what a note says. Its signature is not verified.
func read(entry string) (s Statement, by string, err error) {
	n, err := note.Open([]byte(entry), note.VerifierList())
	unverified, ok := err.(*note.UnverifiedNoteError) //nolint:errorlint // it is never wrapped
	if !ok || n != nil {
		return s, "", fmt.Errorf("it is not a note: %w", err)
	}
	for _, sig := range unverified.Note.UnverifiedSigs {
		by = sig.Name
	}
	s, err = parse(unverified.Note.Text)
	return s, by, err
}
