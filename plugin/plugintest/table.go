package plugintest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/plugin"
)

// Table is a table that targets write into, empty at first, with two text columns of which the first is the key. Its functions fail
// the test they were made for if they cannot do what they are for.
type Table struct {
	Header string
	// Target returns a target as a process of its own would make it.
	Target func(run string) plugin.Target
	// Line returns the bytes of a row.
	Line func(a, b string) string
	// Rows returns the rows that are in the table, as a|b, in the order of the key.
	Rows func() []string
	// Refuse is a value of the second column that the table refuses; "" if it refuses none.
	Refuse string
}

// TestTable runs the contract of plugin.Target, and of plugin.Refuser, against targets that add rows to tables made by newTable. It is
// that of TestTarget, but that rows are visible as soon as their part is written, that they stay after Discard, and that a table takes
// the rows of many runs.
func TestTable(t *testing.T, newTable func(t *testing.T) Table) {
	s := tableSuite{newTable}
	t.Run("Open", s.testOpen)
	t.Run("Write", s.testWrite)
	t.Run("Check", s.testCheck)
	t.Run("Refused", s.testRejected)
	t.Run("Publish", s.testPublish)
	t.Run("Publish refuses", s.testPublishRefuses)
	t.Run("Verify", s.testVerify)
	t.Run("Discard", s.testDiscard)
	t.Run("Cancelled", s.testCancelled)
}

type tableSuite struct {
	newTable func(t *testing.T) Table
}

// written are the rows of the output of run.
var written = []string{"a|1", "b|2", "c|3", "d|4", "e|5", "f|6"}

// run makes a subtest with a table, a target of the run "one", and an output of four parts, one of them without rows.
func (s tableSuite) run(t *testing.T, name string, test func(t *testing.T, p Table, target plugin.RowRejecter, o Output)) {
	t.Run(name, func(t *testing.T) {
		p := s.newTable(t)
		o := NewOutput(p.Header, p.Line("a", "1")+p.Line("b", "2"), p.Line("c", "3")+p.Line("d", "4"), "", p.Line("e", "5")+p.Line("f", "6"))
		o.Parts[2].Rows = 0
		target, ok := p.Target("one").(plugin.RowRejecter)
		require.True(t, ok, "a table refuses rows")
		test(t, p, target, o)
	})
}

func publish(t *testing.T, target plugin.Target, o Output) plugin.Artifact {
	t.Helper()
	artifact, err := target.Publish(t.Context(), o.Header, o.Parts)
	require.NoError(t, err)
	return artifact
}

func (s tableSuite) testOpen(t *testing.T) {
	s.run(t, "makes the place ready", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		require.True(t, open(t, target, o))
		require.NoError(t, p.Target("one").Write(t.Context(), o.Parts[0], o.Data[0]))
	})
	s.run(t, "can be probed, which leaves nothing behind", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		require.NoError(t, target.(plugin.Prober).Probe(t.Context(), o.Header))
		require.True(t, open(t, target, o), "nothing was registered")
	})
	s.run(t, "may be repeated and keeps the parts", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		require.False(t, open(t, target, o))
		require.False(t, open(t, p.Target("one"), o))
		publish(t, target, o)
	})
	s.run(t, "says to one of many that it made the place ready", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		var made atomic.Int64
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				mine, err := p.Target("one").Open(t.Context(), o.Header)
				if err != nil {
					t.Error(err)
				}
				if mine {
					made.Add(1)
				}
			})
		}
		group.Wait()
		require.Equal(t, int64(1), made.Load())
		require.NoError(t, target.Discard(t.Context()))
		require.True(t, open(t, target, o), "after Discard")
	})
	s.run(t, "refuses another header", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		open(t, target, o)
		_, err := target.Open(t.Context(), append([]byte(" "), o.Header...))
		RequireCode(t, targetChanged, err)
	})
}

