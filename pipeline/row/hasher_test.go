package row

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What a Hasher returns of rows that are made one of the other is the hash of what AppendCanonical writes, whatever is
// added, replaced, left out, renamed or put elsewhere, of short and of long rows.
func TestHasherHashesTheCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Hasher
		current, change := genRow(8).Draw(t, "row"), Change{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			form := AppendCanonical(nil, current)
			require.Equal(t, sha256.Sum256(form), h.Sum(current, change), "%s", form)
			next, from := drawNext(t, current)
			current, change = next, ChangeOf(current.Shape, next.Shape, from)
			if rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
				h.Forget()
			}
		}
	})
}

// drawNext draws a row that is made of another one, and says from which of its positions each value is.
func drawNext(t *rapid.T, of Row) (next Row, from []int) {
	names := rapid.OneOf(genString(), rapid.StringMatching(`[a-z]{1,3}`))
	var fields []string
	add := func(name string, position int) {
		if !slices.Contains(fields, name) {
			fields, from = append(fields, name), append(from, position)
		}
	}
	for i, name := range of.Shape.Fields() {
		switch rapid.IntRange(0, 9).Draw(t, "field") {
		case 0: // is left out
		case 1:
			add(names.Draw(t, "new name"), i)
		case 2:
			add(name, -1)
		default:
			add(name, i)
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		add(names.Draw(t, "name"), -1)
	}
	if rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0 { // fields get each other's values
		from = rapid.Permutation(from).Draw(t, "values")
	}
	next = Row{Shape: NewShape(fields), Values: make([]Value, len(fields))}
	for i := range from {
		switch {
		case from[i] >= 0:
			next.Values[i] = of.Values[from[i]]
		case rapid.IntRange(0, 3).Draw(t, "length") == 0:
			next.Values[i] = StringValue(strings.Repeat("long ", rapid.IntRange(0, 400).Draw(t, "words")))
		default:
			next.Values[i] = genValue().Draw(t, "value")
		}
	}
	return next, from
}

// A field that is added costs itself, wherever it stands: none of those around it is written again.
func TestHasherWritesWhatChanged(t *testing.T) {
	before := NewShape([]string{"d", "b", "f"})
	for _, name := range []string{"a", "c", "e", "g"} {
		var h Hasher
		r := Row{Shape: before, Values: []Value{IntValue(4), IntValue(2), IntValue(6)}}
		h.Sum(r, Change{})
		r = Row{Shape: NewShape(append(before.Fields(), name)), Values: append(r.Values, IntValue(7))}
		h.Sum(r, ChangeOf(before, r.Shape, []int{0, 1, 2, -1}))
		require.Equal(t, `,"`+name+`":7`, string(h.made))
	}
}

// SHA-256 gets the bytes of a long row from the last mark before a change on.
func TestHasherHashesFromTheChangeOn(t *testing.T) {
	shape := NewShape([]string{"a", "b", "c"})
	long := StringValue(strings.Repeat("x", 3*markEvery))
	var h Hasher
	h.Sum(Row{Shape: shape, Values: []Value{long, IntValue(1), long}}, Change{})
	require.Len(t, h.marks, 6*markBytes)
	h.form[100]++ // which nobody looks at again
	got := h.Sum(Row{Shape: shape, Values: []Value{long, IntValue(2), long}}, ChangeOf(shape, shape, []int{0, -1, 2}))
	require.Equal(t, sha256.Sum256(AppendCanonical(nil, Row{Shape: shape, Values: []Value{long, IntValue(2), long}})), got)
}

// BenchmarkHasher replaces one field of a row, or all of them.
func BenchmarkHasher(b *testing.B) {
	for _, fields := range []int{10, 50, 150} {
		var names []string
		values := make([]Value, fields)
		for i := range fields {
			names, values[i] = append(names, fmt.Sprintf("field_%03d", i)), IntValue(int64(1000*i))
		}
		r := Row{Shape: NewShape(names), Values: values}
		for name, change := range map[string]Change{"first": {0, fields - 1}, "last": {fields - 1, 0}, "all": {}} {
			b.Run(fmt.Sprintf("%s of %d", name, fields), func(b *testing.B) {
				var h Hasher
				h.Sum(r, Change{})
				b.SetBytes(int64(len(h.form)))
				b.ReportAllocs()
				for b.Loop() {
					h.Sum(r, change)
				}
			})
		}
	}
}
