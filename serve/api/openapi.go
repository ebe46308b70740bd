package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
)

// openapi describes the API.
func openapi(c *call) (any, error) { return Describe(c.server.Code), nil }

// Describe returns the OpenAPI document of the API, of a version of the program.
func Describe(code string) map[string]any {
	s := schemas{}
	paths := map[string]any{}
	for _, r := range table() {
		path := strings.ReplaceAll(r.path, "...}", "}")
		item, _ := paths[path].(map[string]any)
		if item == nil {
			item = map[string]any{}
			paths[path] = item
		}
		item[strings.ToLower(r.method)] = s.operation(&r)
	}
	s.of(reflect.TypeFor[remote.Problem]())
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "Waymark", "version": code, "license": map[string]any{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Starts runs of pipelines, follows them, gives orders to them, and answers what happened to every row.",
		},
		"paths":    paths,
		"security": []any{map[string]any{"access": []any{}}},
		"components": map[string]any{
			"schemas":         s,
			"securitySchemes": map[string]any{"access": map[string]any{"type": "http", "scheme": "bearer", "description": "An access token, as waymark access grant makes one, or a token of the issuer that the server has."}},
		},
	}
}

var placeholder = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)

// operation describes a route.
func (s schemas) operation(r *route) map[string]any {
	o := map[string]any{"summary": r.about, "operationId": operationID(r)}
	if r.scope == open {
		o["security"] = []any{}
	} else {
		o["description"] = "For the roles " + r.rolesText() + "."
	}
	var params []any
	for _, name := range placeholder.FindAllStringSubmatch(r.path, -1) {
		params = append(params, map[string]any{"name": name[1], "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
	}
	for _, p := range r.query {
		params = append(params, p.described())
	}
	if r.path == "/v1/runs" && r.method == http.MethodPost {
		for name, about := range map[string]string{"Idempotency-Key": "requests with the same one mean the same run, for ever", "Prefer": "wait=SECONDS, at most 60: answer when the run has ended"} {
			params = append(params, map[string]any{"name": name, "in": "header", "description": about, "schema": map[string]any{"type": "string"}})
		}
	}
	if params != nil {
		o["parameters"] = params
	}
	if r.body != nil {
		content := jsonOf("application/json", s.of(reflect.TypeOf(r.body)))
		if r.also != "" {
			content[r.also] = map[string]any{}
		}
		o["requestBody"] = map[string]any{"required": true, "content": content}
	}
	if r.media != "" {
		o["requestBody"] = map[string]any{"required": true, "content": map[string]any{r.media: map[string]any{}}}
	}
	success := map[string]any{"description": r.about}
	switch {
	case r.answer != nil:
		success["content"] = jsonOf("application/json", s.of(reflect.TypeOf(r.answer)))
	case r.stream != "":
		success["content"] = map[string]any{r.stream: map[string]any{}}
	}
	answers := map[string]any{
		statusText(r.status): success,
		"default":            map[string]any{"description": "A problem", "content": jsonOf("application/problem+json", s.of(reflect.TypeFor[remote.Problem]()))},
	}
	if r.status == http.StatusAccepted && r.media == "" {
		answers["200"] = success
	}
	o["responses"] = answers
	return o
}

func statusText(status int) string {
	text, _ := json.Marshal(status)
	return string(text)
}

func jsonOf(media string, schema any) map[string]any {
	return map[string]any{media: map[string]any{"schema": schema}}
}

func (p *param) described() map[string]any {
	schema := map[string]any{"type": "string"}
	if p.number {
		schema = map[string]any{"type": "integer", "minimum": 0}
	}
	if p.values != nil {
		schema["enum"] = p.values
	}
	if p.many {
		schema = map[string]any{"type": "array", "items": schema}
	}
	return map[string]any{"name": p.name, "in": "query", "description": p.about, "schema": schema}
}

// operationID names a route for programs that are generated.
func operationID(r *route) string {
	words := []string{strings.ToLower(r.method)}
	for _, word := range strings.FieldsFunc(r.path, func(c rune) bool { return strings.ContainsRune("/{}.", c) }) {
		if word != "v1" {
			words = append(words, strings.ToUpper(word[:1])+word[1:])
		}
	}
	return strings.Join(words, "")
}

// schemas are JSON schemas by the names of Go types.
type schemas map[string]any

// ready are the schemas of types that encode themselves.
var ready = map[reflect.Type]any{
	reflect.TypeFor[client.Time]():      map[string]any{"type": []any{"string", "null"}, "format": "date-time"},
	reflect.TypeFor[json.RawMessage]():  map[string]any{},
	reflect.TypeFor[landscape.Micros](): map[string]any{"type": "integer"},
}

// of returns the schema of a type.
func (s schemas) of(t reflect.Type) any {
	if known, ok := ready[t]; ok {
		return known
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(s.of(t.Elem()))
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return nullable(map[string]any{"type": "array", "items": s.of(t.Elem())})
	case reflect.Map:
		return nullable(map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())})
	case reflect.Struct:
		return s.structure(t)
	}
	return map[string]any{}
}

func nullable(schema any) any {
	if known, ok := schema.(map[string]any); ok && len(known) == 0 {
		return known
	}
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

var notInNames = regexp.MustCompile(`\[.*[./]|[^A-Za-z0-9]`)

// structure returns a reference to the schema of a struct, and makes it if it is new.
func (s schemas) structure(t reflect.Type) any {
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	name := pkg + "." + notInNames.ReplaceAllString(t.Name(), "")
	reference := map[string]any{"$ref": "#/components/schemas/" + name}
	if _, known := s[name]; known {
		return reference
	}
	schema := map[string]any{"type": "object", "additionalProperties": false}
	s[name] = schema
	members := map[string]any{}
	var required []string
	for _, m := range membersOf(t) {
		members[m.name] = s.of(m.kind)
		if !m.optional {
			required = append(required, m.name)
		}
	}
	schema["properties"] = members
	if required != nil {
		schema["required"] = required
	}
	return reference
}

// Table returns the rows of the table of routes in docs/api.md.
func Table() string {
	var rows strings.Builder
	for _, r := range table() {
		who := r.rolesText()
		switch r.scope {
		case open:
			who = "everybody"
		case anybody, own:
			who = "every role"
		}
		var names []string
		for _, p := range r.query {
			if !slices.ContainsFunc(list, func(common param) bool { return common.name == p.name }) {
				names = append(names, "`"+p.name+"`")
			}
		}
		if len(names) > 0 {
			r.about += ". Parameters: " + strings.Join(names, ", ")
		}
		rows.WriteString("| `" + r.method + " " + r.path + "` | " + who + " | " + strings.ToLower(r.about[:1]) + r.about[1:] + " |\n")
	}
	return rows.String()
}
