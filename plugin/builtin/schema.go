package builtin

import (
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// schema is a document's Schema, ready for parsers.
type schema struct {
	declared []pipeline.Named[pipeline.Field]
	fields   []field // in the same order
	open     bool    // rows may carry fields that are not declared
}

// field is one declared field.
type field struct {
	name     string
	from     string // the column or key
	label    string // from as a key of JSON, with its colon
	kind     row.Kind
	optional bool
	rules    []rule
}

// newSchema prepares a document's schema. Its errors name the field.
func newSchema(spec pipeline.Schema) (schema, error) {
	s := schema{declared: spec.Fields}
	switch spec.InForce() {
	case pipeline.ModeFixed:
		if len(spec.Fields) == 0 {
			return s, fmt.Errorf("schema: mode fixed needs fields")
		}
	case pipeline.ModeFlexible, pipeline.ModeObserved:
		s.open = true
	default:
		return s, fmt.Errorf("schema.mode: %q is not fixed, flexible or observed", spec.Mode)
	}
	for _, declared := range spec.Fields {
		f, err := newField(declared.Name, declared.Value)
		if err == nil {
			err = s.refuseTwice(f)
		}
		if err != nil {
			return s, fmt.Errorf("schema.fields.%s: %w", declared.Name, err)
		}
		s.fields = append(s.fields, f)
	}
	return s, nil
}

func newField(name string, spec pipeline.Field) (field, error) {
	kind, ok := row.ParseKind(spec.Type)
	if !ok || kind == row.Null {
		return field{}, fmt.Errorf("type %q is not string, int, float, bool, date, timestamp, decimal or json", spec.Type)
	}
	rules, err := newRules(kind, spec)
	f := field{name: name, from: spec.From, kind: kind, optional: spec.Optional, rules: rules}
	if f.from == "" {
		f.from = name
	}
	f.label = string(append(row.AppendJSONValue(nil, row.StringValue(f.from)), ':'))
	return f, err
}

// refuseTwice fails if f has the name or the column of a field before it.
func (s *schema) refuseTwice(f field) error {
	for _, other := range s.fields {
		if f.name == other.name {
			return fmt.Errorf("is declared twice")
		}
		if f.from == other.from {
			return fmt.Errorf("%q is read into %q already", f.from, other.name)
		}
	}
	return nil
}

// names returns the names of the declared fields followed by others.
func (s *schema) names(others []string) []string {
	names := make([]string, 0, len(s.fields)+len(others))
	for i := range s.fields {
		names = append(names, s.fields[i].name)
	}
	return append(names, others...)
}

// named returns the declared field with this name, or nil.
func (s *schema) named(name string) *field {
	i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &s.fields[i]
}
