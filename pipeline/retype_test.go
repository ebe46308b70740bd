package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestRetyped changes the type of one field, however it is written, and no other byte.
func TestRetyped(t *testing.T) {
	const text = "name: orders # ünïcode: int\nsources:\n  in:\n    csv: {path: a.csv}\n    schema:\n      fields:\n        id: int\n        \"größe\": int?  # why\n" +
		"        price: {min: 0, type: decimal, max: 9}\n        quoted: \"int\"\n        long:\n          optional: true\n          type: date\nsinks: {out: {csv: {path: b.csv}}}\n"
	doc, err := pipeline.Load("a.yaml", []byte(text), pipeline.Environment{})
	require.NoError(t, err)
	for field, change := range map[string][2]string{
		"id": {"id: int", "id: string?"}, "größe": {"\"größe\": int?", "\"größe\": string?"}, "price": {"type: decimal", "type: string?"}, "long": {"type: date", "type: string?"},
	} {
		changed, is := doc.Retyped("in", field, "string?")
		require.True(t, is, field)
		require.Equal(t, strings.Replace(text, change[0], change[1], 1), string(changed))
	}
	for _, field := range []string{"quoted", "absent"} {
		_, is := doc.Retyped("in", field, "string")
		require.False(t, is, field)
	}
	_, is := doc.Retyped("other", "id", "string")
	require.False(t, is)
}
