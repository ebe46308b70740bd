package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
)

// TestChunksOfManyHashesHaveFewerRows holds that what steps add to a chunk is counted, in every kind of token that a row
// becomes, and that a document which says how many rows a chunk has gets them.
func TestChunksOfManyHashesHaveFewerRows(t *testing.T) {
	steps := func(n int, first, names string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "  - {name: %s%d%s, set: {f%d: row.id + %d}}\n", names, i, first, i, i)
			first = ""
		}
		return text.String()
	}
	branches := "  - {name: copies, fork: [a, b, c]}\n" + steps(30, ", from: a", "a") + steps(30, ", from: b", "b") + steps(30, ", from: c", "c")
	for name, c := range map[string]struct {
		steps string
		rows  int
	}{
		"as many as fit":                    {steps(19, "", "s"), plan.DefaultChunkRows},
		"one more, and the source":          {steps(20, "", "s"), 30 * 1024},
		"many":                              {steps(150, "", "s"), 4 * 1024},
		"more than a slice has room for":    {steps(1000, "", "s"), 1024},
		"branches":                          {branches, 7 * 1024},
		"behind a barrier":                  {"  - {name: by, sort: {by: {id: asc}}}\n" + steps(150, "", "s"), 4 * 1024},
		"on both sides of it, each its own": {steps(19, "", "s") + "  - {name: by, sort: {by: {id: asc}}}\n" + steps(20, "", "t"), plan.DefaultChunkRows},
	} {
		t.Run(name, func(t *testing.T) {
			sinks := "sinks: {out: {jsonl: {path: o}}}\n"
			if c.steps == branches {
				sinks = "sinks: {o: {jsonl: {path: o}, from: a29}, p: {jsonl: {path: p}, from: b29}, q: {jsonl: {path: q}, from: c29}}\n"
			}
			compiled, err := compile(t, source+"steps:\n"+c.steps+sinks)
			require.NoError(t, err)
			require.Equal(t, c.rows, compiled.Chunk.Rows)
			compiled, err = compile(t, source+"chunk: {rows: 20000}\nsteps:\n"+c.steps+sinks)
			require.NoError(t, err)
			require.Equal(t, 20_000, compiled.Chunk.Rows)
		})
	}
}
