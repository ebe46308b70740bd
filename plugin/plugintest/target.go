// Package plugintest holds the contracts of package plugin as tests, which every source, sink and target must pass.
package plugintest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/plugin"
)

// Destination is a place that targets write to, empty at first. Its functions fail the test they were made for if they cannot
// do what they are for.
type Destination struct {
	// Target returns a target as a process of its own would make it.
	Target func(run string, overwrite bool) plugin.Target
	// Read returns the header, once, and the bytes of all parts of what is visible, and false if nothing is.
	Read func(header []byte) ([]byte, bool)
	// Occupy puts something there that no run wrote but that overwrite may replace.
	Occupy func()
	// Tamper changes one byte of the part in what the run wrote and did not publish yet.
	Tamper func(run string, part plugin.Part)
	// Remains counts what else there is in the place besides what is visible.
	Remains func() int
}

// Output is an output for tests: a header and parts with their bytes.
type Output struct {
	Header []byte
	Parts  []plugin.Part
	Data   [][]byte
}

// NewOutput returns an output with this header and one part, of two rows, for each text.
func NewOutput(header string, texts ...string) Output {
	o := Output{Header: []byte(header)}
	offset := int64(len(header))
	for i, text := range texts {
		data := []byte(text)
		o.Parts = append(o.Parts, plugin.Part{
			Ordinal: int64(i), Offset: offset, Bytes: int64(len(data)), Rows: 2, SHA256: sha256.Sum256(data),
		})
		o.Data = append(o.Data, data)
		offset += int64(len(data))
	}
	return o
}

// Whole returns the header and the bytes of all parts.
func (o Output) Whole() []byte { return slices.Concat(append([][]byte{o.Header}, o.Data...)...) }

// Write opens the target and writes all parts to it.
func (o Output) Write(t testing.TB, target plugin.Target) {
	t.Helper()
	open(t, target, o)
	for i, part := range o.Parts {
		require.NoError(t, target.Write(t.Context(), part, o.Data[i]))
	}
}

// open opens the target and says whether that made the place ready.
func open(t testing.TB, target plugin.Target, o Output) bool {
	t.Helper()
	made, err := target.Open(t.Context(), o.Header)
	require.NoError(t, err)
	return made
}

// RequireCode requires that err is a *plugin.TargetError with this code.
func RequireCode(t testing.TB, code string, err error) {
	t.Helper()
	var fault *plugin.TargetError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, code, fault.Code, "%v", err)
}

const (
	targetExists  = "TARGET_EXISTS"
	targetChanged = "TARGET_CHANGED"
	targetRefused = "TARGET_REFUSED"
)

// TestTarget runs the contract of plugin.Target against targets in places made by newPlace, each sentence as a subtest.
// header is what the sink's encoder returns, for some formats nothing.
func TestTarget(t *testing.T, header string, newPlace func(t *testing.T) Destination) {
	s := targetSuite{newPlace: newPlace, output: NewOutput(header, "a,1\nb,2\n", "c,3\n,\n", "", "d,4\ne,5\n")}
	t.Run("Open", s.testOpen)
	t.Run("Write", s.testWrite)
	t.Run("Check", s.testCheck)
	t.Run("Publish", s.testPublish)
	t.Run("Publish refuses", s.testPublishRefuses)
	t.Run("CheckStaged", s.testCheckStaged)
	t.Run("Overwrite", s.testOverwrite)
	t.Run("Verify", s.testVerify)
	t.Run("Discard", s.testDiscard)
	t.Run("Cancelled", s.testCancelled)
}

type targetSuite struct {
	newPlace func(t *testing.T) Destination
	output   Output
}

// run makes a subtest with a place, a target of the run "one" in it, and the output.
func (s targetSuite) run(t *testing.T, name string, test func(t *testing.T, p Destination, target plugin.Target, o Output)) {
	t.Run(name, func(t *testing.T) {
		p := s.newPlace(t)
		test(t, p, p.Target("one", false), s.output)
	})
}

