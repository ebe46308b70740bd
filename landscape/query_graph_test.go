package landscape_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// graphCompared is compared for a graph scene.
func graphCompared(t *testing.T) (landscapetest.GraphScene, *landscape.Log, *changed) {
	t.Helper()
	s := landscapetest.GraphScene{Run: "graph", Chunks: 3, ChunkRows: 6}
	driver := &changed{Driver: blank.New(t)}
	log := landscape.New(driver, nil)
	require.NoError(t, s.Play(t.Context(), log))
	return s, log, driver
}

// graphFolds returns the folds of each barrier of the scene.
func graphFolds(s landscapetest.GraphScene) [][]landscape.Fold {
	var totals []landscape.Fold
	for i := range s.Chunks + 1 {
		totals = append(totals, s.TotalsFold(i))
	}
	return [][]landscape.Fold{totals, {s.RankedEnd()}, {s.BothFold(s.Totals()), s.BothEnd()}}
}

func TestCompareGraph(t *testing.T) {
	s, log, driver := graphCompared(t)
	compare := func() (found []landscape.Difference) {
		add := func(more []landscape.Difference, err error) {
			require.NoError(t, err)
			found = append(found, more...)
		}
		run, graph := s.Graph()
		add(log.CompareRun(t.Context(), run, graph))
		for i := range s.Chunks {
			more, err := log.ComparePassage(t.Context(), s.Passage(i), nil)
			add(more, err)
			requireSummed(t, log, s.Passage(i), len(more) == 0)
		}
		for _, folds := range graphFolds(s) {
			comparison, err := log.CompareFolds(t.Context(), s.Run, folds[0].Node)
			require.NoError(t, err)
			for _, fold := range folds {
				add(comparison.Compare(t.Context(), fold))
			}
			add(comparison.Others(), nil)
		}
		return found
	}
	require.Empty(t, compare(), "what was recorded is as it was recorded")
	for _, c := range []struct {
		name   string
		change func(landscape.Record) landscape.Record
		want   string
	}{
		{"table", change(func(r *landscape.LookupTable) bool { r.Rows++; return true }),
			"lookup_tables graph/price: rows should be 5, the record has 6"},
		{"no table", change(func(*landscape.LookupTable) bool { return false }), "should be one, the record has none"},
		{"lane of a passage", change(func(p *landscape.PassageRecord) bool { return p.Lane != 2 }), "passages graph/orders/0/2: should be one"},
		{"lane of a way", change(func(w *landscape.WayRecord) bool { w.Lane++; return true }), "lane should be 0, the record has 1"},
		{"first step", change(func(w *landscape.WayRecord) bool { w.FirstSeq++; return true }), "first_seq should be 0, the record has 1"},
		{"merge_codes", change(func(j *landscape.MergeCodes) bool { j.Codes[0] = 1; return true }),
			"merge_codes graph/orders/0/3: codes should be 6 bytes"},
		{"use of a kind", change(func(j *landscape.ChunkMerge) bool { return j.Code != 0 }),
			"chunk_merges graph/orders/0/3/0: should be one"},
		{"kind", change(func(k *landscape.MergeKindRecord) bool { k.Lost = "{}"; return true }), "lost should be "},
		{"state", change(func(f *landscape.FoldRecord) bool { f.State = "x"; return true }), "state should be "},
		{"fold", change(func(f *landscape.FoldRecord) bool { f.Out++; return true }), "out_rows should be "},
		{"feed", change(func(f *landscape.FeedRecord) bool { return f.Chunk != 1 }), "feeds graph/orders/1/totals: should be one, the record has none"},
		{"no fold", change(func(f *landscape.FoldRecord) bool { return f.Fold == 0 }), "should be one, the record has none"},
		{"batch", change(func(b *landscape.BatchRecord) bool { b.Fired++; return true }), "fired_us should be "},
		{"moment of a batch", change(func(b *landscape.BatchRecord) bool { b.Opened--; return true }), "opened_us should be "},
		{"no batch", change(func(b *landscape.BatchRecord) bool { return b.Node != "both" || b.Batch != 2 }), "batches graph/both/2: should be one, the record has none"},
		{"another batch", change(func(b *landscape.BatchRecord) bool { b.Batch += 70; return true }), "batches graph/both/72: should be none, the record has one"},
		{"no merge", change(func(*landscape.MergeRecord) bool { return false }), "merges graph/both/2: should be one, the record has none"},
		{"another merge", change(func(m *landscape.MergeRecord) bool { m.Batch += 70; return true }), "merges graph/both/72: should be none, the record has one"},
		{"row of no merge", change(func(m *landscape.MergeRecord) bool { m.OutRow = nil; return true }), "out_row should be "},
		{"members", change(func(m *landscape.MembersRecord) bool { m.Batches[3] = 9; return true }), "members graph/totals/orders/0/3/0: batches should be "},
		{"members of another lane", change(func(m *landscape.MembersRecord) bool { m.Lane++; return true }), "should be none, the record has one"},
		{"merge", change(func(m *landscape.MergeRecord) bool { m.Row++; return true }), "merges graph/both/2: row should be 2, the record has 3"},
		{"parents", change(func(p *landscape.ParentsRecord) bool { p.Batches[3] = 9; return true }), "batches should be 4 bytes 00000001"},
		{"chunk", change(func(c *landscape.Chunk) bool { c.Pack = "x"; return true }), "pack should be "},
		{"records", change(func(c *landscape.ChunkRowsRecord) bool { c.RawHashes[0]++; return c.Source == "totals" }), "raw_hashes should be "},
		{"end", change(func(e *landscape.SourceEnd) bool { e.Rows++; return true }), "source_ends graph/totals: rows should be 2, the record has 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			driver.change = c.change
			var words []string
			for _, difference := range compare() {
				words = append(words, difference.String())
			}
			require.Contains(t, strings.Join(words, "\n"), c.want)
		})
	}
}

