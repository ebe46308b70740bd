package audit_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/payload"
	"waymark/tests/sample"
)

// TestVerifyGraph asks whether the record of one run of a graph is true, and then damages it in every way that
// graphs add.
func TestVerifyGraph(t *testing.T) {
	s := playGraph(t)
	t.Run("clean", func(t *testing.T) { testCleanGraph(t, s) })
	t.Run("record", func(t *testing.T) { testGraphRecord(t, s) })
	t.Run("payloads", func(t *testing.T) { testGraphPayloads(t, s) })
	t.Run("clean again", func(t *testing.T) { testCleanGraph(t, s) })
}

func testCleanGraph(t *testing.T, s *fixture) {
	report := verify(t, s, s.Log.Reader)
	require.Empty(t, report.Problems)
	require.Empty(t, report.NotChecked)
	require.EqualValues(t, 19, report.Rows)
	require.Greater(t, report.Folds, int64(8))
	var b strings.Builder
	require.NoError(t, report.WriteText(&b))
	require.Contains(t, b.String(), " folds taken again, ")
}

// testGraphRecord changes the record in the database, one thing at a time.
func testGraphRecord(t *testing.T, s *fixture) {
	for _, c := range sample.Of(6, []struct{ name, statement, kind, where, detail string }{
		{"a member", `update members set batches = cast(x'00000009' || substr(batches, 5) as blob) where node = 'by_place'`, audit.RecordDiffers, "by_place", ""},
		{"a member to another batch", `update members set batches = cast(substr(batches, 5, 4) || substr(batches, 1, 4) || substr(batches, 9) as blob) where node = 'meet' and source = 'orders' and chunk = 0`, audit.RecordDiffers, "meet", ""},
		{"a member less", `delete from members where node = 'by_place'`, audit.RecordDiffers, "by_place", ""},
		{"the count of members", `update members set rows = rows + 1 where node = 'top'`, audit.RecordDiffers, "top", ""},
		{"the fold of members", `update members set fold = fold + 1 where node = 'top'`, audit.RecordDiffers, "top", ""},
		{"the trigger of a batch", `update batches set trigger = 'rows' where node = 'by_place'`, audit.RecordDiffers, "by_place", ""},
		{"the path of a batch", `update batches set path = 'expand_parent' where node = 'by_place'`, audit.RecordDiffers, "by_place", ""},
		{"the rows of a batch", `update batches set rows = rows + 1 where node = 'by_place'`, audit.RecordDiffers, "by_place", ""},
		{"when a batch opened", `update batches set opened_us = opened_us - 1 where node = 'by_place' and batch = 1`, audit.RecordDiffers, "by_place", ""},
		{"when a batch fired", `update batches set fired_us = fired_us + 1 where node = 'top'`, audit.RecordDiffers, "top", ""},
		{"which batch it was too late for", `update batches set "of" = 1 where path = 'branch_not_needed' and "of" = 2`, audit.RecordDiffers, "meet", ""},
		{"the fold of a batch", `update batches set fold = 0 where node = 'by_place'`, audit.RecordDiffers, "by_place", ""},
		{"a batch less", `delete from batches where node = 'by_place' and batch = 2`, audit.RecordDiffers, "by_place", ""},
		{"a batch more", `insert into batches select run_id, node, 99, fold, trigger, path, rows, opened_us, fired_us, "of" from batches where node = 'by_place' and batch = 1`, "batch_rows", "by_place", ""},
		{"the kind of a fold", `update folds set kind = 'tick' where node = 'top' and kind = 'end'`, audit.RecordDiffers, "top", ""},
		{"a kind of fold that is none", `update folds set kind = 'x' where node = 'top' and kind = 'end'`, audit.RecordDiffers, "top", ""},
		{"the moment of a fold", `update folds set at_us = at_us + 1 where node = 'by_place' and fold = 0`, audit.RecordDiffers, "by_place", ""},
		{"the chunks of two folds", `update folds set source = '' where node = 'top' and fold = 0; update folds set source = 'orders' where node = 'top' and fold = 1; update folds set source = 'more' where node = 'top' and fold = 0`, audit.RecordDiffers, "top", ""},
		{"the chunk of a fold to none", `update folds set chunk = 99 where node = 'top' and fold = 0`, audit.RecordDiffers, "top", ""},
		{"the source of a fold", `update folds set source = 'nowhere' where node = 'top' and fold = 0`, audit.RecordDiffers, "top", ""},
		{"the number of a fold", `update folds set fold = 77 where node = 'top' and kind = 'end'`, audit.RecordDiffers, "top", ""},
		{"a fold less", `delete from folds where node = 'top' and fold = 0`, audit.RecordDiffers, "top", ""},
		{"the last fold", `delete from folds where node = 'top' and kind = 'end'`, "fold_sequence", "top", ""},
		{"the state of a fold", `update folds set state = (select state from folds where node = 'by_place' and fold = 0) where node = 'top' and fold = 0`, audit.RecordDiffers, "top", ""},
		{"the state of a fold to none", `update folds set state = printf('%064d', 1) where node = 'top' and fold = 0`, audit.PayloadMissing, "top", ""},
		{"open batches", `update folds set open_batches = 5 where node = 'by_place' and fold = 0`, audit.RecordDiffers, "by_place", ""},
		{"held rows", `update folds set held_rows = 5 where node = 'by_place' and fold = 0`, audit.RecordDiffers, "by_place", ""},
		{"rows that came out", `update folds set out_rows = 5 where node = 'by_place' and kind = 'end'`, audit.RecordDiffers, "by_place", ""},
		{"the kind of a merge", `update merges set kind = (select kind from merge_kinds where node = 'meet' and result = 'nothing') where node = 'meet' and batch = 1`, audit.RecordDiffers, "meet", ""},
		{"the row of a fork parent", `update merges set row = row + 100 where node = 'meet' and batch = 1`, audit.RecordDiffers, "meet", ""},
		{"what arrived", `update merges set arrivals = '[]' where node = 'meet' and batch = 1`, audit.RecordDiffers, "meet", ""},
		{"how long a merge waited", `update merges set wait_ms = 7 where node = 'meet' and batch = 1`, audit.RecordDiffers, "meet", ""},
		{"what came of a merge", `update merges set out_row = 9 where node = 'meet' and batch = 1`, audit.RecordDiffers, "meet", ""},
		{"a merge less", `delete from merges where node = 'meet' and batch = 1`, audit.RecordDiffers, "meet", ""},
		{"how a merge was decided", `update merge_kinds set fired_by = 'all' where node = 'meet' and result = 'merged'`, audit.RecordDiffers, "meet", ""},
		{"which branch was lost", `update merge_kinds set lost = '{}' where node = 'meet' and result = 'nothing'`, audit.RecordDiffers, "meet", ""},
		{"which values stand", `update merge_kinds set origins = '{}' where node = 'decide'`, audit.RecordDiffers, "orders chunk 0", ""},
		{"a kind of merge that cannot be read", `update merge_kinds set arrived = '{' where node = 'meet'`, audit.RecordDiffers, "meet", ""},
		{"the code of a join", `update merge_codes set codes = cast(x'01' || substr(codes, 2) as blob) where source = 'orders' and chunk = 0`, audit.RecordDiffers, "orders chunk 0", ""},
		{"the code of a join to none", `update merge_codes set codes = cast(x'FF' || substr(codes, 2) as blob) where source = 'orders' and chunk = 0`, audit.RecordDiffers, "orders chunk 0", ""},
		{"a join less", `delete from merge_codes where source = 'orders' and chunk = 0`, audit.RecordDiffers,
			"orders chunk 0", ""},
		{"joins of too few rows", `update merge_codes set codes = x'00' where source = 'orders' and chunk = 0`,
			audit.RecordIncomplete, "orders chunk 0", ""},
		{"the count of joins", `update chunk_merges set rows = rows + 1 where source = 'orders' and chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", ""},
		{"the batch that a row came of", `update parents set batches = cast(x'00000002' || substr(batches, 5) as blob) where source = 'by_place'`, audit.RecordDiffers, "by_place", ""},
		{"the token that a row continues for", `update parents set tokens = cast(zeroblob(7) || x'05' || substr(tokens, 9) as blob) where source = 'top'`, audit.RecordDiffers, "top", ""},
		{"parents less", `delete from parents where source = 'top'`, audit.RecordIncomplete, "top chunk 0", ""},
		{"parents too short", `update parents set batches = x'00' where source = 'top'`, audit.RecordIncomplete, "top chunk 0", ""},
		{"the fold of a chunk", `update chunks set fold = 0 where source = 'top'`, audit.RecordDiffers, "top", ""},
		{"no fold of a chunk", `update chunks set fold = null where source = 'top'`, audit.RecordDiffers, "top chunk 0", ""},
		{"the size of a barrier's chunk", `update chunks set bytes = bytes + 1 where source = 'top'`, audit.RecordDiffers, "top", ""},
		{"the first row of a barrier's chunk", `update chunks set first_row = 5 where source = 'top'`, audit.RecordDiffers, "top chunk 0", ""},
		{"a hash of a barrier's record", `update chunk_rows set raw_hashes = zeroblob(length(raw_hashes)) where source = 'top'`, audit.RecordDiffers, "top chunk 0", ""},
		{"the end of a barrier", `update source_ends set rows = 9 where source = 'top'`, audit.RecordDiffers, "top", ""},
		{"a lane", `update lanes set name = 'elsewhere' where name = 'by_cost'`, audit.RecordDiffers, "shop", ""},
		{"what a lookup read", `update lookup_tables set rows = 9`, audit.RecordDiffers, "shop", ""},
		{"which table a lookup read", `update lookup_tables set sha256 = printf('%064d', 1)`, audit.PayloadMissing,
			"town", ""},
		{"a way in a lane", `update passages set way_codes = cast(substr(way_codes, 2, 1) || substr(way_codes, 1, 1) || substr(way_codes, 3) as blob) where source = 'orders' and chunk = 0 and lane = 1`, audit.RecordDiffers, "orders chunk 0", "orders:1/by_cost goes "},
		{"a passage of a lane less", `delete from passages where source = 'orders' and chunk = 0 and lane = 2`, audit.RecordDiffers, "orders chunk 0", "orders:1/by_state goes "},
		{"a hash in a lane", `update hashes set hashes = cast(zeroblob(31) || x'01' || substr(hashes, 33) as blob) where node = 'stated' and source = 'orders' and chunk = 0`, audit.RecordDiffers, "orders chunk 0", "comes out of stated as "},
		{"the first step of a way", `update ways set first_seq = first_seq - 1 where path = 'branch_not_needed'`, audit.RecordDiffers, "orders chunk 0", ""},
		{"the error of a merged token", `update errors set code = 'OTHER' where node = 'decide'`, audit.RecordDiffers, "more chunk 0", "more:1/decide is refused by decide with QUORUM_NOT_MET"},
		{"the lane of an error", `update errors set lane = 99 where node = 'decide'`, audit.RecordDiffers, "more chunk 0", ""},
		{"who had a key first", `update repeats set firsts = cast(x'0000000000000002' || substr(firsts, 9) as blob)`, audit.RecordDiffers, "orders chunk 1", "firsts should be 24 bytes 0000000000000001"},
		{"a repeat less", `delete from repeats`, audit.RecordDiffers, "orders chunk 1", "repeats"},
		{"a repeat more", `insert into repeats select run_id, source, chunk, lane, node, slice + 1, rows, firsts from repeats`, audit.RecordDiffers, "orders chunk 1", "repeats"},
		{"a first token for a repeat", `update passages set way_codes = cast(substr(way_codes, 2, 1) || substr(way_codes, 2) as blob) where source = 'orders' and chunk = 1 and lane = 0`, audit.RecordDiffers, "orders chunk 1", "row 4 goes orders > once[duplicate] (filter_dropped), the record has"},
	}) {
		t.Run(c.name, func(t *testing.T) {
			report := verify(t, s, tampered(t, s, c.statement))
			for _, problem := range report.Problems {
				if problem.Kind == c.kind && problem.Where == c.where && strings.Contains(problem.Detail, c.detail) {
					return
				}
			}
			require.Fail(t, "not found", "%+v", report.Problems)
		})
	}
}

// TestVerifyWritesNothing takes away what a run's step would put back.
func TestVerifyWritesNothing(t *testing.T) {
	s := playGraph(t)
	log := tampered(t, s, `delete from repeats`)
	first := verify(t, s, log)
	require.NotEmpty(t, first.Problems)
	require.Equal(t, first, verify(t, s, log), "what is missing is still missing")
}

// testGraphPayloads takes away and damages what only graphs store: tables, states, and the rows that came out of barriers.
func testGraphPayloads(t *testing.T, s *fixture) {
	tables, err := s.Log.Tables(t.Context(), run)
	require.NoError(t, err)
	folds, err := s.Log.Folds(t.Context(), run, "top")
	require.NoError(t, err)
	require.NotEmpty(t, folds[0].State)
	chunk, err := s.Log.Chunk(t.Context(), run, landscape.ChunkKey{Source: "top", Chunk: 0})
	require.NoError(t, err)
	for where, digest := range map[string]string{"town": tables[0].SHA256, "top": folds[0].State, "top chunk 0": chunk.Pack} {
		for kind, change := range map[string]func([]byte) []byte{audit.PayloadMissing: nil, audit.PayloadCorrupt: flip} {
			t.Run(kind+" "+where, func(t *testing.T) {
				s.damage(t, digest, change)
				report := verify(t, s, s.Log.Reader)
				require.Len(t, report.Problems, 1, "%+v", report.Problems)
				require.Equal(t, []string{kind, where}, []string{report.Problems[0].Kind, report.Problems[0].Where})
				require.Contains(t, report.Problems[0].Detail, digest)
			})
		}
	}
	s.damage(t, chunk.Pack, nil)
	require.Contains(t, verify(t, s, s.Log.Reader).NotChecked, audit.Check{What: "folds", Name: "meet", Detail: "the folds from 3 on cannot be taken again without top chunk 0"})
}

// TestVerifyWithoutTheTable has neither the table that the run kept nor the file that it came from as it was.
func TestVerifyWithoutTheTable(t *testing.T) {
	s := playGraph(t)
	other := func([]byte) []byte { return []byte("code,name\nTX,Dallas\n") }
	damage(t, filepath.Join(s.Folder, "towns.csv"), other)
	require.Empty(t, verify(t, s, s.Log.Reader).Problems, "the run kept its own")
	tables, err := s.Log.Tables(t.Context(), run)
	require.NoError(t, err)
	s.damage(t, tables[0].SHA256, nil)
	report := verify(t, s, s.Log.Reader)
	require.Len(t, report.Problems, 2)
	require.Equal(t, audit.PayloadMissing, report.Problems[0].Kind)
	require.Equal(t, audit.DocumentUnusable, report.Problems[1].Kind)
}

// TestVerifyWhatAPackSaysOfItsRows gives the rows that came out of a sort another payload, which is whole, holds the same
// records, and says something else of them.
func TestVerifyWhatAPackSaysOfItsRows(t *testing.T) {
	s := playGraph(t)
	chunk, err := s.Log.Chunk(t.Context(), run, landscape.ChunkKey{Source: "top", Chunk: 0})
	require.NoError(t, err)
	stored, err := s.Payloads.Get(t.Context(), payload.Digest(chunk.Pack))
	require.NoError(t, err)
	for field, c := range map[string]struct{ value, detail string }{
		"keys":    {`"AAQAAAAAAAIABAAAAAAAAQ=="`, "row 1: other fork parents are in its payload than come out of the fold"},
		"orders":  {`[["state","id","cost","items","town","verdict"]]`, "row 1: fields in another order are in its payload"},
		"lost":    {`[]`, "branches were lost in the fold, taken again; its payload says 0"},
		"refused": {`[{"index":0,"code":"X","message":"x"}]`, "row 1: another refusal is in its payload"},
	} {
		t.Run(field, func(t *testing.T) {
			pack, err := payload.DecodePack(stored)
			require.NoError(t, err)
			about := map[string]json.RawMessage{}
			require.NoError(t, json.Unmarshal(pack.Context, &about))
			about[field] = json.RawMessage(c.value)
			pack.Context, err = json.Marshal(about)
			require.NoError(t, err)
			other, err := payload.EncodePack(nil, pack)
			require.NoError(t, err)
			digest, err := s.Payloads.Put(t.Context(), other)
			require.NoError(t, err)
			report := verify(t, s, tampered(t, s, `update chunks set pack = '`+string(digest)+`' where source = 'top'`))
			said := slices.ContainsFunc(report.Problems, func(p audit.Problem) bool {
				return p.Where == "top chunk 0" && strings.Contains(p.Detail, c.detail)
			})
			require.True(t, said, "%+v", report.Problems)
		})
	}
}
