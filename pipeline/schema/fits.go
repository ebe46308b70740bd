package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline/row"
)

// FitsJSON says why an object, whose numbers are a json.Number, is no row of the schema.
func (s *Schema) FitsJSON(object map[string]any) error {
	found := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		value, has := object[f.Name]
		switch {
		case !has && !f.Missing:
			return fmt.Errorf("it has no %q", f.Name)
		case !has:
			continue
		case !f.fitsJSON(value):
			return fmt.Errorf("its %q is not %s", f.Name, f.Text())
		}
		found++
	}
	if found < len(object) && !s.Others {
		return fmt.Errorf("it has fields that are not in the schema: %d", len(object)-found)
	}
	return nil
}

func (f *Field) fitsJSON(value any) bool {
	switch value := value.(type) {
	case nil:
		return f.Nullable
	case bool:
		return f.has("bool", "json")
	case json.Number:
		return f.has("float", "decimal", "json") || f.has("int") && !strings.ContainsAny(string(value), ".eE")
	case string:
		return f.has("string", "json") || f.has("date") && fits("date", value) || f.has("timestamp") && fits("timestamp", value)
	}
	return f.has("json")
}

// FitsHeader says why the first line of a CSV file is not that of the schema. What a spreadsheet would run may be escaped.
func (s *Schema) FitsHeader(cells []string) error {
	for i := range s.Fields {
		if name := s.Fields[i].Name; i >= len(cells) || cells[i] != name && cells[i] != "'"+name {
			return fmt.Errorf("it has no column %q in place %d", name, i+1)
		}
	}
	if more := len(cells) - len(s.Fields); more > 0 {
		return fmt.Errorf("it has columns that are not in the schema: %d", more)
	}
	return nil
}

// FitsCells says why cells of a CSV file are no row of the schema. An empty one may be null or an empty text.
func (s *Schema) FitsCells(cells []string) error {
	if len(cells) != len(s.Fields) {
		return fmt.Errorf("it has %d cells, and the schema %d columns", len(cells), len(s.Fields))
	}
	for i, cell := range cells {
		f := &s.Fields[i]
		typed := func(name string) bool { return fits(name, cell) }
		if !f.has("string") && (cell != "" || !f.Nullable) && !slices.ContainsFunc(f.Types, typed) {
			return fmt.Errorf("its %q is not %s", f.Name, f.Text())
		}
	}
	return nil
}

func (f *Field) has(types ...string) bool {
	return slices.ContainsFunc(types, func(name string) bool { return slices.Contains(f.Types, name) })
}

// fits reports whether the text is a value of the type.
func fits(name, text string) bool {
	kind, known := row.ParseKind(name)
	_, err := row.Parse(kind, text)
	return known && err == nil
}
