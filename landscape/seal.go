package landscape

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"waymark/landscape/seal"
)

// Salts are keys from which the salts of sealed records follow. A run has one record of them, of no source and of chunk -1: the root of all. Once a
// row was forgotten, each chunk has its own, which the root does not give any more, and each seal that counts, of no source and its number.
type Salts struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Keys   []byte `db:"keys,move,first"` // 16 each; empty if no salt is left
}

// ChunkSeal binds everything that was recorded of the rows of a chunk when it had gone through the steps.
type ChunkSeal struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Root   []byte `db:"root"` // 32 bytes: of the tree over its rows (docs/seal.md)
}

// Table returns salts.
func (Salts) Table() string { return "salts" }

// Table returns chunk_seals.
func (ChunkSeal) Table() string { return "chunk_seals" }

// rootOfSalts is the chunk of the record from which all salts of a run follow.
const rootOfSalts = -1

// sealing is what the seals of a run begin with. It never changes.
type sealing struct {
	key     seal.Key
	nodes   map[string]uint16 // to their numbers
	sources map[string]bool   // those of the nodes that read
}

// sealingOf returns what the seals of a run begin with.
func (r *Reader) sealingOf(ctx context.Context, run string) (*sealing, error) {
	if known, ok := r.sealings.Get(run); ok {
		return known, nil
	}
	key, err := r.rootKey(ctx, run)
	if err != nil {
		return nil, err
	}
	s := &sealing{key: key, nodes: map[string]uint16{}, sources: map[string]bool{}}
	nodes, err := r.Nodes(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if node.Seq < 0 || node.Seq > maxSealed {
			return nil, fmt.Errorf("node %s: its number %d has no room in a seal", node.Node, node.Seq)
		}
		s.nodes[node.Node], s.sources[node.Node] = uint16(node.Seq), node.Kind == SourceNode
	}
	r.sealings.Add(run, s)
	return s, nil
}

// maxSealed is the greatest number of a node or lane in a seal.
const maxSealed = 1<<16 - 1

// RecordSealed is RecordPassage, and records in the same transaction the root that binds what is recorded of each row of the chunk. records
// are its records as they went through the steps. It returns the root as hex digits. A repeat with equal content gives the same root; with any other, the error is a *DivergedError.
func (l *Log) RecordSealed(ctx context.Context, p Passage, records Records) (root string, err error) {
	chunk, insert, err := l.newPassage(ctx, p)
	if err == nil {
		if insert, root, err = l.appendSeal(ctx, insert, chunk, p, records); err == nil {
			err = l.insert(ctx, insert...)
		}
	}
	if err != nil {
		return "", fmt.Errorf("record passage of %s chunk %d of run %s: %w", p.Source, p.Chunk, p.Run, err)
	}
	return root, nil
}

// appendSeal appends the seal of a chunk to the records of its passage.
func (l *Log) appendSeal(ctx context.Context, insert []Record, chunk Chunk, p Passage, records Records) ([]Record, string, error) {
	s, err := l.sealingOf(ctx, p.Run)
	if err != nil {
		return nil, "", err
	}
	var parents []ParentsRecord
	if !s.sources[p.Source] { // what was read was made from nothing
		parents, err = Select[ParentsRecord](ctx, l.from, p.Run, p.Source, p.Chunk)
	}
	if err != nil {
		return nil, "", err
	}
	rows, err := s.rows(chunk, p, records, parents, insert)
	if err != nil {
		return nil, "", err
	}
	root := rows.Root(seal.Whole(s.key.Chunk(p.Source, p.Chunk), rows.Len()))
	return append(insert, ChunkSeal{Run: p.Run, Source: p.Source, Chunk: p.Chunk, Root: root[:]}), hex.EncodeToString(root[:]), nil
}

// sealedRows is rows with what is recorded of what the rows were made from.
func (r *Reader) sealedRows(ctx context.Context, s *sealing, chunk Chunk, p Passage, records Records, recorded []Record) (*seal.Rows, error) {
	parents, err := Select[ParentsRecord](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return nil, err
	}
	return s.rows(chunk, p, records, parents, recorded)
}

