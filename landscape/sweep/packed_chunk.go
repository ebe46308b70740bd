package sweep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"waymark/landscape"
)

func compare[T cmp.Ordered](a, b T) int { return cmp.Compare(a, b) }

func finding(check, source string, chunk int64, node, format string, args ...any) landscape.Finding {
	return landscape.Finding{Check: check, Source: source, Chunk: chunk, Node: node, Detail: fmt.Sprintf(format, args...)}
}

// passage is the codes of one lane of a chunk.
type passage struct {
	Run       string `db:"run_id,key"`
	Source    string `db:"source,key"`
	Chunk     int64  `db:"chunk,key"`
	Lane      int64  `db:"lane,key"`
	CodeBytes int64  `db:"code_bytes"`
	WayCodes  []byte `db:"way_codes"`
}

// Table returns passages.
func (passage) Table() string { return "passages" }

// chunkSweep looks at the tokens of one chunk.
type chunkSweep struct {
	*packed
	chunkRows
	refused []refused
	used    []landscape.ChunkWayRecord
	lines   map[string]int64 // by sink: tokens bound for it that its target did not refuse
	found   []landscape.Finding
}

// chunk returns what is wrong with the tokens of one chunk.
func (p *packed) chunk(ctx context.Context, c chunkRows) ([]landscape.Finding, error) {
	s := &chunkSweep{packed: p, chunkRows: c, refused: p.errorsOf(c), lines: map[string]int64{}}
	passages, err := landscape.Select[passage](ctx, p.reader, c.Run, c.Source, c.Chunk)
	if err != nil {
		return nil, err
	}
	if s.used, err = landscape.Select[landscape.ChunkWayRecord](ctx, p.reader, c.Run, c.Source, c.Chunk); err != nil {
		return nil, err
	}
	for _, lane := range p.lanes {
		if lane.Source != c.Source {
			continue
		}
		codes, passed := codesOf(passages, lane.Lane)
		if !passed && lane.Name != "" {
			continue
		}
		if err := s.lane(ctx, lane, codes); err != nil {
			return nil, err
		}
	}
	for _, u := range s.used { // those that were counted are struck off
		s.report("way_codes", "", "way %s: codes of 0 rows, counted %d", u.Way, u.Rows)
	}
	s.found = append(s.found, sinkLines(p.effects[c.key()], s.lines)...)
	if err := s.joins(ctx); err != nil {
		return nil, err
	}
	return s.found, s.hashes(ctx)
}

func (s *chunkSweep) report(check, node, format string, args ...any) {
	s.found = append(s.found, finding(check, s.Source, s.Chunk, node, format, args...))
}

// codes is a column of big-endian numbers.
type codes struct {
	packed []byte
	width  int64
}

func codesOf(passages []passage, lane int64) (codes, bool) {
	for _, p := range passages {
		if p.Lane == lane {
			return codes{p.WayCodes, p.CodeBytes}, true
		}
	}
	return codes{}, false
}

// at returns code number i; -1 if the column has none.
func (c codes) at(i int64) int {
	switch {
	case c.width == 1 && i < int64(len(c.packed)):
		return int(c.packed[i])
	case c.width != 1 && 2*i+2 <= int64(len(c.packed)):
		return int(binary.BigEndian.Uint16(c.packed[2*i:]))
	default:
		return -1
	}
}

// lane looks at the tokens of one lane, and counts their codes. In all but root lanes a code without a way is no token.
func (s *chunkSweep) lane(ctx context.Context, lane landscape.Lane, column codes) error {
	ends := s.ends(lane)
	of := func(r refused) bool { return int64(r.lane) != lane.Lane }
	tokens := tokens{chunkSweep: s, lane: lane, refused: slices.DeleteFunc(slices.Clone(s.refused), of)}
	if err := tokens.loadMembers(ctx, ends); err != nil {
		return err
	}
	var unknown int64
	counts := make([]int64, len(ends))
	for i := range s.Rows {
		switch code := column.at(i); {
		case code >= 0 && code < len(ends) && ends[code] != nil:
			counts[code]++
			tokens.look(i, ends[code])
		case lane.Name == "":
			unknown++
			tokens.look(i, nil)
		}
	}
	s.count(lane, counts, unknown)
	return nil
}

