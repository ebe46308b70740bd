package landscape_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// compared is a scene played into a landscape that a test may read through changed.
func compared(t *testing.T) (landscapetest.Scene, *landscape.Log, *changed) {
	t.Helper()
	s := landscapetest.Scene{Run: "compared", Chunks: 2, ChunkRows: landscape.SliceRows + 30}
	driver := &changed{Driver: blank.New(t)}
	log := landscape.New(driver, nil)
	require.NoError(t, s.Play(t.Context(), log))
	return s, log, driver
}

// changed is a driver whose records come out changed; nil takes one away.
type changed struct {
	landscape.Driver
	change func(landscape.Record) landscape.Record
}

func (c *changed) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	return c.Driver.Read(ctx, kind, q, func(r landscape.Record) bool {
		if c.change != nil {
			if r = c.change(r); r == nil {
				return true
			}
		}
		return yield(r)
	})
}

// change returns a function that changes the records of T's table.
func change[T landscape.Record](f func(*T) (keep bool)) func(landscape.Record) landscape.Record {
	return func(r landscape.Record) landscape.Record {
		if t, ok := r.(T); ok {
			if !f(&t) {
				return nil
			}
			return t
		}
		return r
	}
}

// requireSummed holds that sums of the hashes tell whether a passage is recorded as it should be.
func requireSummed(t *testing.T, log *landscape.Log, p landscape.Passage, want bool) {
	t.Helper()
	var sums landscape.HashSums
	for _, column := range p.Hashes {
		from := 0
		for slice := range slices.Chunk(column.Hashes, landscape.SliceRows*landscape.HashBytes) {
			sums.Add(column.Lane, column.Node, from, slice)
			from += landscape.SliceRows
		}
	}
	p.Hashes = nil
	same, err := log.IsPassage(t.Context(), p, nil, &sums)
	require.NoError(t, err)
	require.Equal(t, want, same)
}

func TestCompare(t *testing.T) {
	s, log, driver := compared(t)
	run, graph := s.Graph()
	compare := func() []landscape.Difference {
		found, err := log.CompareRun(t.Context(), run, graph)
		require.NoError(t, err)
		for i := range s.Chunks {
			more, err := log.ComparePassage(t.Context(), s.Passage(i), nil)
			require.NoError(t, err)
			requireSummed(t, log, s.Passage(i), len(more) == 0)
			found = append(found, more...)
		}
		more, err := log.CompareEnd(t.Context(), s.End())
		require.NoError(t, err)
		return append(found, more...)
	}
	require.Empty(t, compare(), "what was recorded is as it was recorded")
	for _, c := range []struct {
		name   string
		change func(landscape.Record) landscape.Record
		want   string
	}{
		{"run", change(func(r *landscape.Run) bool { r.Params = "{}"; return true }), `runs compared: params should be "{\"year\":2024}", the record has "{}"`},
		{"node", change(func(n *landscape.Node) bool { return n.Node != "keep" }), "nodes compared/keep: should be one, the record has none"},
		{"edge", change(func(e *landscape.Edge) bool { e.Label += "x"; return true }), "should be none, the record has one"},
		{"source", change(func(s *landscape.Source) bool { s.Info = "x"; return true }), "info should be "},
		{"lane", change(func(l *landscape.Lane) bool { l.Fork = "x"; return true }), `fork should be "", the record has "x"`},
		{"end", change(func(e *landscape.SourceEnd) bool { e.Rows++; return true }), "rows should be 2108, the record has 2109"},
		{"codes", change(func(p *landscape.PassageRecord) bool { p.WayCodes = p.WayCodes[1:]; return true }), "way_codes should be 1054 bytes "},
		{"way", change(func(w *landscape.WayRecord) bool { w.Signature = ""; return true }), `the record has ""`},
		{"step", change(func(w *landscape.WayStepRecord) bool { return w.Seq != 1 }), "should be one, the record has none"},
		{"hashes", change(func(h *landscape.HashesRecord) bool { h.Slots = nil; return true }), "slots should be 2048 bytes "},
		{"key_hashes", change(func(k *landscape.KeyHashes) bool { k.Field = "other"; return true }),
			"other: should be none, the record has one"},
		{"error", change(func(e *landscape.RowError) bool { e.ErrorHash = "x"; return true }), "error_hash should be "},
		{"write", change(func(e *landscape.Effect) bool { e.SHA256 = ""; return true }), "the record has nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			driver.change = c.change
			found := compare()
			require.NotEmpty(t, found)
			require.Contains(t, found[0].String(), c.want)
		})
	}
}

