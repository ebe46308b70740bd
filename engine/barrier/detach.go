package barrier

import (
	"strings"

	"waymark/pipeline/row"
)

// cellBytes is what a value takes besides its text.
const cellBytes = 32

// valueBytes returns how much memory the values take, about.
func valueBytes(values []row.Value) int {
	bytes := len(values) * cellBytes
	for _, value := range values {
		bytes += len(value.Text())
	}
	return bytes
}

// detach returns the value with text of its own, so that it does not keep that of a whole chunk in memory.
func detach(value row.Value) row.Value { return withText(value, strings.Clone(value.Text())) }

// detachValues returns the values with memory of their own; their texts are together in one.
func detachValues(values []row.Value) []row.Value {
	var all strings.Builder
	for _, value := range values {
		all.WriteString(value.Text())
	}
	text := all.String()
	detached := make([]row.Value, len(values))
	for i, value := range values {
		n := len(value.Text())
		detached[i] = withText(value, text[:n])
		text = text[n:]
	}
	return detached
}

// withText returns the value with another copy of its text.
func withText(value row.Value, text string) row.Value {
	switch value.Kind() {
	case row.String:
		return row.StringValue(text)
	case row.Decimal, row.JSON:
		parsed, err := row.Parse(value.Kind(), text)
		if err != nil {
			panic("barrier: a value is not in its own form: " + err.Error()) // against the contract of row.Value
		}
		return parsed
	}
	return value
}
