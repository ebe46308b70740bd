package sweep

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"waymark/landscape"
)

// batch is a batch of a barrier, on record or with members.
type batch struct {
	rows    int64 // on record
	members int64
	path    uint8 // place in packed.paths
	there   bool  // it fired
	made    bool  // a merge made a row of it
	fine    bool  // its tokens ended without a merge, as tokens of a batch may
}

// batches are those of one barrier, by number.
type batches map[int64]batch

// batchEnd is how the tokens of a batch ended.
type batchEnd struct {
	Run   string `db:"run_id,key"`
	Node  string `db:"node,key"`
	Batch int64  `db:"batch,key"`
	Path  string `db:"path"`
	Rows  int64  `db:"rows"`
}

// Table returns batches.
func (batchEnd) Table() string { return "batches" }

// mergeOut is what came of a batch of a coalesce.
type mergeOut struct {
	Run    string `db:"run_id,key"`
	Node   string `db:"node,key"`
	Batch  int64  `db:"batch,key"`
	OutRow *int64 `db:"out_row,null"`
}

// Table returns merges.
func (mergeOut) Table() string { return "merges" }

func (p *packed) loadBatches(ctx context.Context) error {
	p.batches = map[string]batches{}
	err := landscape.Each(ctx, p.reader, func(b batchEnd) bool {
		path := p.pathNumber(b.Path)
		p.barrier(b.Node)[b.Batch] = batch{rows: b.Rows, path: path, there: true, fine: b.Path == "batch_consumed" || b.Path == "expand_parent" || b.Path == "branch_not_needed"}
		return true
	}, p.run)
	if err != nil {
		return err
	}
	err = landscape.Each(ctx, p.reader, func(m mergeOut) bool {
		if b, fired := p.batches[m.Node][m.Batch]; fired && m.OutRow != nil {
			b.made, b.fine = true, b.fine || p.paths[b.path] == "coalesced"
			p.batches[m.Node][m.Batch] = b
		}
		return true
	}, p.run)
	if err != nil {
		return err
	}
	return p.countMembers(ctx)
}

func (p *packed) barrier(node string) batches {
	if p.batches[node] == nil {
		p.batches[node] = batches{}
	}
	return p.batches[node]
}

func (p *packed) pathNumber(path string) uint8 {
	if at := slices.Index(p.paths, path); at >= 0 {
		return uint8(at)
	}
	if len(p.paths) < 255 { // there are four: what is not among these is wrong, whatever it is
		p.paths = append(p.paths, path)
	}
	return uint8(len(p.paths) - 1)
}

// countMembers counts the members of every batch. Members of no chunk and of no lane are none.
func (p *packed) countMembers(ctx context.Context) error {
	lanes := map[int64]bool{}
	for _, lane := range p.lanes {
		lanes[lane.Lane] = true
	}
	return landscape.Each(ctx, p.reader, func(m memberSlice) bool {
		if !p.known[landscape.ChunkKey{Source: m.Source, Chunk: m.Chunk}] || !lanes[m.Lane] {
			return true
		}
		all := p.barrier(m.Node)
		for words := m.Batches; len(words) >= 4; words = words[4:] {
			if number := int64(binary.BigEndian.Uint32(words)); number != 0 {
				b := all[number]
				b.members++
				all[number] = b
			}
		}
		return true
	}, p.run)
}

// batchCounts compares the members of every batch with the rows with which it fired.
func (p *packed) batchCounts() (found []landscape.Finding) {
	for _, node := range slices.Sorted(maps.Keys(p.batches)) {
		var wrong []int64
		for number, b := range p.batches[node] {
			if b.members != b.rows || !b.there {
				wrong = append(wrong, number)
			}
		}
		slices.Sort(wrong)
		for _, number := range wrong[:min(len(wrong), MostFindings)] {
			b := p.batches[node][number]
			if b.there {
				found = append(found, finding("batch_rows", "", -1, node, "batch %d: %d rows, members %d", number, b.rows, b.members))
			} else {
				found = append(found, finding("batch_rows", "", -1, node, "batch %d with %d members did not fire", number, b.members))
			}
		}
	}
	return found
}
