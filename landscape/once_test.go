package landscape_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// asked is a driver that counts what is read. Each Node and each Run that it has is called so.
type asked struct {
	landscape.Driver
	reads int
	names []string
}

func (c *asked) Read(
	_ context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) error {
	c.reads++
	for i, name := range c.names {
		var record landscape.Record = landscape.Node{Node: name}
		if _, is := kind.(landscape.Run); is {
			record = landscape.Run{RunHead: landscape.RunHead{ID: name}}
		}
		if q.Limit > 0 && i >= q.Limit || !yield(record) {
			break
		}
	}
	return nil
}

// TestOnce: what never changes is read once, and told as often as somebody asks; what is not there yet, what was not read to its end, and what may change is read again.
func TestOnce(t *testing.T) {
	c := &asked{}
	once := landscape.NewReader(c).Once()
	read := func(kind landscape.Record, q landscape.Query, most int) (found []landscape.Record) {
		require.NoError(t, once.Read(t.Context(), kind, q, func(r landscape.Record) bool {
			found = append(found, r)
			return len(found) < most
		}))
		return found
	}
	of := landscape.Query{Prefix: []any{"a"}}
	require.Empty(t, read(landscape.Node{}, of, 9))
	c.names = []string{"one", "two"}
	require.Len(t, read(landscape.Node{}, of, 9), 2, "it came")
	require.Equal(t, 2, c.reads)
	require.Len(t, read(landscape.Node{}, of, 9), 2)
	require.Len(t, read(landscape.Node{}, of, 1), 1)
	require.Equal(t, 2, c.reads)
	require.Len(t, read(landscape.Node{}, landscape.Query{Prefix: []any{"a"}, Limit: 1}, 9), 1, "another question")
	require.Equal(t, 3, c.reads)
	require.Len(t, read(landscape.Node{}, landscape.Query{Prefix: []any{"b"}}, 1), 1)
	require.Len(t, read(landscape.Node{}, landscape.Query{Prefix: []any{"b"}}, 9), 2, "it was not read to its end")
	require.Equal(t, 5, c.reads)
	for range 3 {
		require.Len(t, read(landscape.Run{}, of, 9), 2)
	}
	require.Equal(t, 8, c.reads, "a run changes")
	for _, prefix := range [][]any{{"a", int64(5963018)}, {"a", int64(5963019)}, {"a", "5963018"}, {"a 5963018"}, {"a", "", "b"}, {"a", "b", ""}} {
		reads := c.reads
		read(landscape.Node{}, landscape.Query{Prefix: prefix}, 9)
		read(landscape.Node{}, landscape.Query{After: prefix}, 9)
		require.Equal(t, reads+2, c.reads, "each is another question: %#v", prefix)
	}
	const kept = 64 // answers
	ask := func(i int) { read(landscape.Node{}, landscape.Query{Prefix: []any{i}}, 9) }
	for i := range 2 * kept {
		ask(i)
	}
	reads := c.reads
	for i := range kept {
		ask(kept + i)
	}
	require.Equal(t, reads, c.reads, "the latest answers are kept")
	ask(kept - 1)
	require.Equal(t, reads+1, c.reads, "and no others")
}
