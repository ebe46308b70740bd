package file

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// rule is one constraint on the values of a field that are not null.
type rule struct {
	text  string // as in the document, such as "min: 1"
	holds func(row.Value) bool
}

// newRules prepares the constraints of a field of this kind.
func newRules(kind row.Kind, spec pipeline.Field) ([]rule, error) {
	var rules []rule
	for _, bound := range []struct {
		word  string
		limit *string
		sign  int // of the comparison of a rejected value with the limit
	}{{"min", spec.Min, -1}, {"max", spec.Max, 1}} {
		if bound.limit == nil {
			continue
		}
		compare, err := comparison(kind, *bound.limit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", bound.word, err)
		}
		holds := func(v row.Value) bool { return compare(v) != bound.sign }
		rules = append(rules, rule{bound.word + ": " + *bound.limit, holds})
	}
	if len(spec.Enum) > 0 {
		r, err := enumRule(kind, spec.Enum)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	if spec.Pattern != "" {
		r, err := patternRule(kind, spec.Pattern)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// comparison returns a function that compares a value of the kind with the limit: -1, 0 or 1. Strings compare by their
// length in characters.
func comparison(kind row.Kind, text string) (func(row.Value) int, error) {
	limitKind := kind
	if kind == row.String {
		limitKind = row.Int
	}
	limit, err := row.Parse(limitKind, text)
	if err != nil {
		return nil, err
	}
	switch kind {
	case row.String:
		return func(v row.Value) int { return cmp.Compare(int64(utf8.RuneCountInString(v.Text())), limit.Int()) }, nil
	case row.Int, row.Date:
		return func(v row.Value) int { return cmp.Compare(v.Int(), limit.Int()) }, nil
	case row.Timestamp:
		return func(v row.Value) int {
			return cmp.Or(cmp.Compare(v.Int(), limit.Int()), cmp.Compare(v.Nanos(), limit.Nanos()))
		}, nil
	case row.Float:
		return func(v row.Value) int { return cmp.Compare(v.Float(), limit.Float()) }, nil
	case row.Decimal:
		number, err := decimal.NewFromString(limit.Text())
		return func(v row.Value) int { return decimal.RequireFromString(v.Text()).Cmp(number) }, err
	}
	return nil, fmt.Errorf("a %s has no order", kind)
}

// enumRule admits the values that texts say. Numbers are compared as numbers: 1.10 is 1.1.
func enumRule(kind row.Kind, texts []string) (rule, error) {
	var same []func(row.Value) bool
	for _, text := range texts {
		want, err := row.Parse(kind, text)
		if err != nil {
			return rule{}, fmt.Errorf("enum: %w", err)
		}
		equal := func(v row.Value) bool { return v == want }
		if kind == row.Float || kind == row.Decimal {
			compare, err := comparison(kind, text)
			if err != nil {
				return rule{}, fmt.Errorf("enum: %w", err)
			}
			equal = func(v row.Value) bool { return compare(v) == 0 }
		}
		same = append(same, equal)
	}
	holds := func(v row.Value) bool {
		for _, equal := range same {
			if equal(v) {
				return true
			}
		}
		return false
	}
	return rule{"enum: " + strings.Join(texts, ", "), holds}, nil
}

// patternRule admits the strings of which the pattern matches the whole.
func patternRule(kind row.Kind, pattern string) (rule, error) {
	if kind != row.String {
		return rule{}, fmt.Errorf("pattern: only a string has one, not a %s", kind)
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return rule{}, fmt.Errorf("pattern: %w", err)
	}
	whole := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	return rule{"pattern: " + pattern, func(v row.Value) bool { return whole.MatchString(v.Text()) }}, nil
}
