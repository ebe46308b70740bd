package pipeline

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"

	"waymark/pipeline/row"
)

// The modes of a schema. Stored; never rename.
const (
	ModeFixed    = "fixed"    // the declared fields and no others
	ModeFlexible = "flexible" // the declared fields, and others as they come
	ModeObserved = "observed" // whatever comes
)

// InForce returns the mode: the one that is written, otherwise fixed if there are fields and observed if there are none.
func (s Schema) InForce() string {
	switch {
	case s.Mode != "":
		return s.Mode
	case len(s.Fields) > 0:
		return ModeFixed
	default:
		return ModeObserved
	}
}

func (l *loader) checkSchema(path string, schema Schema) {
	fields := Key(path, "fields")
	switch {
	case schema.Mode == ModeObserved && len(schema.Fields) > 0:
		l.report(Key(path, "mode"), "observed takes whatever comes: write flexible, or delete fields")
	case schema.Mode != "" && schema.Mode != ModeObserved && l.doc.find(fields) == nil:
		l.report(Key(path, "mode"), "%s needs fields", schema.Mode)
	}
	origins := map[string]string{}
	for _, field := range schema.Fields {
		at := Key(fields, field.Name)
		origin := field.Value.origin(field.Name)
		if other, twice := origins[origin]; twice {
			l.report(at, "the fields %s and %s both come from %s", quote(other), quote(field.Name), quote(origin))
		}
		origins[origin] = field.Name
		if field.Value.Type != "" {
			l.checkField(at, field.Value)
		}
	}
}

func (l *loader) checkField(path string, field Field) {
	l.checkPattern(Key(path, "pattern"), field)
	l.checkRangeOf(path, field)
	for i, text := range field.Enum {
		if _, err := row.Parse(field.Kind(), text); err != nil {
			l.report(Item(Key(path, "enum"), i), "%s", err)
		}
	}
}

func (l *loader) checkPattern(path string, field Field) {
	if field.Pattern == "" {
		return
	}
	if field.Kind() != row.String {
		l.report(path, "only a string can have a pattern, not type %s", field.Type)
	}
	if strings.ContainsRune(field.Pattern, '\b') {
		l.report(path, "holds a backspace, which \\b is in double quotes: write the pattern in single quotes")
	} else if _, err := regexp.Compile(field.Pattern); err != nil {
		l.report(path, "%s", err)
	}
}

// checkRangeOf reports limits that are not values, and a least value above the greatest.
func (l *loader) checkRangeOf(path string, field Field) {
	least, hasLeast := l.limit(Key(path, "min"), field, field.Min)
	greatest, hasGreatest := l.limit(Key(path, "max"), field, field.Max)
	if hasLeast && hasGreatest && compare(least, greatest) > 0 {
		l.report(Key(path, "min"), "is greater than max")
	}
}

// limit returns a min or max as a value: of the field's kind, or an int for the length of a string.
func (l *loader) limit(path string, field Field, text *string) (row.Value, bool) {
	if text == nil {
		return row.Value{}, false
	}
	kind := field.Kind()
	switch kind {
	case row.Bool, row.JSON:
		l.report(path, "type %s has no least and no greatest value", field.Type)
		return row.Value{}, false
	case row.String:
		kind = row.Int
	}
	value, err := row.Parse(kind, *text)
	if err != nil {
		l.report(path, "%s", err)
		return row.Value{}, false
	}
	if field.Kind() == row.String && value.Int() < 0 {
		l.report(path, "of a string is a length, which is never negative")
		return row.Value{}, false
	}
	return value, true
}

// compare orders two values of one kind that has limits.
func compare(a, b row.Value) int {
	switch a.Kind() {
	case row.Float:
		return cmp.Compare(a.Float(), b.Float())
	case row.Decimal:
		return decimal.RequireFromString(a.Text()).Cmp(decimal.RequireFromString(b.Text()))
	default:
		return cmp.Or(cmp.Compare(a.Int(), b.Int()), cmp.Compare(a.Nanos(), b.Nanos()))
	}
}
