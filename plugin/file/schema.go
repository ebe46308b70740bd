package file

import (
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// Schema is a document's Schema, ready for parsers.
type Schema struct {
	Fields []Field // that are declared, in the document's order
	Open   bool    // rows may carry fields that are not declared

	declared []pipeline.Named[pipeline.Field]
}

// Field is one declared field.
type Field struct {
	Name     string
	From     string // the column or key
	Label    string // From as a key of JSON, with its colon
	Kind     row.Kind
	Optional bool

	rules []rule
}

// NewSchema prepares a document's schema. Its errors name the field.
func NewSchema(spec pipeline.Schema) (Schema, error) {
	s := Schema{declared: spec.Fields}
	switch spec.InForce() {
	case pipeline.ModeFixed:
		if len(spec.Fields) == 0 {
			return s, fmt.Errorf("schema: mode fixed needs fields")
		}
	case pipeline.ModeFlexible, pipeline.ModeObserved:
		s.Open = true
	default:
		return s, fmt.Errorf("schema.mode: %q is not fixed, flexible or observed", spec.Mode)
	}
	for _, declared := range spec.Fields {
		f, err := newField(declared.Name, declared.Value)
		if err == nil {
			err = s.checkTwice(f)
		}
		if err != nil {
			return s, fmt.Errorf("schema.fields.%s: %w", declared.Name, err)
		}
		s.Fields = append(s.Fields, f)
	}
	return s, nil
}

func newField(name string, spec pipeline.Field) (Field, error) {
	kind, ok := row.ParseKind(spec.Type)
	if !ok || kind == row.Null {
		return Field{}, fmt.Errorf("type %q is not string, int, float, bool, date, timestamp, decimal or json", spec.Type)
	}
	rules, err := newRules(kind, spec)
	f := Field{Name: name, From: spec.From, Kind: kind, Optional: spec.Optional, rules: rules}
	if f.From == "" {
		f.From = name
	}
	f.Label = string(append(row.AppendJSONValue(nil, row.StringValue(f.From)), ':'))
	return f, err
}

// checkTwice fails if f has the name or the column of a field before it.
func (s *Schema) checkTwice(f Field) error {
	for _, other := range s.Fields {
		if f.Name == other.Name {
			return fmt.Errorf("is declared twice")
		}
		if f.From == other.From {
			return fmt.Errorf("%q is read into %q already", f.From, other.Name)
		}
	}
	return nil
}

// Names returns the names of the declared fields followed by others.
func (s *Schema) Names(others []string) []string {
	names := make([]string, 0, len(s.Fields)+len(others))
	for i := range s.Fields {
		names = append(names, s.Fields[i].Name)
	}
	return append(names, others...)
}

// Named returns the declared field with this name, or nil.
func (s *Schema) Named(name string) *Field {
	i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Fields[i]
}

// Declared returns the declared fields as the document has them, and whether rows may carry others: what plugin.Source.Fields wants.
func (s *Schema) Declared() (fields []pipeline.Named[pipeline.Field], open bool) {
	return slices.Clone(s.declared), s.Open
}
