package pipeline

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// schemaID names the schema; there is nothing to fetch.
const schemaID = "urn:waymark:pipeline"

// JSONSchema returns the JSON Schema (draft 2020-12) of pipeline documents, for editors: completion, descriptions, and
// most mistakes while typing. It is made of the same structs and tags that Load goes by; every document that Load accepts
// is valid by it, but not the other way round. Equal at every call, and ends with a line end.
func JSONSchema() ([]byte, error) {
	docs, err := fieldDocs()
	if err != nil {
		return nil, err
	}
	w := schemaWriter{docs: docs, defs: map[string]any{}}
	schema := w.mapping(reflect.TypeFor[Pipeline]())
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = schemaID
	schema["title"] = "Waymark pipeline"
	schema["$defs"] = w.defs
	data, err := json.MarshalIndent(schema, "", "  ")
	return append(data, '\n'), err
}

// object is a JSON object; encoding/json writes it with its keys in order.
type object = map[string]any

type schemaWriter struct {
	docs map[string]string // see fieldDocs
	defs object            // a schema for each struct but the document itself
}

// mapping returns the schema of a struct.
func (w schemaWriter) mapping(t reflect.Type) object {
	properties, required := object{}, []string{}
	var group []any
	for _, rule := range rulesOf(t) {
		property := w.value(rule.typ, rule)
		if doc := w.docs[rule.owner+"."+rule.field]; doc != "" {
			property["description"] = doc
		}
		properties[rule.key] = property
		if rule.required {
			required = append(required, rule.key)
		}
		if rule.one != "" {
			group = append(group, object{"required": []string{rule.key}})
		}
	}
	schema := object{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	if group != nil {
		schema["oneOf"] = group
	}
	return schema
}

// value returns the schema of a value of the type, under the rule.
func (w schemaWriter) value(t reflect.Type, rule fieldRule) object {
	target := reflect.New(t).Interface()
	if _, ok := target.(encoding.TextUnmarshaler); ok {
		return object{"type": []string{"integer", "string"}}
	}
	if short, ok := target.(shortForm); ok && t.Kind() == reflect.Slice {
		return object{"anyOf": []any{shortText(short), w.list(t, rule)}}
	}
	if _, ok := target.(orderedMap); ok {
		element, _ := t.Elem().FieldByName("Value")
		return object{"type": "object", "minProperties": 1, "additionalProperties": w.value(element.Type, rule)}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.value(t.Elem(), rule)
	case reflect.Struct:
		return w.reference(t, target)
	case reflect.Slice:
		return w.list(t, rule)
	case reflect.Int:
		return w.integer(rule)
	case reflect.Bool:
		return object{"anyOf": []any{object{"type": "boolean"}, wholeParam()}}
	default:
		return w.text(rule)
	}
}

func (w schemaWriter) list(t reflect.Type, rule fieldRule) object {
	return object{"type": "array", "minItems": 1, "items": w.value(t.Elem(), rule.element())}
}

// reference puts the schema of a struct into the definitions, and returns a reference to it.
func (w schemaWriter) reference(t reflect.Type, target any) object {
	name := strings.ToLower(t.Name())
	if _, done := w.defs[name]; !done {
		schema := w.mapping(t)
		if short, ok := target.(shortForm); ok {
			schema = object{"anyOf": []any{shortText(short), schema}}
		} else if list, ok := target.(listForm); ok {
			schema = object{"anyOf": []any{w.list(reflect.TypeOf(*list.elements()), fieldRule{text: exactText}), schema}}
		}
		w.defs[name] = schema
	}
	return object{"$ref": "#/$defs/" + name}
}

// shortText returns the schema of the text that a value may be written as.
func shortText(short shortForm) object {
	if texts := short.shortTexts(); texts != nil {
		return object{"type": "string", "enum": texts}
	}
	return object{"type": []string{"string", "integer"}}
}

func (w schemaWriter) integer(rule fieldRule) object {
	number := object{"type": "integer"}
	if len(rule.limits) > 0 {
		number["minimum"], number["maximum"] = rule.bounds()
	}
	return object{"anyOf": []any{number, wholeParam()}}
}

// wholeParam returns the schema of a text that stands for a number or a bool.
func wholeParam() object { return object{"type": "string", "pattern": `^\$\{param:[^}]+\}$`} }

// text returns the schema of a text. A value or an expression may be written without quotes, and then is whatever YAML
// takes it for; so may a name or another text that is an integer.
func (w schemaWriter) text(rule fieldRule) object {
	switch {
	case len(rule.words) > 0:
		return object{"anyOf": []any{object{"enum": rule.words}, object{"type": "string", "pattern": `\$\{`}}}
	case rule.text == secretRef:
		return object{"type": "string", "pattern": `^\$\{secret:[^}]+\}$`}
	case rule.text == exprText:
		return object{"type": []string{"string", "number", "boolean", "null"}}
	case rule.text == exactText, rule.text == slotKind:
		return object{"type": []string{"string", "number", "boolean"}}
	default:
		return object{"type": []string{"string", "integer"}}
	}
}