func TestCheckShape(t *testing.T) {
	s, log, driver := compared(t)
	chunk, err := log.Chunk(t.Context(), s.Run, landscape.ChunkKey{Source: landscapetest.Source, Chunk: 1})
	require.NoError(t, err)
	require.NoError(t, log.CheckShape(t.Context(), chunk))
	for _, c := range []struct {
		name   string
		change func(landscape.Record) landscape.Record
	}{
		{"a slice less", change(func(c *landscape.ChunkRowsRecord) bool { return c.Slice != 0 })},
		{"other slice", change(func(c *landscape.ChunkRowsRecord) bool { c.Slice++; return true })},
		{"rows", change(func(c *landscape.ChunkRowsRecord) bool { c.Rows--; return true })},
		{"offsets", change(func(c *landscape.ChunkRowsRecord) bool { c.Offsets = c.Offsets[1:]; return true })},
		{"lengths", change(func(c *landscape.ChunkRowsRecord) bool { c.Lengths = nil; return true })},
		{"raw hashes", change(func(c *landscape.ChunkRowsRecord) bool { c.RawHashes = append(c.RawHashes, 0); return true })},
		{"lines", change(func(c *landscape.ChunkRowsRecord) bool { c.Lines = []byte{0}; return true })},
		{"some lines", change(func(c *landscape.ChunkRowsRecord) bool {
			c.Lines = nil
			if c.Slice == 1 {
				c.Lines = make([]byte, 4*c.Rows)
			}
			return true
		})},
		{"codes", change(func(p *landscape.PassageRecord) bool { p.WayCodes = nil; return true })},
		{"width of codes", change(func(p *landscape.PassageRecord) bool { p.CodeBytes = 2; return true })},
		{"no way", change(func(*landscape.WayRecord) bool { return false })},
		{"no step", change(func(*landscape.WayStepRecord) bool { return false })},
		{"dense hashes", change(func(h *landscape.HashesRecord) bool { h.Slots, h.Hashes = nil, h.Hashes[:32]; return true })},
		{"slots", change(func(h *landscape.HashesRecord) bool { h.Slots = []byte{0}; return true })},
		{"slot of no hash", change(func(h *landscape.HashesRecord) bool {
			h.Slots = bytes.Repeat([]byte{0xff}, 2*[]int{landscape.SliceRows, 30}[h.Slice])
			return true
		})},
		{"slice of hashes", change(func(h *landscape.HashesRecord) bool { h.Slice = 2; return true })},
		{"key_hashes", change(func(k *landscape.KeyHashes) bool { k.Hashes = k.Hashes[1:]; return true })},
	} {
		t.Run(c.name, func(t *testing.T) {
			driver.change = c.change
			require.ErrorIs(t, log.CheckShape(t.Context(), chunk), landscape.ErrIncomplete)
		})
	}
}

func TestRefusedRows(t *testing.T) {
	s, log, _ := compared(t)
	refused, err := log.RowErrorKeys(t.Context(), s.Run, landscapetest.Source)
	require.NoError(t, err)
	var want []int64
	for i := range s.Chunks {
		chunk, _ := s.Chunk(i)
		for _, e := range s.Passage(i).Errors {
			want = append(want, chunk.FirstRow+int64(e.Index))
		}
	}
	require.Len(t, refused, len(want))
	for i, r := range refused {
		require.Equal(t, want[i], r.Row)
		errors, err := log.ErrorsOf(t.Context(), s.Run, landscape.Token{Source: r.Source, Lane: r.Lane, Row: r.Row})
		require.NoError(t, err)
		require.Equal(t, errors[0].Node, r.Node)
	}
}

// TestDroppedEventsAreNotMissing: that an event is not there which the outbox dropped because it was old says nothing
// of the run; that of a later run may not be missing.
func TestDroppedEventsAreNotMissing(t *testing.T) {
	ctx, now := t.Context(), time.Unix(1_700_000_000, 0)
	driver := &changed{Driver: blank.New(t)}
	log := landscape.New(driver, func() time.Time { return now })
	for _, run := range []string{"old", "mid", "new"} {
		require.NoError(t, landscapetest.Scene{Run: run}.Begin(ctx, log))
		now = now.Add(time.Hour)
	}
	missing := func(run string) []landscape.Difference {
		t.Helper()
		record, graph := landscapetest.Scene{Run: run}.Graph()
		found, err := log.CompareRun(ctx, record, graph)
		require.NoError(t, err)
		return found
	}
	_, err := log.Sequence(ctx)
	require.NoError(t, err)
	gone := func(e *landscape.Event) bool { return false }
	for _, run := range []string{"old", "new"} {
		require.Empty(t, missing(run))
		driver.change = change(gone)
		require.NotEmpty(t, missing(run), "no event was dropped")
		driver.change = nil
	}
	dropped, err := log.DropEvents(ctx, 1, landscapetest.Before(landscape.MicrosOf(now)))
	require.NoError(t, err)
	require.EqualValues(t, 1, dropped)
	require.Empty(t, missing("old"))
	require.Empty(t, missing("new"))
	driver.change = change(gone)
	require.Empty(t, missing("old"))
	require.Equal(t, "outbox", missing("new")[0].Table, "older ones are left")
}
