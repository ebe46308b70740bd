package pipeline

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// orderedMap is implemented by *Map[T].
type orderedMap interface {
	// add appends an entry and returns a pointer to its value, good until the next call.
	add(name string) any
}

func (m *Map[T]) add(name string) any {
	*m = append(*m, Named[T]{Name: name})
	return &(*m)[len(*m)-1].Value
}

// shortForm is implemented by structs and lists that can also be written as one text.
type shortForm interface {
	fromText(text string) error
	// shortTexts returns the texts that fromText takes; nil means any.
	shortTexts() []string
}

// listForm is implemented by structs that can also be written as a list of texts, which are kept as written.
type listForm interface {
	elements() *[]string
}

// wordForm is implemented by shortForms whose mapping stands for one of their words.
type wordForm interface {
	fromMapping()
}

// decode sets v, which is addressable, from the node. What it cannot set it reports and leaves zero.
func (l *loader) decode(path string, n *node, v reflect.Value, rule fieldRule) {
	if n.kind == nullNode && (rule.text != exprText || n.text != "null") {
		l.report(path, "has no value: give one%s", rule.orNone())
		return
	}
	switch target := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		l.decodeSize(path, n, target, v, rule)
		return
	case orderedMap:
		l.decodeMap(path, n, target, rule)
		return
	case listForm:
		if n.kind == listNode {
			l.decodeList(path, n, reflect.ValueOf(target.elements()).Elem(), fieldRule{text: exactText})
			return
		}
	case shortForm:
		if n.kind == scalarNode {
			l.decodeShort(path, n, target)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		l.decodePointer(path, n, v, rule)
	case reflect.Struct:
		if word, ok := v.Addr().Interface().(wordForm); ok {
			word.fromMapping()
		}
		l.decodeStruct(path, n, v)
	case reflect.Slice:
		l.decodeList(path, n, v, rule)
	case reflect.String:
		if text, ok := l.text(path, n, rule); ok {
			v.SetString(text)
		}
	case reflect.Int:
		l.decodeInt(path, n, v, rule)
	case reflect.Bool:
		l.decodeBool(path, n, v)
	default:
		panic("pipeline: the document has a field of type " + v.Type().String())
	}
}

// decodePointer leaves the pointer nil for a scalar with a problem, so that nobody takes "" for its value.
func (l *loader) decodePointer(path string, n *node, v reflect.Value, rule fieldRule) {
	before, value := len(l.problems)+l.dropped, reflect.New(v.Type().Elem())
	l.decode(path, n, value.Elem(), rule)
	if value.Elem().Kind() == reflect.Struct || len(l.problems)+l.dropped == before {
		v.Set(value)
	}
}

func (l *loader) decodeStruct(path string, n *node, v reflect.Value) {
	if n.kind != mappingNode {
		l.report(path, "expects %sa mapping of keys to values, not %s", orText(v), n.describe())
		return
	}
	rules := rulesOf(v.Type())
	meant := l.checkKeys(path, n, rules)
	for _, rule := range rules {
		if child := n.child(rule.key, -1); child != nil {
			l.decode(Key(path, rule.key), child, v.FieldByIndex(rule.index), rule)
		} else if rule.required && !slices.Contains(meant, rule.key) {
			l.report(path, "the key %q is missing", rule.key)
		}
	}
	l.checkOne(path, n, rules, meant)
}

// orText begins what a message says that a value should be if that may be a text as well.
func orText(v reflect.Value) string {
	switch v.Addr().Interface().(type) {
	case shortForm:
		return "a text or "
	case listForm:
		return "a list or "
	}
	return ""
}

// checkKeys reports unknown keys. It returns what was probably meant by each, so that it is not reported as missing.
func (l *loader) checkKeys(path string, n *node, rules []fieldRule) (meant []string) {
	var known []string
	for _, rule := range rules {
		known = append(known, rule.key)
	}
	for _, entry := range n.entries {
		if slices.Contains(known, entry.key) {
			continue
		}
		nearest := Nearest(entry.key, known)
		meant = append(meant, nearest)
		l.doc.unknownKeys = append(l.doc.unknownKeys, path)
		cure := fmt.Sprintf(" (did you mean %q?)", nearest)
		if nearest == "" {
			cure = "; known are " + strings.Join(known, ", ")
		}
		l.reportAt(entry.line, entry.column, path, "unknown key %s%s", quote(entry.key), cure)
	}
	return meant
}

