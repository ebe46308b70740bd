// Package persons verifies what people sign with their SSH keys, in the form of ssh-keygen -Y sign, and which file says whose key is whose: one in the
// form of OpenSSH's allowed_signers.
package persons

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Approver is a line of an approvers file: a person, and a key of this person.
type Approver struct {
	Person     string // the first of the line's principals, such as ann@example.com
	Name       string // the printed name: what stands behind the key, or else Person
	Key        ssh.PublicKey
	Namespaces []string  // for what the key may sign; nil: for everything
	After      time.Time // from when on; zero: ever since
	Before     time.Time // until when; zero: for ever
	Line       string    // without its end

	names []string // all of the line's principals
}

// Approvers are the lines of an approvers file.
type Approvers struct {
	All    []Approver
	SHA256 string // of the file, in hex
}

// ReadApprovers reads an approvers file. The error names it.
func ReadApprovers(file string) (*Approvers, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the approvers file: %w", err)
	}
	approvers, err := ParseApprovers(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return approvers, nil
}

// maxApprovers is how long an approvers file may be.
const maxApprovers = 1 << 20

// ParseApprovers reads an approvers file. It takes less than ssh-keygen does: keys are of Ed25519, also of a security key; principals and namespaces are names
// and not patterns; times are in UTC; there are no certificates; and a key is one person's. The error names the line.
func ParseApprovers(text string) (*Approvers, error) {
	if len(text) > maxApprovers {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are allowed", len(text), maxApprovers)
	}
	sum := sha256.Sum256([]byte(text))
	found, number := &Approvers{SHA256: hex.EncodeToString(sum[:])}, 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		a, err := ParseApprover(line)
		if err == nil {
			err = found.oneOwner(a)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		found.All = append(found.All, a)
	}
	return found, nil
}

// Persons returns how many persons the lines name.
func (a *Approvers) Persons() int {
	known := map[string]bool{}
	for _, one := range a.All {
		known[one.Person] = true
	}
	return len(known)
}

// oneOwner requires that a key of one person is not another one's, and that nobody counts as two persons because of two
// ways to write a name.
func (a *Approvers) oneOwner(next Approver) error {
	for _, other := range a.All {
		if other.Person == next.Person {
			continue
		}
		if sameKey(other.Key, next.Key) {
			return fmt.Errorf("%s has the key of %s: each person needs a key that nobody else has", next.Person, other.Person)
		}
		for _, name := range next.names {
			if slices.ContainsFunc(other.names, func(known string) bool { return strings.EqualFold(known, name) }) {
				return fmt.Errorf("%s is a name of %s as well: begin all lines of one person with the same name, %s, "+
					"or give each person names that nobody else has", name, other.Person, other.Person)
			}
		}
	}
	return nil
}

func sameKey(a, b ssh.PublicKey) bool { return string(a.Marshal()) == string(b.Marshal()) }

var (
	personName = regexp.MustCompile(`^[A-Za-z0-9._%+@-]{1,100}$`)

	// lineForm is principals, options, the type of the key, the key, and a name.
	lineForm   = regexp.MustCompile(`^([^ ]+) +(?:([a-z-]+="[^"]*"(?:,[a-z-]+="[^"]*")*) +)?([a-z0-9@.-]+) +([A-Za-z0-9+/=]+)(?: +(.*))?$`)
	optionForm = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
)

// ParseApprover reads one line of an approvers file.
func ParseApprover(line string) (a Approver, err error) {
	line = strings.TrimSpace(line)
	parts := lineForm.FindStringSubmatch(line)
	if parts == nil {
		return a, fmt.Errorf("%.80q is no approver: write PRINCIPAL [OPTION=\"VALUE\",…] ssh-ed25519 AAAA… [NAME]", line)
	}
	a.names = strings.Split(parts[1], ",")
	for _, principal := range a.names {
		if !personName.MatchString(principal) {
			return a, fmt.Errorf("%.120q names no person: write a name or an address, such as ann@example.com, without * or quotes", principal)
		}
	}
	a.Person = a.names[0]
	if a.Key, err = publicKey(parts[3], parts[4]); err != nil {
		return a, err
	}
	a.Line, a.Name = line, cmp.Or(plainName(parts[5]), a.Person)
	for _, option := range optionForm.FindAllStringSubmatch(parts[2], -1) {
		if err := a.option(option[1], option[2]); err != nil {
			return a, err
		}
	}
	return a, nil
}

