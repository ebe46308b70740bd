package landscape

import (
	"bytes"
	"cmp"
	"slices"
)

// CompareKeys orders two keys, or the first columns of both, whose values are those of Table.AppendValues, as the databases do: by column; NULL comes before
// numbers, text and bytes.
func CompareKeys(a, b []any) int { return slices.CompareFunc(a, b, CompareValues) }

// CompareValues orders two values of one column, as CompareKeys does.
func CompareValues(a, b any) int {
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b)
		}
	case []byte:
		if b, ok := b.([]byte); ok {
			return bytes.Compare(a, b)
		}
	}
	return cmp.Compare(rank(a), rank(b))
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case int64:
		return 1
	case string:
		return 2
	default:
		return 3
	}
}
