package pipeline

import (
	"bytes"
	"slices"
	"strings"
)

// FieldTypes returns the types that a field may have, as documents write them.
func FieldTypes() []string { return slices.Clone(fieldTypes) }

// Retyped returns the text of the document in which a field of a source has another type; nothing else in it changes. It is false if the document does not declare the field, or in a way
// that cannot be changed in one place.
func (d *Document) Retyped(source, field, kind string) ([]byte, bool) {
	at := Key(Key(Key(Key("sources", source), "schema"), "fields"), field)
	n := d.find(at)
	if n != nil && n.kind == mappingNode {
		n = d.find(Key(at, "type"))
	}
	if n == nil || n.kind != scalarNode || n.quoted || n.text == "" {
		return nil, false
	}
	lines := bytes.SplitAfter(d.Source, []byte{'\n'})
	if n.line > len(lines) {
		return nil, false
	}
	line := []rune(string(lines[n.line-1]))
	before, behind := string(line[:min(n.column-1, len(line))]), string(line[min(n.column-1, len(line)):])
	rest, there := strings.CutPrefix(behind, n.text)
	if !there {
		return nil, false
	}
	lines[n.line-1] = []byte(before + kind + rest)
	return bytes.Join(lines, nil), true
}