// checkOne reports groups of which not exactly one key is given. With an unknown key in the mapping, none is no problem
// of its own.
func (l *loader) checkOne(path string, n *node, rules []fieldRule, meant []string) {
	var group string
	var all, given []string
	for _, rule := range rules {
		if rule.one == "" {
			continue
		}
		group, all = rule.one, append(all, rule.key)
		if n.child(rule.key, -1) != nil {
			given = append(given, rule.key)
		}
	}
	switch {
	case len(given) > 1:
		l.report(path, "has %s, but exactly one %s is allowed", strings.Join(given, " and "), group)
	case len(all) > 0 && len(given) == 0 && len(meant) == 0:
		l.report(path, "has no %s: give exactly one of %s", group, strings.Join(all, ", "))
	}
}

func (l *loader) decodeMap(path string, n *node, target orderedMap, rule fieldRule) {
	if n.kind != mappingNode {
		l.report(path, "expects a mapping of names to values, not %s", n.describe())
		return
	}
	if !n.written {
		l.report(path, "is empty: give at least one entry%s", rule.orNone())
	}
	for _, entry := range n.entries {
		l.decode(Key(path, entry.key), entry.value, reflect.ValueOf(target.add(entry.key)).Elem(), rule)
	}
}

func (l *loader) decodeList(path string, n *node, v reflect.Value, rule fieldRule) {
	if n.kind != listNode {
		l.report(path, "expects %sa list, such as [a, b], not %s", orText(v), n.describe())
		return
	}
	if len(n.items) == 0 {
		l.report(path, "is empty: give at least one element%s", rule.orNone())
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	seen := map[string]bool{}
	for i, item := range n.items {
		element := v.Index(i)
		l.decode(Item(path, i), item, element, rule.element())
		if element.Kind() != reflect.String || item.kind != scalarNode {
			continue
		}
		if text := element.String(); seen[text] {
			l.report(Item(path, i), "%s is listed twice", quote(text))
		} else {
			seen[text] = true
		}
	}
}

func (l *loader) decodeShort(path string, n *node, target shortForm) {
	text, ok := l.text(path, n, fieldRule{text: nameText})
	if !ok {
		return
	}
	if err := target.fromText(text); err != nil {
		l.report(path, "%s", err)
	}
}

func (l *loader) decodeSize(path string, n *node, target encoding.TextUnmarshaler, v reflect.Value, rule fieldRule) {
	plain := *n
	plain.quoted = false // 8MiB is a text to YAML as well
	text, ok := l.typedText(path, &plain, "a size or a duration", nil)
	if !ok {
		return
	}
	if err := target.UnmarshalText([]byte(text)); err != nil {
		l.report(path, "%s", err)
	} else {
		l.checkRange(path, text, v.Int(), rule)
	}
}

// failure is parse without what it returns besides the error.
func failure[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

func (l *loader) decodeInt(path string, n *node, v reflect.Value, rule fieldRule) {
	text, ok := l.typedText(path, n, "an integer", failure(parseInt))
	if !ok {
		return
	}
	number, err := parseInt(text)
	if err != nil {
		l.report(path, "%s", err)
		return
	}
	v.SetInt(number)
	l.checkRange(path, text, number, rule)
}

func (l *loader) checkRange(path, text string, number int64, rule fieldRule) {
	if !rule.within(number) {
		l.report(path, "must be at least %s and at most %s, not %s", rule.limits[0], rule.limits[1], text)
	}
}

func (l *loader) decodeBool(path string, n *node, v reflect.Value) {
	text, ok := l.typedText(path, n, "true or false", failure(parseBool))
	if !ok {
		return
	}
	truth, err := parseBool(text)
	if err != nil {
		l.report(path, "%s", err)
		return
	}
	v.SetBool(truth)
}