// publicKey reads a key.
func publicKey(kind, text string) (ssh.PublicKey, error) {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the key %.20q… is not base64", text)
	}
	key, err := ssh.ParsePublicKey(data)
	if err != nil || key.Type() != kind {
		return nil, fmt.Errorf("the key %.20q… is not of the type %s", text, kind)
	}
	return key, usable(key)
}

// plainName is what of a comment can be printed.
func plainName(comment string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(comment, "?"), func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }), " ")
}

// usable refuses keys whose signatures not everybody can verify.
func usable(key ssh.PublicKey) error {
	if kind := key.Type(); kind != ssh.KeyAlgoED25519 && kind != ssh.KeyAlgoSKED25519 {
		return fmt.Errorf("a key of type %s cannot sign here: make one with ssh-keygen -t ed25519, or -t ed25519-sk for a security key", kind)
	}
	return nil
}

// option reads one option of a line.
func (a *Approver) option(name, value string) (err error) {
	switch name {
	case "namespaces":
		a.Namespaces = strings.Split(value, ",")
		if slices.ContainsFunc(a.Namespaces, func(n string) bool { return !personName.MatchString(n) }) {
			err = fmt.Errorf("namespaces=%.80q: write names such as %s, without *", value, SignOffs)
		}
	case "valid-after":
		a.After, err = validTime(value)
	case "valid-before":
		a.Before, err = validTime(value)
	default:
		err = fmt.Errorf("the option %.40q is not known: write namespaces, valid-after or valid-before", name)
	}
	return err
}

// validTime reads a time as ssh-keygen does, in UTC.
func validTime(word string) (time.Time, error) {
	for _, layout := range []string{"20060102Z", "200601021504Z", "20060102150405Z"} {
		if at, err := time.Parse(layout, word); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no time: write YYYYMMDDZ or YYYYMMDDHHMMSSZ; the Z says that it is in UTC, wherever it is read", word)
}

// ErrNotAllowed says that a key may not sign.
var ErrNotAllowed = errors.New("may not sign")

// Allows says why a line does not let its key sign something then; nil if it does. The error wraps ErrNotAllowed.
func (a Approver) Allows(namespace string, at time.Time) error {
	switch {
	case a.Namespaces != nil && !slices.Contains(a.Namespaces, namespace):
		return fmt.Errorf("the key of %s %w in the namespace %s, only in %s", a.Person, ErrNotAllowed, namespace, strings.Join(a.Namespaces, ", "))
	case at.Before(a.After):
		return fmt.Errorf("the key of %s %w before %s, and this is of %s", a.Person, ErrNotAllowed, a.After.Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	case !a.Before.IsZero() && !at.Before(a.Before):
		return fmt.Errorf("the key of %s %w from %s on, and this is of %s", a.Person, ErrNotAllowed, a.Before.Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	}
	return nil
}

// Of returns the line that lets a key sign something then. The error wraps ErrNotAllowed.
func (a *Approvers) Of(key ssh.PublicKey, namespace string, at time.Time) (Approver, error) {
	err := fmt.Errorf("the key %s %w: it is of none of the approvers", ssh.FingerprintSHA256(key), ErrNotAllowed)
	for _, one := range a.All {
		if !sameKey(one.Key, key) {
			continue
		}
		if err = one.Allows(namespace, at); err == nil {
			return one, nil
		}
	}
	return Approver{}, err
}
