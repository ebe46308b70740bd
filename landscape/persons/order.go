package persons

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/crypto/ssh"

	"waymark/internal/strictjson"
	"waymark/landscape"
)

// Orders is the namespace of signatures under guarded changes. Stored; never rename.
const Orders = "waymark-approval"

// OrderStatement is a guarded change as who proposes it signs it. Its JSON is in one form, in the order of the names;
// its SHA-256, with a line end, names the order.
type OrderStatement struct {
	Approvers string              `json:"approvers_sha256"` // of the approvers file that let the key sign
	Args      map[string]string   `json:"args"`             // what exactly is ordered; not nil
	At        string              `json:"at"`               // by the clock of the machine where it was signed, in UTC
	Expires   string              `json:"expires"`          // from then on nobody approves or executes it
	Name      string              `json:"name"`             // of who proposes it, printed
	Proposer  string              `json:"proposer"`         // as the approvers file names the person
	Run       string              `json:"run"`              // that it is about; empty if it is not about one
	State     map[string]string   `json:"state"`            // in which it was seen: it is executed in no other; not nil
	Type      string              `json:"type"`             // approval_request
	V         int                 `json:"v"`
	Verb      landscape.OrderVerb `json:"verb"`
	Why       string              `json:"why"`
}

// AssentStatement is what a person signs under an order. Its JSON is in one form, in the order of the names.
type AssentStatement struct {
	Approvers string               `json:"approvers_sha256"`
	At        string               `json:"at"`
	Name      string               `json:"name"`
	Person    string               `json:"person"`
	Order     string               `json:"request_sha256"`
	Type      landscape.AssentKind `json:"type"`
	V         int                  `json:"v"`
	Why       string               `json:"why"`
}

const orderType = "approval_request"

// NewOrder returns what a person signs who proposes an order. args and state must not be nil. The error wraps ErrUnusable if the reason cannot be printed.
func NewOrder(verb landscape.OrderVerb, run string, args, state map[string]string, why string, by Approver, approvers string, at, expires time.Time) (OrderStatement, error) {
	s := OrderStatement{
		Approvers: approvers, Args: args, At: at.UTC().Format(moment), Expires: expires.UTC().Format(moment), Name: by.Name, Proposer: by.Person, Run: run, State: state,
		Type: orderType, V: formVersion, Verb: verb, Why: strings.TrimSpace(why),
	}
	return s, printable(s.Why)
}

// NewAssent returns what a person signs under an order. The error wraps ErrUnusable if the reason cannot be printed.
func NewAssent(kind landscape.AssentKind, order, why string, by Approver, approvers string, at time.Time) (AssentStatement, error) {
	s := AssentStatement{
		Approvers: approvers, At: at.UTC().Format(moment), Name: by.Name, Order: order, Person: by.Person, Type: kind, V: formVersion, Why: strings.TrimSpace(why),
	}
	return s, printable(s.Why)
}

// printable refuses a reason that is none, or is not one line.
func printable(why string) error {
	if why == "" || len(why) > maxMeaning || strings.ContainsFunc(why, unicode.IsControl) {
		return fmt.Errorf("a reason of %d bytes %w: say in one line of at most %d bytes why", len(why), ErrUnusable, maxMeaning)
	}
	return nil
}

// signed signs a statement, and returns its line without the end.
func signed(statement any, key ssh.Signer) (text, signature string, err error) {
	line, err := strictjson.Encode(statement)
	if err == nil {
		signature, err = Sign(key, Orders, string(line))
	}
	return strings.TrimSuffix(string(line), "\n"), signature, err
}

// Sign signs the order, and returns what is recorded of it.
func (s OrderStatement) Sign(key ssh.Signer, by Approver) (landscape.ApprovalRequest, error) {
	at, unread := time.Parse(moment, s.At)
	expires, wrong := time.Parse(moment, s.Expires)
	text, signature, err := signed(s, key)
	return landscape.ApprovalRequest{
		Run: s.Run, Digest: lineDigest(text), Verb: s.Verb, Person: s.Proposer, Statement: text, Signature: signature, Approver: by.Line,
		Expires: landscape.MicrosOf(expires), At: landscape.MicrosOf(at),
	}, errors.Join(unread, wrong, err)
}

// Record returns what is recorded of a signature under an order, without the signature.
func (s AssentStatement) Record(o landscape.ApprovalRequest, by Approver) (landscape.Approval, error) {
	at, err := time.Parse(moment, s.At)
	return landscape.Approval{Run: o.Run, Order: s.Order, Kind: s.Type, Person: s.Person, Approver: by.Line, At: landscape.MicrosOf(at)}, err
}

// Sign adds the signature to what is recorded of it.
func (s AssentStatement) Sign(key ssh.Signer, record *landscape.Approval) (err error) {
	record.Statement, record.Signature, err = signed(s, key)
	return err
}

func lineDigest(text string) string {
	sum := sha256.Sum256([]byte(text + "\n"))
	return hex.EncodeToString(sum[:])
}

// ReadOrder reads the statement of an order. Its signature is not verified.
func ReadOrder(record landscape.ApprovalRequest) (OrderStatement, error) {
	s, err := strictjson.Decode[OrderStatement]([]byte(record.Statement + "\n"))
	if err != nil || s.Type != orderType || s.V != formVersion || s.Args == nil || s.State == nil {
		err = errors.Join(errors.New("what was signed is not an order"), err)
	}
	return s, err
}

// VerifyOrder verifies an order as it is recorded: the signature, that the line of the approver let the key sign then, and that the columns beside the statement
// say the same. The error names what does not hold.
func VerifyOrder(record landscape.ApprovalRequest) (s OrderStatement, key ssh.PublicKey, err error) {
	if key, err = Verify(record.Signature, Orders, record.Statement+"\n"); err != nil {
		return s, nil, err
	}
	if s, err = ReadOrder(record); err != nil {
		return s, nil, err
	}
	if lineDigest(record.Statement) != record.Digest || s.Run != record.Run || s.Verb != record.Verb || s.Proposer != record.Person ||
		s.At != stamp(record.At) || s.Expires != stamp(record.Expires) {
		return s, nil, fmt.Errorf("%s signed another order than is recorded beside that", s.Proposer)
	}
	return s, key, lineAllows(record.Approver, key, s.Proposer, s.Name, Orders, record.At.Time())
}

// VerifyAssent verifies a signature under an order as it is recorded, as VerifyOrder does.
func VerifyAssent(record landscape.Approval) (s AssentStatement, key ssh.PublicKey, err error) {
	if key, err = Verify(record.Signature, Orders, record.Statement+"\n"); err != nil {
		return s, nil, err
	}
	s, err = strictjson.Decode[AssentStatement]([]byte(record.Statement + "\n"))
	if err != nil || s.Type != landscape.Approves && s.Type != landscape.Reviews || s.V != formVersion {
		return s, nil, errors.Join(errors.New("what was signed is not a signature under an order"), err)
	}
	if s.Order != record.Order || s.Type != record.Kind || s.Person != record.Person || s.At != stamp(record.At) {
		return s, nil, fmt.Errorf("%s signed under another order than is recorded beside that", s.Person)
	}
	return s, key, lineAllows(record.Approver, key, s.Person, s.Name, Orders, record.At.Time())
}

func stamp(at landscape.Micros) string { return at.Time().UTC().Format(moment) }
