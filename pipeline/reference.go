package pipeline

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReferenceKind is where the value of a reference comes from. Stored; never rename.
type ReferenceKind string

// The kinds of references.
const (
	EnvReference    ReferenceKind = "env"
	SecretReference ReferenceKind = "secret"
	ParamReference  ReferenceKind = "param"
	SlotReference   ReferenceKind = "slot" // in defaults of parameters alone: the record has the parameter's value
)

// Reference is something outside of the document that its texts refer to. It never holds the value.
type Reference struct {
	Kind ReferenceKind `json:"kind"`
	Name string        `json:"name"`
	// Fingerprint is the first 16 hex digits of HMAC-SHA256 of the value under Environment.FingerprintKey: equal for
	// equal values, and of no use to somebody without the key. It is empty for a parameter, whose value is in Params.
	Fingerprint string `json:"fingerprint,omitempty"`
	// From says that the value is one of an environment, such as environment prod#12; else it is empty.
	From string `json:"from,omitempty"`
}

// maxExpandedBytes is how much text the references of one document may bring in.
const maxExpandedBytes = 4 << 20

// fingerprintDigits is how much of a fingerprint is kept: enough to notice a change, too little to be a stand-in for it.
const fingerprintDigits = 16

func fingerprint(key []byte, value string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil))[:fingerprintDigits]
}

// span is a piece of a text: literal text, or a reference if kind is set.
type span struct {
	kind ReferenceKind
	text string // the literal text, or the reference's name
}

var (
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	otherName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)
)

// splitSpans cuts a text into literal text, in which $${ is turned into ${, and references. The error says what is wrong
// with a reference, and how to write it.
func splitSpans(text string) ([]span, error) {
	var spans []span
	literal := ""
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			return append(spans, span{text: literal + text}), nil
		}
		if start > 0 && text[start-1] == '$' {
			literal, text = literal+text[:start-1]+"${", text[start+2:]
			continue
		}
		inner, rest, closed := strings.Cut(text[start+2:], "}")
		if !closed {
			return nil, errors.New("a reference has no closing }; write $${ for a literal ${")
		}
		reference, err := parseReference(inner)
		if err != nil {
			return nil, err
		}
		spans = append(spans, span{text: literal + text[:start]}, reference)
		literal, text = "", rest
	}
}

func parseReference(inner string) (span, error) {
	kind, name, _ := strings.Cut(inner, ":")
	switch {
	case (kind == "secret" || kind == "param") && otherName.MatchString(name):
		return span{ReferenceKind(kind), name}, nil
	case kind == "slot" && name != "":
		return parseSlotReference(name)
	case envName.MatchString(inner):
		return span{EnvReference, inner}, nil
	case envName.MatchString(kind) && strings.HasPrefix(name, "-"):
		return span{}, fmt.Errorf("${%s} has a default, which references cannot have: declare a parameter with a default and write ${param:NAME}", shorten(inner))
	}
	return span{}, fmt.Errorf("%s is not a reference: write ${NAME}, ${secret:NAME} or ${param:NAME}, and $${ for a literal ${", quote("${"+inner+"}"))
}

// splitReferences returns the text with $${ turned into ${, and its references.
func splitReferences(text string) (literal string, references []span, err error) {
	spans, err := splitSpans(text)
	for _, s := range spans {
		if s.kind == "" {
			literal += s.text
		} else {
			references = append(references, s)
		}
	}
	return literal, references, err
}

// expand replaces the references of the text at path. It reports what is wrong and then returns false.
func (l *loader) expand(path, text string) (string, bool) {
	return l.expandAs(path, text, func(_ span, value string) string { return value })
}

// expandAs does so with what write makes of each reference's value.
func (l *loader) expandAs(path, text string, write func(s span, value string) string) (string, bool) {
	spans, err := splitSpans(text)
	if err != nil {
		l.report(path, "%s", err)
		return "", false
	}
	var expanded, unvaried, bare strings.Builder
	ok := true
	for _, s := range spans {
		value, found := s.text, true
		if s.kind != "" {
			if value, found = l.lookUp(path, s); found {
				value = write(s, value)
			}
		}
		expanded.WriteString(value)
		ok = ok && found && l.spend(path, len(value))
		for kind, without := range map[ReferenceKind]*strings.Builder{
			ParamReference: &unvaried, SecretReference: &bare,
		} {
			if s.kind == kind {
				without.WriteString("x")
			} else {
				without.WriteString(value)
			}
		}
		if !ok && expanded.Len() > maxExpandedBytes {
			return "", false
		}
	}
	if ok && len(spans) > 1 {
		if l.doc.expanded == nil {
			l.doc.expanded = map[string]expansion{}
		}
		l.doc.expanded[path] = expansion{expanded.String(), unvaried.String(), bare.String()}
	}
	return expanded.String(), ok
}

// spend counts the bytes that references bring in, so that a small document cannot ask for gigabytes.
func (l *loader) spend(path string, bytes int) bool {
	within := l.expanded <= maxExpandedBytes
	l.expanded += bytes
	if within && l.expanded > maxExpandedBytes {
		l.report(path, "the references of the document bring in more than %d bytes", maxExpandedBytes)
	}
	return l.expanded <= maxExpandedBytes
}