func (s tableSuite) testWrite(t *testing.T) {
	s.run(t, "takes parts in any order", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		open(t, target, o)
		for _, i := range []int{3, 1, 0, 2} {
			require.NoError(t, target.Write(t.Context(), o.Parts[i], o.Data[i]))
		}
		require.Equal(t, written, p.Rows())
		publish(t, target, o)
	})
	s.run(t, "takes parts twice", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		o.Write(t, target)
		require.Equal(t, written, p.Rows())
		require.Equal(t, int64(len(written)), publish(t, target, o).Rows)
	})
	s.run(t, "takes parts from several processes at once", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				other := p.Target("one")
				if _, err := other.Open(t.Context(), o.Header); err != nil {
					t.Error(err)
				}
				for i, part := range o.Parts {
					if err := other.Write(t.Context(), part, o.Data[i]); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		require.Equal(t, written, p.Rows())
		require.Equal(t, int64(len(written)), publish(t, target, o).Rows)
	})
	s.run(t, "changes nothing once published", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		first := publish(t, target, o)
		require.NoError(t, target.Write(t.Context(), o.Parts[1], o.Data[1]))
		require.Equal(t, first, publish(t, target, o))
		late := NewOutput(p.Header, p.Line("x", "9")+p.Line("y", "9"))
		late.Parts[0].Ordinal = int64(len(o.Parts))
		RequireCode(t, targetChanged, target.Write(t.Context(), late.Parts[0], late.Data[0]))
		require.Equal(t, written, p.Rows())
	})
	s.run(t, "fails where nothing was opened", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		RequireCode(t, targetChanged, target.Write(t.Context(), o.Parts[0], o.Data[0]))
		open(t, p.Target("two"), o)
		RequireCode(t, targetChanged, target.Write(t.Context(), o.Parts[0], o.Data[0]))
		require.Empty(t, p.Rows())
	})
	s.run(t, "refuses bytes that are not the part's", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		open(t, target, o)
		require.Error(t, target.Write(t.Context(), o.Parts[0], o.Data[0][1:]))
		require.Error(t, target.Write(t.Context(), o.Parts[0], o.Data[1]))
		require.Empty(t, p.Rows())
	})
	s.run(t, "refuses other bytes for a part that is there", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		other := NewOutput(p.Header, p.Line("x", "9")+p.Line("y", "9"))
		RequireCode(t, targetChanged, target.Write(t.Context(), other.Parts[0], other.Data[0]))
		require.Equal(t, written, p.Rows())
	})
	s.run(t, "adds the rows of another run", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		publish(t, target, o)
		second := p.Target("two")
		more := NewOutput(p.Header, p.Line("x", "9")+p.Line("y", "9"))
		more.Write(t, second)
		publish(t, second, more)
		require.Equal(t, append(slices.Clone(written), "x|9", "y|9"), p.Rows())
	})
}

func (s tableSuite) testCheck(t *testing.T) {
	check := func(t *testing.T, target plugin.Target, part plugin.Part) plugin.Applied {
		applied, err := target.Check(t.Context(), part)
		require.NoError(t, err)
		return applied
	}
	s.run(t, "says what is there", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		require.Equal(t, plugin.NotApplied, check(t, target, o.Parts[0]), "before Open")
		open(t, target, o)
		require.NoError(t, target.Write(t.Context(), o.Parts[3], o.Data[3]))
		require.Equal(t, plugin.NotApplied, check(t, target, o.Parts[0]), "in front of a part that was written")
		require.Equal(t, plugin.Exactly, check(t, p.Target("one"), o.Parts[3]))
		require.Equal(t, plugin.NotApplied, check(t, p.Target("two"), o.Parts[3]), "of another run")
	})
	s.run(t, "holds after Publish", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		publish(t, target, o)
		for _, part := range o.Parts {
			require.Equal(t, plugin.Exactly, check(t, target, part))
		}
	})
	s.run(t, "tells other bytes", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		other := o.Parts[1]
		other.SHA256[0]++
		_, err := target.Check(t.Context(), other)
		RequireCode(t, targetChanged, err)
	})
}

func (s tableSuite) testRejected(t *testing.T) {
	s.run(t, "is nil where the table took all", func(t *testing.T, _ Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		for _, part := range o.Parts {
			rejected, err := target.Rejected(t.Context(), part)
			require.NoError(t, err)
			require.Nil(t, rejected)
		}
	})
	s.run(t, "fails where the part is not there", func(t *testing.T, _ Table, target plugin.RowRejecter, o Output) {
		_, err := target.Rejected(t.Context(), o.Parts[0])
		require.Error(t, err)
		open(t, target, o)
		_, err = target.Rejected(t.Context(), o.Parts[0])
		RequireCode(t, targetChanged, err)
	})
	s.run(t, "names the rows, for ever", func(t *testing.T, p Table, target plugin.RowRejecter, _ Output) {
		if p.Refuse == "" {
			t.Skip("the table refuses nothing")
		}
		o := NewOutput(p.Header, p.Line("a", p.Refuse)+p.Line("b", "2")+p.Line("c", p.Refuse))
		o.Parts[0].Rows = 3
		o.Write(t, target)
		require.Equal(t, []string{"b|2"}, p.Rows())
		rejected, err := target.Rejected(t.Context(), o.Parts[0])
		require.NoError(t, err)
		require.Len(t, rejected, 2)
		for i, row := range []int64{0, 2} {
			require.Equal(t, row, rejected[i].Row)
			require.NotEmpty(t, rejected[i].Code)
			require.NotEmpty(t, rejected[i].Message)
		}
		o.Write(t, p.Target("one"))
		artifact := publish(t, target, o)
		require.Equal(t, int64(1), artifact.Rows)
		require.Equal(t, o.Parts[0].Bytes, artifact.Bytes)
		again, err := p.Target("one").(plugin.RowRejecter).Rejected(t.Context(), o.Parts[0])
		require.NoError(t, err)
		require.Equal(t, rejected, again)
	})
}

