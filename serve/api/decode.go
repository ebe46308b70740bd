package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/client/remote"
)

// mostDepth is how deep a body may be nested.
const mostDepth = 64

// decode reads the body of a request into what v points to. JSON is read strictly: a name that the route does not know, or in another case, or twice, and bytes
// that are no UTF-8 are refused, with a pointer to the place.
func decode(r *http.Request, v any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return problem(http.StatusUnsupportedMediaType, wrongMedia, "send the body as application/json, and say so with Content-Type")
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return unread(err)
	}
	if !utf8.Valid(text) {
		return problem(http.StatusBadRequest, malformed, "the body is not in UTF-8")
	}
	reader := strictReader{Decoder: json.NewDecoder(bytes.NewReader(text))}
	reader.UseNumber()
	if err := reader.value("", reflect.TypeOf(v).Elem(), 0); err != nil {
		return err
	}
	if _, err := reader.Token(); !errors.Is(err, io.EOF) {
		return problem(http.StatusBadRequest, malformed, "something follows the JSON value of the body")
	}
	return misfit(json.Unmarshal(text, v))
}

// misfit says which value of a body does not fit.
func misfit(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case ok:
		pointer := "/" + strings.ReplaceAll(wrong.Field, ".", "/")
		return faulty(strings.TrimSuffix(pointer, "/"), fmt.Sprintf("%s cannot be here: write %s", jsonText(wrong.Value), kindText(wrong.Type)))
	}
	return problem(http.StatusBadRequest, malformed, err.Error())
}

// jsonText names a value of JSON, as encoding/json calls its kind.
func jsonText(kind string) string {
	switch word, _, _ := strings.Cut(kind, " "); word {
	case "object", "array":
		return "an " + word
	case "bool":
		return "true or false"
	default:
		return "a " + word
	}
}

// kindText names a type as JSON does.
func kindText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "an array"
	}
	return "a whole number"
}

// faulty is a problem with one place of a body.
func faulty(pointer, detail string) *remote.Problem {
	p := problem(http.StatusBadRequest, malformed, fmt.Sprintf("%s: %s", cmpPointer(pointer), detail))
	p.Errors = []remote.PointerFault{{Pointer: pointer, Detail: detail}}
	return p
}

func cmpPointer(pointer string) string {
	if pointer == "" {
		return "the body"
	}
	return pointer
}

// strictReader looks through JSON for what encoding/json lets pass.
type strictReader struct{ *json.Decoder }

// value reads one value, which is to be of a type; nil for any.
func (s *strictReader) value(pointer string, t reflect.Type, depth int) error {
	if depth > mostDepth {
		return faulty(pointer, fmt.Sprintf("it is nested deeper than %d levels", mostDepth))
	}
	if t == reflect.TypeFor[json.RawMessage]() { // it is looked through later
		var raw json.RawMessage
		return closing(s.Decode(&raw), s.InputOffset())
	}
	token, err := s.Token()
	if err != nil {
		return problem(http.StatusBadRequest, malformed, fmt.Sprintf("the body is no JSON: %v, at byte %d", err, s.InputOffset()))
	}
	switch token {
	case json.Delim('{'):
		return s.object(pointer, t, depth)
	case json.Delim('['):
		return s.array(pointer, t, depth)
	}
	return nil
}

func (s *strictReader) object(pointer string, t reflect.Type, depth int) error {
	seen := map[string]bool{}
	for s.More() {
		token, err := s.Token()
		if err != nil {
			return problem(http.StatusBadRequest, malformed, fmt.Sprintf("the body is no JSON: %v, at byte %d", err, s.InputOffset()))
		}
		name, ok := token.(string)
		if !ok {
			return problem(http.StatusBadRequest, malformed, fmt.Sprintf("the body is no JSON at byte %d", s.InputOffset()))
		}
		at := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if seen[name] {
			return faulty(at, "it is there twice")
		}
		seen[name] = true
		below, known := memberOf(t, name)
		if !known {
			return faulty(at, "there is no such member: "+membersText(t))
		}
		if err := s.value(at, below, depth+1); err != nil {
			return err
		}
	}
	_, err := s.Token()
	return closing(err, s.InputOffset())
}

func (s *strictReader) array(pointer string, t reflect.Type, depth int) error {
	var below reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		below = t.Elem()
	}
	for i := 0; s.More(); i++ {
		if err := s.value(pointer+"/"+strconv.Itoa(i), below, depth+1); err != nil {
			return err
		}
	}
	_, err := s.Token()
	return closing(err, s.InputOffset())
}

func closing(err error, at int64) error {
	if err != nil {
		return problem(http.StatusBadRequest, malformed, fmt.Sprintf("the body is no JSON: %v, at byte %d", err, at))
	}
	return nil
}

// memberOf returns the type of a member of a type; nil for any. known is false if it has no such member.
func memberOf(t reflect.Type, name string) (below reflect.Type, known bool) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil, true
	}
	for _, m := range membersOf(t) {
		if m.name == name {
			return m.kind, true
		}
	}
	return nil, false
}

// membersText lists the members of a type.
func membersText(t reflect.Type) string {
	var names []string
	for _, m := range membersOf(t) {
		names = append(names, m.name)
	}
	return "the members are " + strings.Join(names, ", ")
}

// A member is one of the JSON of a struct.
type member struct {
	name     string
	kind     reflect.Type
	optional bool // it may be left out
	depth    int  // in how many embedded structs it is
}

// membersOf returns the members of a struct, by the rules of encoding/json: of those with one name the one in the fewest embedded structs.
func membersOf(t reflect.Type) []member {
	var all []member
	for i := range t.NumField() {
		field := t.Field(i)
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && tag == "" {
			below, pointed := field.Type, false
			if below.Kind() == reflect.Pointer {
				below, pointed = below.Elem(), true
			}
			for _, m := range membersOf(below) {
				m.optional, m.depth = m.optional || pointed, m.depth+1
				all = append(all, m)
			}
		} else if tag != "-" && field.IsExported() {
			all = append(all, member{cmp.Or(tag, field.Name), field.Type, strings.Contains(options, "omit"), 0})
		}
	}
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.depth, b.depth)) })
	return slices.CompactFunc(all, func(a, b member) bool { return a.name == b.name })
}
