package memdriver

import (
	"bytes"
	"encoding/binary"
	"slices"

	"waymark/landscape"
)

// codePlace is a code in a lane of a chunk.
type codePlace struct {
	place
	lane, code int64
}

// checkCodes counts the codes of every token, and of every merge.
func (s *sweeping) checkCodes() {
	counted := map[codePlace]int64{}
	for _, p := range all[landscape.PassageRecord](s.tables, s.run) {
		s.countCodes(counted, codePlace{place{p.Source, p.Chunk, ""}, p.Lane, 0}, p.WayCodes, p.CodeBytes)
	}
	for _, u := range s.used {
		counted[codePlace{place{u.Source, u.Chunk, ""}, u.Lane, u.Code}] -= u.Rows
	}
	s.reportCodes("way_codes", counted)

	counted = map[codePlace]int64{}
	for _, j := range all[landscape.JoinsRecord](s.tables, s.run) {
		s.countCodes(counted, codePlace{place{j.Source, j.Chunk, ""}, j.Lane, 0}, j.Codes, j.CodeBytes)
	}
	for _, u := range all[landscape.ChunkJoinRecord](s.tables, s.run) {
		counted[codePlace{place{u.Source, u.Chunk, ""}, u.Lane, u.Code}] -= u.Rows
	}
	s.reportCodes("merge_codes", counted)
}

// countCodes counts a column of codes of the lane at. All ones say in all but root lanes that a row has none.
func (s *sweeping) countCodes(counted map[codePlace]int64, at codePlace, codes []byte, width int64) {
	for code := range slices.Chunk(codes, int(width)) {
		if !s.isRoot(at.lane) && bytes.Equal(code, []byte{0xFF, 0xFF}[:width]) {
			continue
		}
		at.code = 0
		for _, b := range code {
			at.code = at.code<<8 | int64(b)
		}
		counted[at]++
	}
}

func (s *sweeping) reportCodes(check string, counted map[codePlace]int64) {
	for at, rows := range counted {
		if rows != 0 {
			s.report(check, at.place, "lane %d, code %d: %d more than counted", at.lane, at.code, rows)
		}
	}
}

// checkLate looks whether what the targets of sinks refused are tokens that came to these.
func (s *sweeping) checkLate() {
	ways := map[codePlace]landscape.WayRecord{}
	for _, u := range s.used {
		ways[codePlace{place{u.Source, u.Chunk, ""}, u.Lane, u.Code}] = s.ways[u.Way]
	}
	for _, e := range all[landscape.RowError](s.tables, s.run) {
		if s.nodes[e.Node].Kind != landscape.SinkNode {
			continue
		}
		way := ways[codePlace{place{e.Source, e.Chunk, ""}, e.Lane, s.code(e)}]
		if way.Sink != e.Node && way.LastNode != e.Node {
			s.report("sink_lines", place{e.Source, e.Chunk, e.Node}, "row %d in lane %d is refused, and did not come there", e.Row, e.Lane)
		}
	}
}

// code returns the code of the token that an error is of; -1 if there is none.
func (s *sweeping) code(e landscape.RowError) (code int64) {
	for _, c := range all[landscape.Chunk](s.tables, s.run, e.Source, e.Chunk) {
		for _, p := range all[landscape.PassageRecord](s.tables, s.run, e.Source, e.Chunk, e.Lane) {
			if at := (e.Row - c.FirstRow) * p.CodeBytes; at >= 0 && at+p.CodeBytes <= int64(len(p.WayCodes)) {
				for _, b := range p.WayCodes[at : at+p.CodeBytes] {
					code = code<<8 | int64(b)
				}
				return code
			}
		}
	}
	return -1
}

// checkHashColumns counts the hashes that are there.
func (s *sweeping) checkHashColumns() {
	for _, h := range all[landscape.HashesRecord](s.tables, s.run) {
		var rows int64
		presence, width := h.Slots, 2
		if presence == nil {
			presence, width = h.Hashes, landscape.HashBytes
		}
		for value := range slices.Chunk(presence, width) {
			if !bytes.Equal(value, make([]byte, width)) {
				rows++
			}
		}
		if rows != h.Rows {
			s.report("hash_missing", place{h.Source, h.Chunk, h.Node}, "slice %d: hashes of %d rows, counted %d", h.Slice, h.Rows, rows)
		}
	}
}

// batchPlace is a batch of a barrier.
type batchPlace struct {
	node  string
	batch int64
}

// checkBatchRows counts the tokens of every batch.
func (s *sweeping) checkBatchRows() {
	counted := map[batchPlace]int64{}
	for _, m := range all[landscape.MembersRecord](s.tables, s.run) {
		for word := range slices.Chunk(m.Batches, 4) {
			if batch := binary.BigEndian.Uint32(word); batch != 0 {
				counted[batchPlace{m.Node, int64(batch)}]++
			}
		}
	}
	for _, b := range all[landscape.BatchRecord](s.tables, s.run) {
		counted[batchPlace{b.Node, b.Batch}] -= b.Rows
	}
	for at, rows := range counted {
		if rows != 0 {
			s.report("batch_rows", place{"", -1, at.node}, "batch %d: %d members more than rows that fired", at.batch, rows)
		}
	}
}
