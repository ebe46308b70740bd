// Package schema says which fields the rows of an output have, and of which types: as the document declares them and,
// where it does not, as values were seen.
package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/pipeline/row"
)

// Schema describes rows. Its JSON is stored; never rename a member.
type Schema struct {
	Fields []Field `json:"fields"`           // the columns in order; without columns the declared fields, then the others by name
	Others bool    `json:"others,omitempty"` // rows have more fields, which are too many to name
}

// Field is a field of rows, or a column.
type Field struct {
	Name     string   `json:"name"`
	Types    []string `json:"types"`              // of its values, as row.Kind names them, in that order; empty, not nil, if all are null
	Nullable bool     `json:"nullable,omitempty"` // null is a value
	Missing  bool     `json:"missing,omitempty"`  // some rows do not have the field
	Seen     bool     `json:"seen,omitempty"`     // values were looked at, because the document does not declare the field, or says less than they do
}

// fieldOf describes a field whose values are of these kinds. JSON may hold all others.
func fieldOf(name string, kinds Kinds, seen bool) Field {
	f := Field{Name: name, Types: []string{}, Nullable: kinds.has(row.Null), Missing: kinds&Missing != 0, Seen: seen}
	if kinds.has(row.JSON) {
		f.Types = append(f.Types, row.JSON.String())
		return f
	}
	for kind := row.Bool; kind < row.JSON; kind++ {
		if kinds.has(kind) {
			f.Types = append(f.Types, kind.String())
		}
	}
	return f
}

// kinds returns those of the values.
func (f *Field) kinds() (kinds Kinds, err error) {
	for _, name := range f.Types {
		kind, known := row.ParseKind(name)
		if !known {
			return 0, fmt.Errorf("the field %q is said to have the type %q", f.Name, name)
		}
		kinds |= Declared(kind, false)
	}
	if f.Nullable {
		kinds |= 1 << row.Null
	}
	if f.Missing {
		kinds |= Missing
	}
	return kinds, nil
}

// Kinds is a set of kinds of values: of kind k if bit k is set.
type Kinds uint16

// Missing is in the Kinds of a field that some rows do not have. Where rows have columns, what is missing is null.
const Missing Kinds = 1 << (row.JSON + 1)

// anyKind has all kinds of values.
const anyKind = Missing - 1

// Declared returns the kinds of values that a field of the kind may have. Those of a field that is declared as JSON are of any.
func Declared(kind row.Kind, optional bool) Kinds {
	kinds := Kinds(1) << kind
	if kind == row.JSON {
		kinds = anyKind &^ 1
	}
	if optional {
		kinds |= 1 << row.Null
	}
	return kinds
}

func (k Kinds) has(kind row.Kind) bool { return k&(1<<kind) != 0 }

// Parse returns the schema that is stored as text; nil for an empty one.
func Parse(text string) (*Schema, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nothing is known
	}
	s := new(Schema)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, fmt.Errorf("a recorded schema: %w", err)
	}
	return s, nil
}

// String returns the schema as it is stored.
func (s Schema) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts and words are JSON
	}
	return string(text)
}

// Text says for people which fields rows have; empty if that is not known.
func (s *Schema) Text() string {
	if s == nil {
		return ""
	}
	var fields []string
	for i := range s.Fields {
		fields = append(fields, s.Fields[i].Name+": "+s.Fields[i].Text())
	}
	if s.Others {
		fields = append(fields, "and others")
	}
	return strings.Join(fields, ", ")
}

// Layout is what is known of rows before one is written.
type Layout struct {
	Fields  []Known
	Columns bool // rows are written with these fields alone: one that a row lacks is null, and others are left out
}

// Known is a field of which something is known.
type Known struct {
	Name string
	Kinds
}

// With returns the schema of an output: what was known of its rows, and what its parts had beyond that, as Seen.Beyond
// returned it for each part with rows.
func (l Layout) With(parts []string) (Schema, error) {
	seen := newUnion(l)
	for _, text := range parts {
		if err := seen.addPart(text); err != nil {
			return Schema{}, err
		}
	}
	whole := Schema{Fields: []Field{}}
	for i, f := range l.Fields {
		whole.Fields = append(whole.Fields, fieldOf(f.Name, f.Kinds|seen.known[i], f.Kinds == 0 || seen.known[i] != 0))
	}
	whole.Fields, whole.Others = append(whole.Fields, seen.rest()...), seen.others
	return whole, nil
}

// maxOthers is how many fields that are not declared are named, and maxOtherBytes how long their names may be together:
// keys may be data.
const (
	maxOthers     = 1000
	maxOtherBytes = 32 << 10
)

// union puts together what was seen in several parts, or in rows of several shapes.
type union struct {
	at     map[string]int // of the fields of the layout
	known  []Kinds        // of the fields of the layout: what they have beyond it
	more   map[string]*other
	parts  int  // or shapes
	others bool // there are more fields than are named
}

// other is a field that is not in the layout.
type other struct {
	kinds Kinds
	parts int // that have it
}

func newUnion(l Layout) *union {
	u := &union{at: make(map[string]int, len(l.Fields)), known: make([]Kinds, len(l.Fields)), more: map[string]*other{}}
	for i, f := range l.Fields {
		u.at[f.Name] = i
	}
	return u
}

// addPart adds what Seen.Beyond returned.
func (u *union) addPart(text string) error {
	u.parts++
	part, err := Parse(text)
	if part == nil {
		return err
	}
	u.others = u.others || part.Others
	for i := range part.Fields {
		kinds, err := part.Fields[i].kinds()
		if err != nil {
			return err
		}
		u.add(part.Fields[i].Name, kinds)
	}
	return nil
}

// add adds what a part has of a field.
func (u *union) add(name string, kinds Kinds) {
	if i, known := u.at[name]; known {
		u.known[i] |= kinds
		return
	}
	if u.others { // none is named
		return
	}
	if u.more[name] == nil {
		if len(u.more) == maxOthers {
			u.more, u.others = nil, true
			return
		}
		u.more[name] = &other{}
	}
	u.more[name].kinds |= kinds
	u.more[name].parts++
}

// rest returns the fields that are not in the layout, by name; nil if they are too many.
func (u *union) rest() (fields []Field) {
	bytes := 0
	for _, name := range slices.Sorted(maps.Keys(u.more)) {
		found := u.more[name]
		if bytes += len(name); found.parts < u.parts {
			found.kinds |= Missing
		}
		fields = append(fields, fieldOf(name, found.kinds, true))
	}
	if u.others = u.others || bytes > maxOtherBytes; u.others {
		return nil
	}
	return fields
}

// Text says for people which values a field has, such as int, string or null.
func (f *Field) Text() string {
	if f == nil {
		return "no such field"
	}
	words := slices.Clone(f.Types)
	if f.Nullable {
		words = append(words, "null")
	}
	if f.Missing {
		words = append(words, "missing")
	}
	return cmp.Or(strings.Join(words, " or "), "nothing")
}