func (s tableSuite) testPublish(t *testing.T) {
	s.run(t, "describes the output", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		artifact := publish(t, target, o)
		require.Equal(t, int64(len(written)), artifact.Rows)
		require.Equal(t, int64(len(o.Whole())-len(o.Header)), artifact.Bytes)
		require.NotEmpty(t, artifact.Path)
		require.Len(t, artifact.SHA256, 64)
	})
	s.run(t, "takes the parts in any order", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		first := publish(t, target, o)
		slices.Reverse(o.Parts)
		require.Equal(t, first, publish(t, target, o))
	})
	s.run(t, "publishes an output without parts", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		open(t, target, o)
		artifact, err := target.Publish(t.Context(), o.Header, nil)
		require.NoError(t, err)
		require.Zero(t, artifact.Rows)
	})
	s.run(t, "may be done again, also by several processes at once", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if _, err := p.Target("one").Publish(t.Context(), o.Header, o.Parts); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		require.Equal(t, publish(t, target, o), publish(t, p.Target("one"), o))
	})
	s.run(t, "gives equal artifacts for equal outputs", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		other := s.newTable(t)
		second := other.Target("two")
		o.Write(t, second)
		require.Equal(t, publish(t, target, o).SHA256, publish(t, second, o).SHA256)
	})
}

func (s tableSuite) testPublishRefuses(t *testing.T) {
	s.run(t, "what was never written", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
	})
	s.run(t, "a part that is missing", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		open(t, target, o)
		for _, i := range []int{0, 1, 2} {
			require.NoError(t, target.Write(t.Context(), o.Parts[i], o.Data[i]))
		}
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
		require.ErrorContains(t, err, fmt.Sprintf("part %d", 3))
	})
	s.run(t, "more than the parts", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		_, err := target.Publish(t.Context(), o.Header, o.Parts[:3])
		RequireCode(t, targetChanged, err)
	})
	s.run(t, "parts with a gap or twice", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		for _, parts := range [][]plugin.Part{o.Parts[1:], {o.Parts[0], o.Parts[3]}, {o.Parts[0], o.Parts[0]}} {
			_, err := target.Publish(t.Context(), o.Header, parts)
			RequireCode(t, targetRefused, err)
		}
	})
}

func (s tableSuite) testVerify(t *testing.T) {
	s.run(t, "describes the published output as Publish did", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		_, err := target.Verify(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
		artifact := publish(t, target, o)
		found, err := p.Target("one").Verify(t.Context(), o.Header, o.Parts)
		require.NoError(t, err)
		require.Equal(t, artifact, found)
	})
	s.run(t, "refuses an output that is missing or another", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		_, err := target.Verify(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
		o.Write(t, target)
		publish(t, target, o)
		_, err = target.Verify(t.Context(), o.Header, o.Parts[:3])
		RequireCode(t, targetChanged, err)
		other := slices.Clone(o.Parts)
		other[0].SHA256[0]++
		_, err = target.Verify(t.Context(), o.Header, other)
		RequireCode(t, targetChanged, err)
	})
}

func (s tableSuite) testDiscard(t *testing.T) {
	s.run(t, "may come at any time, and is repeated", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		require.NoError(t, target.Discard(t.Context()))
		o.Write(t, target)
		for range 2 {
			require.NoError(t, target.Discard(t.Context()))
		}
		RequireCode(t, targetChanged, target.Write(t.Context(), o.Parts[0], o.Data[0]))
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
		require.Equal(t, written, p.Rows(), "rows stay")
	})
	s.run(t, "leaves what is published, and other runs, alone", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		o.Write(t, target)
		artifact := publish(t, target, o)
		require.NoError(t, target.Discard(t.Context()))
		require.NoError(t, p.Target("two").Discard(t.Context()))
		require.Equal(t, artifact, publish(t, target, o))
	})
	s.run(t, "does not undo what is written after another Open", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		open(t, target, o)
		require.NoError(t, target.Write(t.Context(), o.Parts[0], o.Data[0]))
		require.NoError(t, target.Discard(t.Context()))
		require.True(t, open(t, target, o))
		o.Write(t, target)
		require.Equal(t, written, p.Rows())
		publish(t, target, o)
	})
}

func (s tableSuite) testCancelled(t *testing.T) {
	s.run(t, "does nothing", func(t *testing.T, p Table, target plugin.RowRejecter, o Output) {
		open(t, target, o)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := target.Open(ctx, o.Header)
		require.Error(t, err)
		require.Error(t, target.Write(ctx, o.Parts[0], o.Data[0]))
		_, err = target.Check(ctx, o.Parts[0])
		require.Error(t, err)
		_, err = target.Publish(ctx, o.Header, o.Parts)
		require.Error(t, err)
		require.Error(t, target.Discard(ctx))
		require.Empty(t, p.Rows())
	})
}
