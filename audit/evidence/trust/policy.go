// Package trust reads and writes trust policies in the form of the C2SP (https://c2sp.org/tlog-policy): which logs and witnesses somebody trusts, and
// which of the witnesses must have cosigned a head.
package trust

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/cosign"
)

// Policy says which heads of logs somebody believes.
type Policy struct {
	Logs      []Log
	Witnesses []Witness // in the order of the policy

	quorum *member // nil for none
}

// Log is a trusted log. Its name is that of its key.
type Log struct {
	Key string // public, as name+hash+base64
	note.Verifier
}

// Quantum reports whether the key is one of ML-DSA-44, which signs heads beside the log's own.
func (l Log) Quantum() bool {
	_, is := l.Verifier.(*cosign.Quantum)
	return is
}

// Witness is a trusted witness.
type Witness struct {
	Name string // in the policy
	Key  string // public, as name+hash+base64
	URL  string // empty if the policy has none
	*cosign.Verifier
}

// member is a witness or a group.
type member struct {
	name    string
	need    int // of the members below; 0 for a witness
	members []*member
	taken   bool // it is in a group
}

// none is the quorum that asks for no witness.
const none = "none"

// Parse reads a policy. The error names the line that is wrong.
func Parse(text string) (*Policy, error) {
	p := &parser{policy: &Policy{}, names: map[string]*member{}, keys: map[string]bool{}}
	for i, line := range strings.Split(text, "\n") {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if !p.decided {
		return nil, errors.New("no line says which quorum it asks for: write `quorum none`, or `quorum` and the name of a witness or group")
	}
	return p.policy, nil
}

type parser struct {
	policy  *Policy
	names   map[string]*member
	keys    map[string]bool // kind and public key
	decided bool            // there is a quorum
}

func (p *parser) line(line string) error {
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errors.New("it has a control character")
	}
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	switch word, rest := words[0], words[1:]; {
	case word == "log" && (len(rest) == 1 || len(rest) == 2):
		return p.log(rest[0])
	case word == "witness" && (len(rest) == 2 || len(rest) == 3):
		return p.witness(rest[0], rest[1], strings.Join(rest[2:], ""))
	case word == "group" && len(rest) >= 3:
		return p.group(rest[0], rest[1], rest[2:])
	case word == "quorum" && len(rest) == 1:
		return p.quorum(rest[0])
	}
	return fmt.Errorf("%.80q is none of `log KEY`, `witness NAME KEY`, `group NAME all|any|NUMBER NAME...` and `quorum NAME|none`", strings.Join(words, " "))
}

func (p *parser) log(key string) error {
	verifier, err := logVerifier(key)
	if err != nil {
		return fmt.Errorf("%.120q is not the public key of a log, as name+hash+base64", key)
	}
	p.policy.Logs = append(p.policy.Logs, Log{key, verifier})
	return p.once("log", key)
}

func logVerifier(key string) (note.Verifier, error) {
	if quantum, err := cosign.NewQuantum(key); err == nil {
		return quantum, nil
	}
	return note.NewVerifier(key)
}

func (p *parser) witness(name, key, url string) error {
	verifier, err := cosign.NewVerifier(key)
	if err != nil {
		return fmt.Errorf("witness %.80s: %w", name, err)
	}
	p.policy.Witnesses = append(p.policy.Witnesses, Witness{name, key, url, verifier})
	return errors.Join(p.once("witness", key), p.define(&member{name: name}))
}

// once refuses a public key that two lines have, whatever they call it.
func (p *parser) once(kind, key string) error {
	public := kind + strings.SplitN(key, "+", 3)[2]
	if p.keys[public] {
		return fmt.Errorf("another line has the key of this %s", kind)
	}
	p.keys[public] = true
	return nil
}

func (p *parser) define(m *member) error {
	if m.name == none || p.names[m.name] != nil {
		return fmt.Errorf("the name %.80s has another meaning already", m.name)
	}
	p.names[m.name] = m
	return nil
}

func (p *parser) group(name, need string, members []string) error {
	g := &member{name: name}
	for _, of := range members {
		m := p.names[of]
		switch {
		case m == nil:
			return fmt.Errorf("no line before it defines %.80s", of)
		case m.taken:
			return fmt.Errorf("%.80s is in a group already", of)
		}
		m.taken = true
		g.members = append(g.members, m)
	}
	switch need {
	case "any":
		g.need = 1
	case "all":
		g.need = len(members)
	default:
		n, err := cosign.ParseSize(need)
		if err != nil || n < 1 || n > int64(len(members)) {
			return fmt.Errorf("%.40q is neither all nor any nor a number from 1 to %d", need, len(members))
		}
		g.need = int(n)
	}
	return p.define(g)
}

func (p *parser) quorum(name string) error {
	if p.decided {
		return errors.New("another line says which quorum it asks for")
	}
	p.decided = true
	p.policy.quorum = p.names[name]
	if name != none && p.policy.quorum == nil {
		return fmt.Errorf("no line before it defines %.80s", name)
	}
	return nil
}

// Check returns nil if the witnesses that cosigned a head, by their names in the policy, are the quorum. The error names who is missing.
func (p *Policy) Check(cosigned map[string]bool) error {
	q := p.quorum
	switch {
	case q == nil || q.met(cosigned):
		return nil
	case q.need == 0:
		return fmt.Errorf("the witness %s did not cosign the head, and the policy requires it", q.name)
	}
	var lack []string
	for _, m := range q.members {
		if !m.met(cosigned) {
			lack = append(lack, m.name)
		}
	}
	return fmt.Errorf("%d of the %d members of the group %s cosigned the head, and the policy requires %d: %s did not",
		len(q.members)-len(lack), len(q.members), q.name, q.need, strings.Join(lack, ", "))
}

func (m *member) met(cosigned map[string]bool) bool {
	if m.need == 0 {
		return cosigned[m.name]
	}
	met := 0
	for _, below := range m.members {
		if below.met(cosigned) {
			met++
		}
	}
	return met >= m.need
}

// LogOf returns the log with a public key, as name+hash+base64; ok is false if the policy does not trust it.
func (p *Policy) LogOf(key string) (log Log, ok bool) {
	for _, log := range p.Logs {
		if log.Key == key {
			return log, true
		}
	}
	return log, false
}

// Text writes the policy for the keys of a log, one of them perhaps of ML-DSA-44, and its witnesses: more than half of them
// must have cosigned a head. The error says that witnesses share a name or key.
func Text(logs []string, witnesses ...Witness) (string, error) {
	var b strings.Builder
	for _, log := range logs {
		fmt.Fprintf(&b, "log %s\n", log)
	}
	var names []string
	for _, w := range witnesses {
		fmt.Fprintf(&b, "witness %s %s %s\n", w.Name, w.Key, w.URL)
		names = append(names, w.Name)
	}
	switch len(names) {
	case 0:
		fmt.Fprintln(&b, "quorum none")
	case 1:
		fmt.Fprintln(&b, "quorum", names[0])
	default:
		fmt.Fprintf(&b, "group witnesses %d %s\nquorum witnesses\n", len(names)/2+1, strings.Join(names, " "))
	}
	_, err := Parse(b.String())
	return b.String(), err
}