// requirePublished publishes and requires that the whole output is visible and nothing else is there.
func requirePublished(t *testing.T, p Destination, target plugin.Target, o Output) plugin.Artifact {
	t.Helper()
	artifact, err := target.Publish(t.Context(), o.Header, o.Parts)
	require.NoError(t, err)
	requireVisible(t, p, o)
	require.Zero(t, p.Remains(), "temporary files are left")
	return artifact
}

func requireVisible(t *testing.T, p Destination, o Output) {
	t.Helper()
	data, ok := p.Read(o.Header)
	require.True(t, ok, "nothing is visible")
	require.Equal(t, string(o.Whole()), string(data))
}

func requireInvisible(t *testing.T, p Destination) {
	t.Helper()
	_, ok := p.Read(nil)
	require.False(t, ok, "something is visible")
}

func (s targetSuite) testOpen(t *testing.T) {
	s.run(t, "makes the place ready", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		open(t, target, o)
		requireInvisible(t, p)
		require.NoError(t, p.Target("one", false).Write(t.Context(), o.Parts[0], o.Data[0]))
	})
	s.run(t, "refuses a place that is taken", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		p.Occupy()
		made, err := target.Open(t.Context(), o.Header)
		RequireCode(t, targetExists, err)
		require.False(t, made)
		require.Zero(t, p.Remains())
	})
	s.run(t, "can be probed, which leaves nothing behind", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		prober := target.(plugin.Prober)
		require.NoError(t, prober.Probe(t.Context(), o.Header))
		requireInvisible(t, p)
		require.Zero(t, p.Remains())
		p.Occupy()
		RequireCode(t, targetExists, prober.Probe(t.Context(), o.Header))
		require.NoError(t, p.Target("one", true).(plugin.Prober).Probe(t.Context(), o.Header), "may be overwritten")
	})
	s.run(t, "may be repeated and keeps the parts", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		require.False(t, open(t, target, o))
		require.False(t, open(t, p.Target("one", false), o))
		requirePublished(t, p, target, o)
	})
	s.run(t, "says to one of many that it made the place ready", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		var made atomic.Int64
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				mine, err := p.Target("one", false).Open(t.Context(), o.Header)
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
		require.NoError(t, target.Discard(t.Context()))
		require.Zero(t, p.Remains(), "Discard removes all that Open made")
	})
}

func (s targetSuite) testWrite(t *testing.T) {
	s.run(t, "takes parts in any order", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		open(t, target, o)
		for _, i := range []int{3, 1, 0, 2} {
			require.NoError(t, target.Write(t.Context(), o.Parts[i], o.Data[i]))
		}
		requirePublished(t, p, target, o)
	})
	s.run(t, "takes parts twice", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		o.Write(t, target)
		requirePublished(t, p, target, o)
	})
	s.run(t, "takes parts from several processes at once", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				other := p.Target("one", false)
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
		requirePublished(t, p, target, o)
	})
	s.run(t, "changes nothing once published", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		requirePublished(t, p, target, o)
		require.NoError(t, target.Write(t.Context(), o.Parts[1], o.Data[1]))
		requirePublished(t, p, target, o)
	})
	s.run(t, "fails where nothing was opened", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		RequireCode(t, targetChanged, target.Write(t.Context(), o.Parts[0], o.Data[0]))
	})
	s.run(t, "refuses bytes that are not the part's", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		open(t, target, o)
		require.Error(t, target.Write(t.Context(), o.Parts[0], o.Data[0][1:]))
	})
}

