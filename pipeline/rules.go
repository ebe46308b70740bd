package pipeline

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
)

// textKind says how a text of the document is read.
type textKind string

const (
	// plainText has its references replaced, but no secrets; one that looks like a number or a bool is refused.
	plainText textKind = ""
	sentText  textKind = "sent"   // the same with secrets: the text goes to a host, and nowhere else
	nameText  textKind = "name"   // the same without references: the name of a node or a field
	pathText  textKind = "path"   // like plain: where files are is recorded
	queryText textKind = "query"  // SQL, without secrets: it is recorded; a reference stands for a literal
	exactText textKind = "exact"  // the text of a value, kept as written (1.10 stays 1.10), without references
	slotKind  textKind = "slot"   // the same with references to a slot
	secretRef textKind = "secret" // one ${secret:NAME}, kept as written: its value is looked up when it is needed
	exprText  textKind = "expr"   // an expression, kept as written, without references
)

// fieldRule is what the tags of a struct field say about a key of the document. Both the decoder and JSONSchema go by it:
//
//	yaml:"key,omitempty"   the key; without omitempty it is required; ",inline" lifts the keys of a struct
//	text:"name"            a textKind, of the text itself or of the texts in a list or mapping
//	words:"auto none"      the texts that are allowed
//	range:"1 1000"         the least and the greatest number, size or length of time, written as the document writes them
//	one:"format"           exactly one of the keys with this word is given
type fieldRule struct {
	key      string
	owner    string // the struct and the field, as the code names them
	field    string
	typ      reflect.Type
	index    []int // for reflect.Value.FieldByIndex
	required bool
	text     textKind
	words    []string
	limits   []string // least and greatest, or nil
	one      string

	inList bool // the rule of a list's elements
}

// rulesOf returns the rules of the struct's fields that have a key, in order.
func rulesOf(t reflect.Type) []fieldRule {
	var rules []fieldRule
	for i := range t.NumField() {
		field := t.Field(i)
		key, options, tagged := strings.Cut(field.Tag.Get("yaml"), ",")
		if key == "" && !tagged {
			continue
		}
		if options == "inline" {
			for _, inner := range rulesOf(field.Type) {
				inner.index = slices.Concat(field.Index, inner.index)
				rules = append(rules, inner)
			}
			continue
		}
		rules = append(rules, fieldRule{
			key: key, owner: t.Name(), field: field.Name, typ: field.Type, index: field.Index, required: options != "omitempty",
			text: textKind(field.Tag.Get("text")), words: strings.Fields(field.Tag.Get("words")),
			limits: strings.Fields(field.Tag.Get("range")), one: field.Tag.Get("one"),
		})
	}
	return rules
}

// Operations returns the keys of a step of which it has one, in the order of Step.
func Operations() []string {
	var keys []string
	for _, rule := range rulesOf(reflect.TypeFor[Step]()) {
		if rule.one == "operation" {
			keys = append(keys, rule.key)
		}
	}
	return keys
}

// element returns the rule of the elements of a list.
func (r fieldRule) element() fieldRule {
	r.inList, r.limits = true, nil
	return r
}

// orNone ends what a message says about a missing value, if the key may be absent.
func (r fieldRule) orNone() string {
	if r.required {
		return ""
	}
	return ", or leave the key out"
}

// within reports whether n is within the limits, if there are any.
func (r fieldRule) within(n int64) bool {
	if len(r.limits) == 0 {
		return true
	}
	least, greatest := r.bounds()
	return least <= n && n <= greatest
}

// bounds returns the limits of a rule that has them. A limit that cannot be read is a mistake in a tag, and panics.
func (r fieldRule) bounds() (least, greatest int64) {
	return r.bound(r.limits[0]), r.bound(r.limits[1])
}

// bound reads a limit as a value of the field is read.
func (r fieldRule) bound(text string) int64 {
	value := reflect.New(r.typ)
	target, ok := value.Interface().(encoding.TextUnmarshaler)
	if !ok {
		target = new(ByteSize)
		value = reflect.ValueOf(target)
	}
	if err := target.UnmarshalText([]byte(text)); err != nil {
		panic("pipeline: range of " + r.key + ": " + err.Error())
	}
	return value.Elem().Int()
}