func TestCheckGraphShape(t *testing.T) {
	s, log, driver := graphCompared(t)
	orders, err := log.Chunk(t.Context(), s.Run, landscape.ChunkKey{Source: landscapetest.Orders, Chunk: 1})
	require.NoError(t, err)
	ranked, err := log.Chunk(t.Context(), s.Run, landscape.ChunkKey{Source: "ranked", Chunk: 0})
	require.NoError(t, err)
	check := func() error {
		return errors.Join(log.CheckShape(t.Context(), orders), log.CheckShape(t.Context(), ranked))
	}
	require.NoError(t, check())
	for _, c := range []struct {
		name   string
		change func(landscape.Record) landscape.Record
	}{
		{"no passage of the root lane", change(func(p *landscape.PassageRecord) bool { return p.Lane != 0 })},
		{"a passage of no lane", change(func(p *landscape.PassageRecord) bool { p.Lane += 3; return true })},
		{"codes of a branch", change(func(p *landscape.PassageRecord) bool { p.CodeBytes = 1 + p.Lane%2; return true })},
		{"codes of merges", change(func(j *landscape.MergeCodes) bool { j.Codes = j.Codes[1:]; return true })},
		{"first step", change(func(w *landscape.WayRecord) bool { w.FirstSeq = 9; return true })},
		{"no parents", change(func(*landscape.ParentsRecord) bool { return false })},
		{"parents", change(func(p *landscape.ParentsRecord) bool { p.Batches = p.Batches[1:]; return true })},
		{"tokens of parents", change(func(p *landscape.ParentsRecord) bool { p.Tokens = []byte{}; return true })},
	} {
		t.Run(c.name, func(t *testing.T) {
			driver.change = c.change
			require.ErrorIs(t, check(), landscape.ErrIncomplete)
		})
	}
}