// rows returns what is sealed of a chunk's rows. The errors of the passage, and its roots over fields, are those in recorded.
func (s *sealing) rows(chunk Chunk, p Passage, records Records, parents []ParentsRecord, recorded []Record) (*seal.Rows, error) {
	if err := checkRecords(chunk, records); err != nil {
		return nil, err
	}
	rows := &seal.Rows{First: chunk.FirstRow, Hashes: records.Hashes, Offsets: records.Offsets, Lengths: records.Lengths, Lines: records.Lines}
	for _, slice := range parents {
		rows.Parents.Batches = append(rows.Parents.Batches, slice.Batches...)
		rows.Parents.Tokens = append(rows.Parents.Tokens, slice.Tokens...)
	}
	if err := s.addRoutes(rows, p); err != nil {
		return nil, err
	}
	if err := s.addColumns(rows, p); err != nil {
		return nil, err
	}
	var err error
	if rows.Fields, err = fieldRoots(chunk, recorded); err != nil {
		return nil, err
	}
	return rows, s.addErrors(rows, chunk, errorsOf(recorded))
}

// addRoutes adds the ways of tokens, and how branches were merged.
func (s *sealing) addRoutes(rows *seal.Rows, p Passage) error {
	for _, lane := range p.Lanes {
		codes := seal.Codes{Lane: uint16(lane.Lane), Codes: lane.Codes}
		for _, way := range lane.Ways {
			codes.IDs = append(codes.IDs, idBytes(way.ID()))
		}
		if len(codes.IDs) > 0 {
			rows.Ways = append(rows.Ways, codes)
		}
	}
	for _, merged := range p.Merges {
		codes := seal.Codes{Lane: uint16(merged.Lane), Codes: merged.Codes}
		for _, kind := range merged.Kinds {
			codes.IDs = append(codes.IDs, idBytes(kind.ID()))
		}
		if len(codes.IDs) > 0 {
			rows.Joins = append(rows.Joins, codes)
		}
	}
	for _, lanes := range [][]seal.Codes{rows.Ways, rows.Joins} {
		for _, lane := range lanes {
			if err := checkCodes(lane, rows.Len()); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCodes refuses codes that mean nothing.
func checkCodes(lane seal.Codes, rows int) error {
	if len(lane.Codes) != rows {
		return incomplete("lane %d has %d codes for %d rows", lane.Lane, len(lane.Codes), rows)
	}
	for i, code := range lane.Codes {
		if code != seal.NoWay && int(code) >= len(lane.IDs) {
			return incomplete("the code of row %d in lane %d means nothing", i, lane.Lane)
		}
	}
	return nil
}

// idBytes returns an id of 16 hex digits as bytes.
func idBytes(id string) (bytes [8]byte) {
	_, _ = hex.Decode(bytes[:], []byte(id)) // made of 8 bytes
	return bytes
}

// addColumns adds hashes, keys and repeats.
func (s *sealing) addColumns(rows *seal.Rows, p Passage) error {
	add := func(to *[]seal.Column, lane int64, node string, values []byte, size int) error {
		number, known := s.nodes[node]
		if !known || len(values) != size*rows.Len() {
			return incomplete("the column of node %s has %d bytes for %d rows, or the run has no such node", node, len(values), rows.Len())
		}
		*to = append(*to, seal.Column{Lane: uint16(lane), Node: number, Values: values})
		return nil
	}
	for _, h := range p.Hashes {
		if err := add(&rows.Columns, h.Lane, h.Node, h.Hashes, HashBytes); err != nil {
			return err
		}
	}
	for _, r := range p.Repeats {
		if err := add(&rows.Firsts, r.Lane, r.Node, packTokens(r.Firsts), 8); err != nil {
			return err
		}
	}
	for number, key := range sortedKeys(p.Keys) {
		if len(key.Hashes) != 4*rows.Len() {
			return incomplete("key %s has %d bytes for %d rows", key.Field, len(key.Hashes), rows.Len())
		}
		rows.Keys = append(rows.Keys, seal.Column{Node: uint16(number), Values: key.Hashes})
	}
	return nil
}

// addErrors adds why tokens were refused.
func (s *sealing) addErrors(rows *seal.Rows, chunk Chunk, refused []RowError) error {
	var line []byte
	for _, e := range refused {
		number, known := s.nodes[e.Node]
		if i := e.Row - chunk.FirstRow; !known || i < 0 || i >= int64(rows.Len()) {
			return incomplete("the error of row %d at node %s: the run has no such node, or the chunk no such row", e.Row, e.Node)
		}
		line = appendLine(line[:0], e)
		rows.Errors = append(rows.Errors, seal.Error{Row: int(e.Row - chunk.FirstRow), Lane: uint16(e.Lane), Node: number, Digest: seal.Digest(line)})
	}
	return nil
}

// appendLine appends the line of a record, without those of its columns of which only the first value stays.
func appendLine(dst []byte, r Record) []byte {
	t := TableOf(r)
	members := make([]seal.Member, 0, len(t.Columns)+1)
	for i, value := range t.AppendValues(nil, r) {
		if c := t.Columns[i]; !c.First {
			members = append(members, seal.Member{Name: c.Name, Value: value})
		}
	}
	return seal.AppendLine(dst, t.Name, members)
}

// ChunkSeals returns the seals of a run's chunks, by source and chunk; nil if none went through the steps.
func (r *Reader) ChunkSeals(ctx context.Context, run string) ([]ChunkSeal, error) {
	return Select[ChunkSeal](ctx, r.from, run)
}

// SealedRows returns what is recorded of the rows of a chunk that went through the steps, as RecordSealed seals it. The error wraps
// ErrIncomplete if columns do not fit each other, and ErrNotFound if something that they refer to is not there. Columns that nothing writes are no reason to panic.
func (r *Reader) SealedRows(ctx context.Context, chunk Chunk) (rows *seal.Rows, err error) {
	defer func() {
		if recover() != nil {
			err = incomplete("columns of what is recorded of its rows have lengths that nothing writes")
		}
	}()
	s, err := r.sealingOf(ctx, chunk.Run)
	if err != nil {
		return nil, err
	}
	records, err := r.Records(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return nil, err
	}
	p, err := r.passage(ctx, chunk)
	if err != nil {
		return nil, err
	}
	recorded, err := r.refusedOnTheWay(ctx, chunk, p)
	if err != nil {
		return nil, err
	}
	err = each(ctx, r.from, []any{chunk.Run, chunk.Source, chunk.Chunk}, func(slice FieldRootsRecord) bool {
		recorded = append(recorded, slice)
		return true
	})
	if err != nil {
		return nil, err
	}
	if rows, err = r.sealedRows(ctx, s, chunk, p, records, recorded); err != nil {
		return nil, err
	}
	rows.Forgotten, err = r.forgottenLeaves(ctx, chunk)
	return rows, err
}

// ComputedRows returns what SealedRows would if the passage of a chunk, and the hashes of its records, were as they are given.
func (r *Reader) ComputedRows(ctx context.Context, chunk Chunk, p Passage, records Records) (*seal.Rows, error) {
	rehearsed := &rehearsal{source: r.from}
	s, err := r.sealingOf(ctx, chunk.Run)
	if err != nil {
		return nil, err
	}
	insert, err := (&Log{Reader: newReader(rehearsed), driver: rehearsed, clock: time.Now}).passageRecords(ctx, chunk, p)
	if err != nil {
		return nil, err
	}
	return r.sealedRows(ctx, s, chunk, p, records, insert)
}

// passage returns what is recorded of a chunk's passage, as far as it is sealed with the chunk's rows.
func (r *Reader) passage(ctx context.Context, chunk Chunk) (p Passage, err error) {
	key := chunk.Key()
	p = Passage{Run: chunk.Run, Source: chunk.Source, Chunk: chunk.Chunk}
	if p.Lanes, err = r.AllRoutes(ctx, chunk.Run, key); err != nil {
		return p, err
	}
	if p.Hashes, err = r.Hashes(ctx, chunk.Run, key); err != nil {
		return p, err
	}
	keys, err := Select[KeyHashes](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return p, err
	}
	for _, k := range keys {
		p.Keys = append(p.Keys, KeyColumn{Field: k.Field, Hashes: k.Hashes})
	}
	if p.Repeats, err = r.Repeats(ctx, chunk.Run, key); err != nil {
		return p, err
	}
	joins, err := Select[MergeCodes](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return p, err
	}
	for _, j := range joins {
		merged, err := r.merges(ctx, chunk, j.Lane)
		if err != nil {
			return p, err
		}
		p.Merges = append(p.Merges, merged)
	}
	return p, nil
}

// refusedOnTheWay returns the errors of a chunk's tokens, without those of targets that refused them when their parts were written.
func (r *Reader) refusedOnTheWay(ctx context.Context, chunk Chunk, p Passage) (refused []Record, err error) {
	late, end := p.late(chunk.FirstRow), chunk.FirstRow+chunk.Rows
	q := Query{Prefix: []any{chunk.Run, chunk.Source}, After: []any{chunk.FirstRow - 1, int64(math.MaxInt64)}}
	err = r.from.Read(ctx, RowError{}, q, func(record Record) bool {
		e := record.(RowError)
		if e.Row < end && !late(e) {
			refused = append(refused, e)
		}
		return e.Row < end
	})
	return refused, err
}

// errorsOf returns the errors among records.
func errorsOf(records []Record) (found []RowError) {
	for _, record := range records {
		if e, is := record.(RowError); is {
			found = append(found, e)
		}
	}
	return found
}