func (s targetSuite) testCheck(t *testing.T) {
	check := func(t *testing.T, target plugin.Target, part plugin.Part) plugin.Applied {
		applied, err := target.Check(t.Context(), part)
		require.NoError(t, err)
		return applied
	}
	s.run(t, "says what is there", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		require.Equal(t, plugin.NotApplied, check(t, target, o.Parts[0]), "before Open")
		open(t, target, o)
		require.NoError(t, target.Write(t.Context(), o.Parts[3], o.Data[3]))
		require.Equal(t, plugin.NotApplied, check(t, target, o.Parts[0]), "in front of a part that was written")
		require.Equal(t, plugin.Exactly, check(t, p.Target("one", false), o.Parts[3]))
		require.Equal(t, plugin.NotApplied, check(t, p.Target("two", false), o.Parts[3]), "of another run")
	})
	s.run(t, "holds after Publish", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		requirePublished(t, p, target, o)
		for _, part := range o.Parts {
			require.Equal(t, plugin.Exactly, check(t, target, part))
		}
	})
	s.run(t, "tells other bytes", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		p.Tamper("one", o.Parts[1])
		require.Equal(t, plugin.NotApplied, check(t, target, o.Parts[1]))
		require.NoError(t, target.Write(t.Context(), o.Parts[1], o.Data[1]))
		require.Equal(t, plugin.Exactly, check(t, target, o.Parts[1]))
		requirePublished(t, p, target, o)
	})
}

func (s targetSuite) testPublish(t *testing.T) {
	s.run(t, "shows all and nothing before", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		requireInvisible(t, p)
		artifact := requirePublished(t, p, target, o)
		require.Equal(t, int64(2*len(o.Parts)), artifact.Rows)
		require.NotEmpty(t, artifact.Path)
		require.Len(t, artifact.SHA256, 64)
	})
	s.run(t, "takes the parts in any order", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		slices.Reverse(o.Parts)
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		slices.Reverse(o.Parts)
		require.NoError(t, err)
		requireVisible(t, p, o)
	})
	s.run(t, "shows an output without parts", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		open(t, target, o)
		_, err := target.Publish(t.Context(), o.Header, nil)
		require.NoError(t, err)
		_, ok := p.Read(o.Header)
		require.True(t, ok)
	})
	s.run(t, "may be repeated, also by another process", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		first := requirePublished(t, p, target, o)
		require.Equal(t, first, requirePublished(t, p, target, o))
		require.Equal(t, first, requirePublished(t, p, p.Target("one", false), o))
	})
	s.run(t, "may be done by several processes at once", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if _, err := p.Target("one", false).Publish(t.Context(), o.Header, o.Parts); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		requirePublished(t, p, target, o)
	})
	s.run(t, "gives equal artifacts for equal outputs", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		first := requirePublished(t, p, target, o)
		other := s.newPlace(t)
		second := other.Target("two", false)
		o.Write(t, second)
		require.Equal(t, first.SHA256, requirePublished(t, other, second, o).SHA256)
	})
}

func (s targetSuite) testPublishRefuses(t *testing.T) {
	s.run(t, "what was never written", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
	})
	s.run(t, "a part that is missing", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		open(t, target, o)
		for _, i := range []int{0, 1, 2} {
			require.NoError(t, target.Write(t.Context(), o.Parts[i], o.Data[i]))
		}
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
		requireInvisible(t, p)
	})
	s.run(t, "more than the parts", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		_, err := target.Publish(t.Context(), o.Header, o.Parts[:3])
		RequireCode(t, targetChanged, err)
		requireInvisible(t, p)
	})
	s.run(t, "parts with a gap or twice", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		for _, parts := range [][]plugin.Part{o.Parts[1:], {o.Parts[0], o.Parts[3]}, {o.Parts[0], o.Parts[0]}} {
			_, err := target.Publish(t.Context(), o.Header, parts)
			RequireCode(t, targetRefused, err)
		}
		requireInvisible(t, p)
	})
	s.run(t, "parts that were changed, and takes them once they are written again", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		for i, part := range o.Parts {
			if part.Bytes == 0 {
				continue
			}
			p.Tamper("one", part)
			_, err := target.Publish(t.Context(), o.Header, o.Parts)
			RequireCode(t, targetChanged, err)
			require.Contains(t, err.Error(), fmt.Sprintf("part %d", part.Ordinal))
			requireInvisible(t, p)
			require.NoError(t, target.Write(t.Context(), part, o.Data[i]))
		}
		requirePublished(t, p, target, o)
	})
	s.run(t, "a place that was taken meanwhile", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		p.Occupy()
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetExists, err)
	})
	s.run(t, "the second of two runs", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		second := p.Target("two", false)
		o.Write(t, target)
		o.Write(t, second)
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		require.NoError(t, err)
		for range 2 {
			_, err = second.Publish(t.Context(), o.Header, o.Parts)
			RequireCode(t, targetExists, err)
		}
		require.NoError(t, second.Discard(t.Context()))
		requirePublished(t, p, target, o)
	})
}

