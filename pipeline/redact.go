package pipeline

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// minRedacted is the length in bytes below which a value is not looked for in texts: replacing every "a" would destroy
// the text and tell the value.
const minRedacted = 6

// hiddenValue is a value that came in by a reference.
type hiddenValue struct {
	name, value string
}

// hide notes that the text at path holds the value.
func (d *Document) hide(path, name, value string) {
	if value == "" {
		return
	}
	h := hiddenValue{name, value}
	if len(value) < minRedacted {
		d.hiddenAt = append(d.hiddenAt, hiddenAt{path, h})
	} else if !slices.Contains(d.hidden, h) {
		d.hidden = append(d.hidden, h)
	}
}

// hiddenAt is a short hidden value in the text at path.
type hiddenAt struct {
	path string
	hiddenValue
}

// SecretAt is a secret in a text of a document. It must not be stored or printed.
type SecretAt struct{ Path, Name, Value string }

// SecretsAt returns the secrets in the text at the path, and below it, in the order of the document's keys.
func (d *Document) SecretsAt(path string) (found []SecretAt) {
	for _, h := range d.secretsAt {
		if rest, below := strings.CutPrefix(h.path, path); below && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			found = append(found, SecretAt{h.path, h.name, h.value})
		}
	}
	return found
}

// Redact returns text with every secret and environment value that the document uses replaced by [secret NAME]: the
// value itself and its forms in URLs, base64, hex, JSON and quoted Go text. Values of fewer than 6 bytes are left, as they
// could be any part of any text; Problem replaces them where the document uses them.
func (d *Document) Redact(text string) string { return redact(text, d.hidden) }

// conceal redacts a message about the path: long values, and the short ones that come in at or below the path.
func (d *Document) conceal(path, message string) string {
	hidden := slices.Clone(d.hidden)
	for _, h := range d.hiddenAt {
		if strings.HasPrefix(h.path, path) && !slices.Contains(hidden, h.hiddenValue) {
			hidden = append(hidden, h.hiddenValue)
		}
	}
	return redact(message, hidden)
}

// redact replaces in one pass, so that no replacement is looked through again; longer forms come first.
func redact(text string, hidden []hiddenValue) string {
	if len(hidden) == 0 {
		return text
	}
	var all []hiddenValue
	for _, h := range hidden {
		for _, form := range encodedForms(h.value) {
			all = append(all, hiddenValue{h.name, form})
		}
	}
	slices.SortStableFunc(all, func(a, b hiddenValue) int { return cmp.Compare(len(b.value), len(a.value)) })
	pairs := make([]string, 0, 2*len(all))
	for _, h := range all {
		pairs = append(pairs, h.value, "[secret "+h.name+"]")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// encodedForms returns the value and the forms in which services and libraries repeat it.
func encodedForms(value string) []string {
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value), unquoted(strconv.Quote(value))}
	if quoted, err := json.Marshal(value); err == nil {
		forms = append(forms, unquoted(string(quoted)))
	}
	digits := hex.EncodeToString([]byte(value))
	forms = append(forms, digits, strings.ToUpper(digits))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, base64Forms(encoding, value)...)
	}
	return forms
}

func unquoted(text string) string { return text[1 : len(text)-1] }

// base64Forms returns what base64 text of anything that contains the value has in common: for each of the three places
// at which the value can begin in a group of three bytes, the characters that depend on the value alone.
func base64Forms(encoding *base64.Encoding, value string) []string {
	forms := []string{encoding.EncodeToString([]byte(value))}
	for shift := range 3 {
		encoded := encoding.EncodeToString(append(make([]byte, shift), value...))
		first, last := (shift*8+5)/6, (shift+len(value))*8/6
		if last-first >= minRedacted {
			forms = append(forms, encoded[first:last])
		}
	}
	return forms
}
