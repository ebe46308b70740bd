package landscape

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked is a source that counts what is read. Each Node and each Run that it has is called so.
type asked struct {
	source
	reads int
	names []string
}

func (c *asked) Read(_ context.Context, kind Record, q Query, yield func(Record) bool) error {
	c.reads++
	for i, name := range c.names {
		var record Record = Node{Node: name}
		if _, is := kind.(Run); is {
			record = Run{RunHead: RunHead{ID: name}}
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
	once := (&Reader{from: c}).Once()
	read := func(kind Record, q Query, most int) (found []Record) {
		require.NoError(t, once.Read(t.Context(), kind, q, func(r Record) bool {
			found = append(found, r)
			return len(found) < most
		}))
		return found
	}
	of := Query{Prefix: []any{"a"}}
	require.Empty(t, read(Node{}, of, 9))
	c.names = []string{"one", "two"}
	require.Len(t, read(Node{}, of, 9), 2, "it came")
	require.Equal(t, 2, c.reads)
	require.Len(t, read(Node{}, of, 9), 2)
	require.Len(t, read(Node{}, of, 1), 1)
	require.Equal(t, 2, c.reads)
	require.Len(t, read(Node{}, Query{Prefix: []any{"a"}, Limit: 1}, 9), 1, "another question")
	require.Equal(t, 3, c.reads)
	require.Len(t, read(Node{}, Query{Prefix: []any{"b"}}, 1), 1)
	require.Len(t, read(Node{}, Query{Prefix: []any{"b"}}, 9), 2, "it was not read to its end")
	require.Equal(t, 5, c.reads)
	for range 3 {
		require.Len(t, read(Run{}, of, 9), 2)
	}
	require.Equal(t, 8, c.reads, "a run changes")
	for _, prefix := range [][]any{{"a", int64(5963018)}, {"a", int64(5963019)}, {"a", "5963018"}, {"a 5963018"}, {"a", "", "b"}, {"a", "b", ""}} {
		reads := c.reads
		read(Node{}, Query{Prefix: prefix}, 9)
		read(Node{}, Query{After: prefix}, 9)
		require.Equal(t, reads+2, c.reads, "each is another question: %#v", prefix)
	}
	for i := range 2 * mostKnown {
		read(Node{}, Query{Prefix: []any{i}}, 9)
	}
	require.Len(t, once.from.(*onceSource).known, mostKnown)
	reads := c.reads
	require.Len(t, read(Node{}, of, 9), 2, "so long ago")
	require.Equal(t, reads+1, c.reads)
}
