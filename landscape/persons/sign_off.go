package persons

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"

	"waymark/internal/strictjson"
	"waymark/landscape"
	"waymark/pipeline"
)

// Statement is what a person signs about a run. Its JSON is in one form, in the order of the names.
type Statement struct {
	Approvers string   `json:"approvers_sha256"` // of the approvers file that let the key sign
	Artifacts []Output `json:"artifacts"`        // by sink; empty, not nil, if the run has none
	At        string   `json:"at"`               // by the clock of the machine where it was signed, in UTC
	Meaning   string   `json:"meaning"`          // of the signature, in the person's words
	Name      string   `json:"name"`             // of the person, printed
	Person    string   `json:"person"`           // as the approvers file names the person
	Pipeline  string   `json:"pipeline"`
	Role      string   `json:"role"` // in which the person signs
	Root      string   `json:"root"` // of the run's seal, in hex
	Run       string   `json:"run"`
	Seal      int64    `json:"seal"` // which of the run's seals that is
	Type      string   `json:"type"` // sign-off
	V         int      `json:"v"`
}

// Output is an output of the run.
type Output struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Sink   string `json:"sink"`
}

const (
	signOffType = "sign-off"
	formVersion = 1

	maxMeaning = 1000
	moment     = "2006-01-02T15:04:05.000000Z"
)

// ErrUnusable says that no statement can be made so.
var ErrUnusable = errors.New("cannot be signed")

// NewStatement returns what a person signs about a run: the root of its seal, and the digests of its outputs. The error wraps ErrUnusable.
func NewStatement(run landscape.Run, seal landscape.RunSeal, outputs []landscape.ArtifactRecord, role, meaning string, by Approver, approvers string, at time.Time) (Statement, error) {
	s := Statement{
		Approvers: approvers, Artifacts: outputsOf(outputs), At: at.UTC().Format(moment), Meaning: strings.TrimSpace(meaning), Name: by.Name, Person: by.Person,
		Pipeline: run.Pipeline, Role: role, Root: hex.EncodeToString(seal.Root), Run: run.ID, Seal: seal.Seq, Type: signOffType, V: formVersion,
	}
	switch {
	case !pipeline.IsRole(role):
		return s, fmt.Errorf("the role %.60q %w: write at most 40 small letters, digits, _ and -, such as reviewer", role, ErrUnusable)
	case s.Meaning == "" || len(s.Meaning) > maxMeaning:
		return s, fmt.Errorf("a meaning of %d bytes %w: say in one line of at most %d bytes what the signature means", len(s.Meaning), ErrUnusable, maxMeaning)
	}
	if i := strings.IndexFunc(s.Meaning, unseen); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s.Meaning[i:])
		return s, fmt.Errorf("a meaning with the character %U at byte %d %w: readers do not see it; say in one line of letters and signs what the signature means", r, i+1, ErrUnusable)
	}
	return s, nil
}

// unseen reports whether a character is one that readers do not see, and that may change how they read others. Two that only join or part letters are needed to
// write some languages.
func unseen(r rune) bool {
	const nonJoiner, joiner = 0x200c, 0x200d
	return r != nonJoiner && r != joiner && (r == utf8.RuneError || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp))
}

func outputsOf(records []landscape.ArtifactRecord) []Output {
	outputs := []Output{}
	for _, a := range records {
		outputs = append(outputs, Output{a.Path, a.SHA256, a.Sink})
	}
	return outputs
}

// Text is the statement as it is recorded: one line without its end. What is signed has the end.
func (s Statement) Text() (string, error) {
	text, err := strictjson.Encode(s)
	return strings.TrimSuffix(string(text), "\n"), err
}

// Sign signs what is recorded of a statement.
func (s Statement) Sign(key ssh.Signer) (string, error) {
	text, err := s.Text()
	if err != nil {
		return "", err
	}
	return Sign(key, SignOffs, text+"\n")
}

// Record returns what is recorded of a statement that was signed.
func (s Statement) Record(signature string, by Approver) (landscape.SignOff, error) {
	at, err := time.Parse(moment, s.At)
	if err != nil {
		return landscape.SignOff{}, err
	}
	text, err := s.Text()
	return landscape.SignOff{
		Run: s.Run, Seal: s.Seal, Person: s.Person, Role: s.Role, Statement: text, Signature: signature, Approver: by.Line, At: landscape.MicrosOf(at),
	}, err
}