func (s targetSuite) testOverwrite(t *testing.T) {
	other := NewOutput(string(s.output.Header), "z,9\n")
	s.run(t, "keeps the old output until the new one is whole", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		other.Write(t, target)
		requirePublished(t, p, target, other)
		second := p.Target("two", true)
		o.Write(t, second)
		requireVisible(t, p, other)
		first := requirePublished(t, p, second, o)
		require.Equal(t, first, requirePublished(t, p, second, o))
	})
	s.run(t, "replaces what no run wrote", func(t *testing.T, p Destination, _ plugin.Target, o Output) {
		p.Occupy()
		target := p.Target("one", true)
		o.Write(t, target)
		requirePublished(t, p, target, o)
	})
	s.run(t, "does not take another output for its own", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		other.Write(t, target)
		requirePublished(t, p, target, other)
		_, err := p.Target("two", true).Publish(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
		requireVisible(t, p, other)
	})
}

func (s targetSuite) testVerify(t *testing.T) {
	s.run(t, "describes the published output as Publish did", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		artifact := requirePublished(t, p, target, o)
		found, err := target.Verify(t.Context(), o.Header, o.Parts)
		require.NoError(t, err)
		require.Equal(t, artifact, found)
		requireVisible(t, p, o)
	})
	s.run(t, "refuses an output that is missing or another", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		_, err := target.Verify(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
		o.Write(t, target)
		_, err = target.Verify(t.Context(), o.Header, o.Parts)
		RequireCode(t, targetChanged, err)
		requireInvisible(t, p)
		requirePublished(t, p, target, o)
		other := NewOutput(string(o.Header), "a,1\nb,2\n")
		_, err = target.Verify(t.Context(), other.Header, other.Parts)
		RequireCode(t, targetChanged, err)
	})
}

func (s targetSuite) testDiscard(t *testing.T) {
	s.run(t, "removes what was not published", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		require.NoError(t, target.Discard(t.Context()), "before Open")
		o.Write(t, target)
		require.NoError(t, target.Discard(t.Context()))
		require.NoError(t, target.Discard(t.Context()))
		require.Zero(t, p.Remains())
		requireInvisible(t, p)
	})
	s.run(t, "leaves what was published", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		requirePublished(t, p, target, o)
		require.NoError(t, target.Discard(t.Context()))
		requirePublished(t, p, target, o)
	})
	s.run(t, "leaves what other runs wrote", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		require.NoError(t, p.Target("two", false).Discard(t.Context()))
		requirePublished(t, p, target, o)
	})
}

func (s targetSuite) testCancelled(t *testing.T) {
	s.run(t, "is not a fault of the target", func(t *testing.T, p Destination, target plugin.Target, o Output) {
		o.Write(t, target)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, published := target.Publish(ctx, o.Header, o.Parts)
		_, checked := target.Check(ctx, o.Parts[0])
		_, opened := target.Open(ctx, o.Header)
		for _, err := range []error{
			opened, target.Write(ctx, o.Parts[0], o.Data[0]), checked, published, target.Discard(ctx),
		} {
			require.ErrorIs(t, err, context.Canceled)
		}
		requirePublished(t, p, target, o)
	})
}