func (l *loader) lookUp(path string, s span) (string, bool) {
	switch s.kind {
	case ParamReference:
		return l.lookUpParam(path, s.text)
	case SlotReference:
		l.report(path, "${%s}: only the default of a parameter refers to a slot: declare params: {day: {type: date, default: \"${slot:date}\"}} and write ${param:day}", s.name())
		return "", false
	}
	value, shown := l.env.Values[s.text]
	shown = shown && s.kind == EnvReference
	var err error
	if !shown {
		value, err = l.fetch(s)
	}
	if err != nil {
		l.report(path, "%s", err)
		return "", false
	}
	if !utf8.ValidString(value) || strings.Contains(value, "\x00") {
		l.report(path, "the value of ${%s} is not a text: it has bytes that are not UTF-8, or a NUL", s.name())
		return "", false
	}
	if len(l.env.FingerprintKey) == 0 {
		l.report(path, "${%s} needs a fingerprint key, without which its value cannot be put on record safely: give one with --fingerprint-key-file or WAYMARK_FINGERPRINT_KEY", s.name())
		return "", false
	}
	reference := Reference{Kind: s.kind, Name: s.text, Fingerprint: fingerprint(l.env.FingerprintKey, value)}
	if shown {
		reference.From = "environment " + l.env.ValuesOf
	} else {
		l.doc.hide(path, s.text, value)
	}
	if s.kind == SecretReference {
		l.doc.secretsAt = append(l.doc.secretsAt, hiddenAt{path, hiddenValue{s.text, value}})
	}
	l.note(reference)
	return value, true
}

// name returns what stands between ${ and } in the document.
func (s span) name() string {
	if s.kind == EnvReference {
		return s.text
	}
	return string(s.kind) + ":" + s.text
}

// pipeline is the name of the document's pipeline, as it is written; it is checked elsewhere.
func (l *loader) pipeline() string {
	if name := l.doc.root.child("name", -1); name != nil {
		return name.text
	}
	return ""
}

func (l *loader) fetch(s span) (string, error) {
	if s.kind == SecretReference {
		if l.env.Secret == nil {
			return "", fmt.Errorf("there is no store of secrets to take ${%s} from", s.name())
		}
		value, err := l.env.Secret(l.pipeline(), s.text)
		if err != nil {
			return "", fmt.Errorf("${%s}: %s", s.name(), oneLine(err.Error()))
		}
		return value, nil
	}
	if l.env.MayRead != nil && !l.env.MayRead(s.text) {
		secret := ""
		if l.sends {
			secret = "; or write ${secret:NAME}"
		}
		return "", fmt.Errorf("the environment variable %s is none that this worker gives to documents: its "+
			"operator can, with --allow-env %[1]s%s%s", s.text, secret, l.orValue(s.text))
	}
	if l.env.Env != nil {
		if value, set := l.env.Env(s.text); set {
			return value, nil
		}
	}
	return "", fmt.Errorf("the environment variable %s is not set; set it, or write $${ for a literal ${%s", s.text, l.orValue(s.text))
}

// orValue says how a value of the environment cures that there is no variable; nothing for a document that is deployed in none.
func (l *loader) orValue(name string) string {
	if l.env.ValuesOf == "" {
		return ""
	}
	environment, _, _ := strings.Cut(l.env.ValuesOf, "#")
	return fmt.Sprintf("; or give the environment %s a value, with waymark env set %[1]s %s=VALUE", environment, name)
}

func (l *loader) lookUpParam(path, name string) (string, bool) {
	param, declared := l.params[name]
	if !declared {
		l.report(path, "no parameter named %s%s", quote(name), suggestion(name, slices.Sorted(maps.Keys(l.params))))
		return "", false
	}
	l.note(Reference{Kind: ParamReference, Name: name})
	if !param.ok && len(l.doc.unresolved) < maxProblems {
		l.doc.unresolved = append(l.doc.unresolved, path)
	}
	if n := len(l.doc.varies); n == 0 || l.doc.varies[n-1] != path {
		l.doc.varies = append(l.doc.varies, path)
	}
	return param.text, param.ok
}

// expansion is a text whose references were replaced, and what it would be if every parameter, or every secret, in it
// were the letter x.
type expansion struct{ text, unvaried, bare string }

// Expanded returns the text at the path with its references replaced, and what it would be if every parameter in it
// were the letter x. It must not be stored or printed if there are secrets in it.
func (d *Document) Expanded(path string) (text, unvaried string) {
	found := d.expansionOf(path)
	return found.text, found.unvaried
}

// Bare returns the text at the path with its references replaced, but for secrets: each of them is the letter x.
func (d *Document) Bare(path string) string { return d.expansionOf(path).bare }

func (d *Document) expansionOf(path string) expansion {
	if found, refers := d.expanded[path]; refers {
		return found
	}
	text := ""
	if n := d.find(path); n != nil {
		text, _, _ = splitReferences(n.text)
	}
	return expansion{text, text, text}
}

// Varies reports whether a text at the path, or below it, refers to a parameter.
func (d *Document) Varies(path string) bool {
	return slices.ContainsFunc(d.varies, func(at string) bool { return at == path || strings.HasPrefix(at, path+".") })
}

func (l *loader) note(r Reference) {
	key := Reference{Kind: r.Kind, Name: r.Name}
	if !l.noted[key] {
		l.noted[key] = true
		l.doc.References = append(l.doc.References, r)
	}
}