// Digest is what the log has of a sign-off: the SHA-256 of its statement with a line end, its signature, and the approver's line with a line end.
func Digest(s landscape.SignOff) string {
	sum := sha256.Sum256([]byte(s.Statement + "\n" + s.Signature + s.Approver + "\n"))
	return hex.EncodeToString(sum[:])
}

// Verified is a sign-off whose signature holds.
type Verified struct {
	Statement
	Key ssh.PublicKey
}

// VerifySignOff verifies a sign-off as it is recorded: the signature, that the line of the approver let the key sign then, and that the statement is about
// this run, one of its seals and its outputs. Who the approver is, that line says alone. The error names what does not hold.
func VerifySignOff(record landscape.SignOff, seals []landscape.RunSeal, outputs []landscape.ArtifactRecord) (Verified, error) {
	var v Verified
	key, err := Verify(record.Signature, SignOffs, record.Statement+"\n")
	if err != nil {
		return v, err
	}
	said, err := strictjson.Decode[Statement]([]byte(record.Statement + "\n"))
	if err != nil || said.Type != signOffType || said.V != formVersion {
		return v, errors.Join(errors.New("what was signed is not a statement that signs off a run"), err)
	}
	v = Verified{said, key}
	if err := v.fits(record); err != nil {
		return v, err
	}
	if !slices.ContainsFunc(seals, func(s landscape.RunSeal) bool { return s.Seq == said.Seal && hex.EncodeToString(s.Root) == said.Root }) {
		return v, fmt.Errorf("%s signed the root %.12s of seal %d, and the run has no such seal", said.Person, said.Root, said.Seal)
	}
	if !among(said.Artifacts, outputsOf(outputs)) {
		return v, fmt.Errorf("%s signed other outputs than are recorded of the run", said.Person)
	}
	return v, v.allowed(record.Approver)
}

// among reports whether all outputs that were signed are recorded still. There may be more: what was staged when it was signed is published later, and the root binds it.
func among(signed, recorded []Output) bool {
	return !slices.ContainsFunc(signed, func(o Output) bool { return !slices.Contains(recorded, o) })
}

// fits compares a statement with the columns beside it.
func (v Verified) fits(record landscape.SignOff) error {
	switch {
	case v.Run != record.Run:
		return fmt.Errorf("%s signed off run %s, and the signature is recorded of run %s", v.Person, v.Run, record.Run)
	case v.Person != record.Person || v.Role != record.Role || v.Seal != record.Seal || v.At != record.At.Time().UTC().Format(moment):
		return fmt.Errorf("%s signed as %s at %s, and something else is recorded beside that", v.Person, v.Role, v.At)
	}
	return nil
}

// allowed requires that the line of an approver let the key sign then.
func (v Verified) allowed(line string) error {
	return lineAllows(line, v.Key, v.Person, v.Name, SignOffs, v.time())
}

// lineAllows requires that the line of an approver let a person's key sign then.
func lineAllows(line string, key ssh.PublicKey, person, name, namespace string, at time.Time) error {
	a, err := ParseApprover(line)
	if err != nil {
		return fmt.Errorf("the line of the approver: %w", err)
	}
	if !sameKey(a.Key, key) || a.Person != person || a.Name != name || a.Line != line {
		return fmt.Errorf("%s signed with the key %s, and the line of the approver has another key or name", person, ssh.FingerprintSHA256(key))
	}
	return a.Allows(namespace, at)
}

// time returns when it was signed; fits compared it with the record.
func (v Verified) time() time.Time {
	at, _ := time.Parse(moment, v.At)
	return at
}

// AllowedBy requires that approvers, as they are now, let the key sign then, as the same person. The error wraps ErrNotAllowed. changed is true if they are not
// those of the time when it was signed.
func (v Verified) AllowedBy(approvers *Approvers) (changed bool, err error) {
	a, err := approvers.Of(v.Key, SignOffs, v.time())
	if err == nil && a.Person != v.Person {
		err = fmt.Errorf("the key of %s %w for %s", a.Person, ErrNotAllowed, v.Person)
	}
	return approvers.SHA256 != v.Approvers, err
}