// count holds the codes of a lane against their counts on record, which it strikes off.
func (s *chunkSweep) count(lane landscape.Lane, counts []int64, unknown int64) {
	s.used = slices.DeleteFunc(s.used, func(u landscape.ChunkWayRecord) bool {
		if u.Lane != lane.Lane || u.Code < 0 || u.Code >= int64(len(counts)) || counts[u.Code] == 0 {
			return false
		}
		if rows := counts[u.Code]; rows != u.Rows {
			s.report("way_codes", "", "way %s: codes of %d rows, counted %d", u.Way, rows, u.Rows)
		}
		return true
	})
	if unknown > 0 {
		s.report("way_codes", "", "way unknown: codes of %d rows, counted 0", unknown)
	}
}

// sinkLines compares the writes to sinks that are finalized with how many tokens are on the lines of each.
func sinkLines(writes []write, lines map[string]int64) (found []landscape.Finding) {
	for _, w := range writes {
		if w.Kind != landscape.WriteEffect || w.State != landscape.Finalized {
			continue
		}
		rows := lines[w.Sink]
		if w.Ordinal == nil {
			rows = 0
		}
		if out := w.Rows - w.Refused; rows != out {
			found = append(found, finding("sink_lines", w.Source, w.Chunk, w.Sink, "out %d rows, lines %d", out, rows))
		}
	}
	return found
}

// joins counts the codes of merges.
func (s *chunkSweep) joins(ctx context.Context) error {
	joins, err := landscape.Select[landscape.MergeCodes](ctx, s.reader, s.Run, s.Source, s.Chunk)
	if err != nil {
		return err
	}
	used, err := landscape.Select[landscape.ChunkMerge](ctx, s.reader, s.Run, s.Source, s.Chunk)
	if err != nil {
		return err
	}
	for _, j := range joins {
		used = s.join(j, used)
	}
	for _, u := range used {
		s.report("merge_codes", "", "merge kind %s: codes of 0 rows, counted %d", u.Kind, u.Rows)
	}
	return nil
}

// join counts the codes of the merges of one lane, and returns the counts on record of the others.
func (s *chunkSweep) join(j landscape.MergeCodes, used []landscape.ChunkMerge) (others []landscape.ChunkMerge) {
	column, counts, none := codes{j.Codes, j.CodeBytes}, map[int]int64{}, 0xFF
	if j.CodeBytes != 1 {
		none = 0xFFFF
	}
	for i := range j.Rows {
		if code := column.at(i); code != none {
			counts[code]++
		}
	}
	for _, u := range used {
		rows, is := counts[int(u.Code)]
		if u.Lane != j.Lane || !is {
			others = append(others, u)
			continue
		}
		delete(counts, int(u.Code))
		if rows != u.Rows {
			s.report("merge_codes", "", "merge kind %s: codes of %d rows, counted %d", u.Kind, rows, u.Rows)
		}
	}
	var unknown int64
	for _, rows := range counts {
		unknown += rows
	}
	if unknown > 0 {
		s.report("merge_codes", "", "merge kind unknown: codes of %d rows, counted 0", unknown)
	}
	return others
}

// hashes counts the hashes that are there. Those of forgotten rows may be gone.
func (s *chunkSweep) hashes(ctx context.Context) error {
	forgotten, err := landscape.Select[landscape.Forgotten](ctx, s.reader, s.Run, s.Source, s.Chunk)
	if err != nil {
		return err
	}
	return landscape.Each(ctx, s.reader, func(h landscape.HashesRecord) bool {
		rows, gone := countHashes(h), int64(0)
		for _, f := range forgotten {
			if f.Slot/landscape.SliceRows == h.Slice {
				gone++
			}
		}
		if rows > h.Rows || rows+gone < h.Rows {
			s.report("hash_missing", h.Node, "slice %d: hashes of %d rows, counted %d", h.Slice, h.Rows, rows)
		}
		return true
	}, s.Run, s.Source, s.Chunk)
}

// zeros stand where a row has no hash.
var zeros [landscape.HashBytes]byte

func countHashes(h landscape.HashesRecord) (rows int64) {
	presence, width := h.Slots, 2
	if presence == nil {
		presence, width = h.Hashes, landscape.HashBytes
	}
	for ; len(presence) > 0; presence = presence[min(width, len(presence)):] {
		if !bytes.Equal(presence[:min(width, len(presence))], zeros[:width]) {
			rows++
		}
	}
	return rows
}
