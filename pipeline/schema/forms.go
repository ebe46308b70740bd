package schema

import "slices"

// object is a JSON object.
type object = map[string]any

// simple are the types of JSON Schema, Table Schema and CSVW for the values of one type.
var simple = map[string]struct{ json, format, table, csvw string }{
	"bool":      {"boolean", "", "boolean", "boolean"},
	"int":       {"integer", "", "integer", "long"},
	"float":     {"number", "", "number", "double"},
	"decimal":   {"number", "", "number", "decimal"},
	"string":    {"string", "", "string", "string"},
	"date":      {"string", "date", "date", "date"},
	"timestamp": {"string", "date-time", "datetime", "dateTimeStamp"},
	"json":      {"", "", "any", "json"},
}

// JSONSchema returns a JSON Schema (2020-12) of a row as JSON.
func (s *Schema) JSONSchema(title string) object {
	properties, required := object{}, []string{}
	for i := range s.Fields {
		f := &s.Fields[i]
		properties[f.Name] = f.jsonSchema()
		if !f.Missing {
			required = append(required, f.Name)
		}
	}
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "type": "object",
		"properties": properties, "required": required, "additionalProperties": s.Others,
	}
}

// jsonSchema describes the values of the field.
func (f *Field) jsonSchema() object {
	var types, formats []string
	for _, name := range f.Types {
		as := simple[name]
		if as.json == "" {
			return object{}
		}
		types = append(types, as.json)
		if as.json == "string" {
			formats = append(formats, as.format)
		}
	}
	if f.Nullable {
		types = append(types, "null")
	}
	slices.Sort(types)
	described := object{"type": append([]string{}, slices.Compact(types)...)}
	if len(types) == 0 { // there was no row
		described = object{}
	}
	if len(formats) == 1 && formats[0] != "" {
		described["format"] = formats[0]
	}
	return described
}

// TableSchema returns a Table Schema of Frictionless Data; other gives for a field the type of its column, "" if that
// follows from its values.
func (s *Schema) TableSchema(other func(*Field) string) object {
	fields := []object{}
	for i := range s.Fields {
		f := &s.Fields[i]
		described := object{"name": f.Name, "type": "any"}
		if column := other(f); column != "" {
			described["type"] = column
		} else if len(f.Types) == 1 {
			described["type"] = simple[f.Types[0]].table
		}
		if !f.Nullable && len(f.Types) > 0 {
			described["constraints"] = object{"required": true}
		}
		fields = append(fields, described)
	}
	return object{"fields": fields}
}

// CSVW returns a description of CSV files in the vocabulary of CSV on the Web. delimiter stands between their cells, and title gives how the header names a field. A text that is never null is not said to
// be required, because an empty one is taken for null there.
func (s *Schema) CSVW(delimiter string, title func(string) string, files []string) object {
	columns := []object{}
	for i := range s.Fields {
		f := &s.Fields[i]
		described := object{"titles": title(f.Name), "datatype": "string"}
		if len(f.Types) == 1 {
			described["datatype"] = simple[f.Types[0]].csvw
		}
		if !f.Nullable && len(f.Types) > 0 && described["datatype"] != "string" {
			described["required"] = true
		}
		columns = append(columns, described)
	}
	tables := []object{}
	for _, file := range files {
		tables = append(tables, object{"url": file})
	}
	return object{
		"@context": "http://www.w3.org/ns/csvw", "dialect": object{"delimiter": delimiter, "encoding": "utf-8", "header": true},
		"tables": tables, "tableSchema": object{"columns": columns},
	}
}