// TestDamagedGraph reads records that cannot be: each is an error that says so.
func TestDamagedGraph(t *testing.T) {
	s, log, driver := graphCompared(t)
	token := landscape.Token{Source: landscapetest.Orders, Lane: landscapetest.DecideLane, Row: 1}
	key := landscape.Token{Source: "totals", Lane: landscapetest.TotalsLane, Row: 1}
	row := landscape.Token{Source: landscapetest.Orders, Row: 1}
	for _, c := range []struct {
		name   string
		change func(landscape.Record) landscape.Record
		ask    func() error
	}{
		{"way code", change(func(p *landscape.PassageRecord) bool { p.WayCodes[0] = 77; return true }), func() error {
			_, err := log.WayOf(t.Context(), s.Run, token)
			return err
		}},
		{"members", change(func(m *landscape.MembersRecord) bool { m.Batches = nil; return true }), func() error {
			_, err := log.BatchOf(t.Context(), s.Run, token)
			return err
		}},
		{"members of a chunk", change(func(m *landscape.MembersRecord) bool { m.Slice = 5; return true }), func() error {
			_, err := log.MembersOf(t.Context(), s.Run, "totals", 1)
			return err
		}},
		{"parents", change(func(p *landscape.ParentsRecord) bool { p.Batches = nil; return true }), func() error {
			_, err := log.ParentsOf(t.Context(), s.Run, "ranked", 1)
			return err
		}},
		{"lane of a parent", change(func(p *landscape.ParentsRecord) bool {
			p.Tokens = bytes.Repeat([]byte{0xFF}, len(p.Tokens))
			return true
		}), func() error {
			_, err := log.ParentsOf(t.Context(), s.Run, "ranked", 1)
			return err
		}},
		{"arrivals", change(func(m *landscape.MergeRecord) bool { m.Arrivals = "{"; return true }), func() error {
			_, err := log.MergeOfFork(t.Context(), s.Run, key)
			return err
		}},
		{"token of an arrival", change(func(m *landscape.MergeRecord) bool { m.Arrivals = `[{"token":"x"}]`; return true }), func() error {
			_, err := log.MergeOfFork(t.Context(), s.Run, key)
			return err
		}},
		{"kind", change(func(k *landscape.MergeKindRecord) bool { k.Expected = "{}"; return true }), func() error {
			_, err := log.MergeOfFork(t.Context(), s.Run, key)
			return err
		}},
		{"lost branches", change(func(k *landscape.MergeKindRecord) bool { k.Lost = "{"; return true }), func() error {
			_, err := log.MergeOfFork(t.Context(), s.Run, key)
			return err
		}},
		{"origins", change(func(k *landscape.MergeKindRecord) bool { k.Origins = `{"a"`; return true }), func() error {
			_, err := log.MergeOfFork(t.Context(), s.Run, key)
			return err
		}},
		{"code of a merge", change(func(j *landscape.MergeCodes) bool { j.Codes[0] = 0xFF; return true }),
			func() error {
				_, err := log.MergeOfFork(t.Context(), s.Run, row)
				return err
			}},
		{"branch that arrived", change(func(k *landscape.MergeKindRecord) bool { k.Arrived = `["other"]`; return true }), func() error {
			_, err := log.MergeOfFork(t.Context(), s.Run, row)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			driver.change = c.change
			require.ErrorIs(t, c.ask(), landscape.ErrIncomplete)
		})
	}
}

// TestJoinOfHeldReadsOne holds that the merge of branches that came straight to a held coalesce is read alone, and that one is
// found as well whose branches all went through other barriers.
func TestJoinOfHeldReadsOne(t *testing.T) {
	s, log, driver := graphCompared(t)
	key := s.BothFold(s.Totals()).Batches[0].Merge.Key
	want, err := log.MergeOfFork(t.Context(), s.Run, key)
	require.NoError(t, err)
	require.Equal(t, key, want.Key)
	searched := &searches{Driver: driver}
	again := landscape.New(searched, nil)
	got, err := again.MergeOfFork(t.Context(), s.Run, key)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Zero(t, searched.merges)
	searched.hidden = true
	got, err = again.MergeOfFork(t.Context(), s.Run, key)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, 1, searched.merges)
}

// searches is a driver that counts readings of all merges of a run.
type searches struct {
	landscape.Driver
	hidden bool // members are not to be had
	merges int
}

func (s *searches) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	if kind.Table() == "merges" && len(q.Prefix) == 1 {
		s.merges++
	}
	if kind.Table() == "members" && s.hidden {
		return nil
	}
	return s.Driver.Read(ctx, kind, q, yield)
}
