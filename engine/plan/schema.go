package plan

import (
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// clone returns the same rows with fields of their own.
func (s Schema) clone() Schema {
	s.Fields = slices.Clone(s.Fields)
	return s
}

// put sets the field of this name, or adds it.
func (s *Schema) put(field expr.Field) {
	if i := s.find(field.Name); i != None {
		s.Fields[i] = field
		return
	}
	s.Fields = append(s.Fields, field)
}

// field finds a field by name. It reports a name that no row can have.
func (c *compiler) field(in Schema, name, path string) int {
	i := in.find(name)
	if i != None || in.Open {
		return i
	}
	names := in.Names()
	if nearest := pipeline.Nearest(name, names); nearest != "" {
		c.problem(path, "no field named %q (did you mean %q?)", name, nearest)
	} else {
		c.problem(path, "no field named %q; the rows here have: %s", name, strings.Join(names, ", "))
	}
	return None
}

// fields finds the fields of a list, in its order. One that is not declared, of rows that may have others, is of any type.
func (c *compiler) fields(in Schema, names []string, path string) []expr.Field {
	var found []expr.Field
	for k, name := range names {
		at := pipeline.Item(path, k)
		if !c.doc.Sound(at) {
			continue
		}
		if field, ok := c.fieldAt(in, name, at); ok {
			found = append(found, field)
		}
	}
	return found
}

// fieldAt finds one field as fields does.
func (c *compiler) fieldAt(in Schema, name, path string) (field expr.Field, found bool) {
	switch i := c.field(in, name, path); {
	case i != None:
		return in.Fields[i], true
	case in.Open:
		return untyped(name), true
	}
	return expr.Field{}, false
}

// merge describes rows that come by several edges: fields that all have keep their kind, and a field that only some have
// makes the result open.
func merge(inputs []Schema) (Schema, error) {
	if len(inputs) == 0 {
		return Schema{}, nil
	}
	merged := inputs[0].clone()
	for _, input := range inputs[1:] {
		merged.unknown = merged.unknown || input.unknown
		kept := merged.Fields[:0]
		for _, field := range merged.Fields {
			i := input.find(field.Name)
			if i == None {
				merged.Open = true
				continue
			}
			other := input.Fields[i]
			switch {
			case other.Kind == row.Null:
				field.Kind = row.Null
			case field.Kind != row.Null && other.Kind != field.Kind:
				return Schema{}, fmt.Errorf("%q is %s by one way and %s by another", field.Name, field.Kind, other.Kind)
			}
			field.Optional = field.Optional || other.Optional
			field.Untyped = field.Untyped || other.Untyped
			kept = append(kept, field)
		}
		merged.Open = merged.Open || input.Open || len(input.Fields) > len(kept)
		merged.Fields = kept
	}
	return merged, nil
}
