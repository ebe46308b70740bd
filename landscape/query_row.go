package landscape

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"waymark/pipeline"
)

// Routes returns which way each row of a chunk took. The error wraps ErrNotFound if it did not go through the steps yet.
func (l *Log) Routes(ctx context.Context, run, source string, chunk int64) (Routes, error) {
	p, err := get[PassageRecord](ctx, l.driver, run, source, chunk)
	if err != nil {
		return Routes{}, err
	}
	used, err := Select[ChunkWayRecord](ctx, l.driver, run, source, chunk)
	if err != nil {
		return Routes{}, err
	}
	routes := Routes{
		Run: run, Source: source, Chunk: chunk, Codes: p.codes(),
		Started: p.Started, Finished: p.Finished, Attempt: p.Attempt, Worker: p.Worker,
	}
	for _, u := range used {
		way, err := l.way(ctx, run, u.Way)
		if err != nil {
			return Routes{}, err
		}
		routes.Ways = append(routes.Ways, way)
	}
	return routes, nil
}

// codes unpacks the way codes.
func (p PassageRecord) codes() []uint16 {
	codes := make([]uint16, p.Rows)
	for i := range codes {
		if p.CodeBytes == 1 {
			codes[i] = uint16(p.WayCodes[i])
		} else {
			codes[i] = binary.BigEndian.Uint16(p.WayCodes[2*i:])
		}
	}
	return codes
}

// way returns one way of a run.
func (l *Log) way(ctx context.Context, run, id string) (Way, error) {
	w, err := get[WayRecord](ctx, l.driver, run, id)
	if err != nil {
		return Way{}, err
	}
	steps, err := Select[WayStepRecord](ctx, l.driver, run, id)
	if err != nil {
		return Way{}, err
	}
	way := Way{Path: pipeline.Path(w.Path), Sink: w.Sink}
	if way.ToSink() {
		steps = steps[:len(steps)-1]
	}
	for _, s := range steps {
		way.Steps = append(way.Steps, Step{Node: s.Node, Label: s.Label})
	}
	return way, nil
}

// WayOf returns the way of one row. The error wraps ErrNotFound if the row was not read or did not go through the steps
// yet.
func (l *Log) WayOf(ctx context.Context, run, source string, row int64) (Way, error) {
	_, _, way, err := l.find(ctx, run, source, row)
	return way, err
}

// find returns the chunk of a row, its index there, and its way.
func (l *Log) find(ctx context.Context, run, source string, row int64) (Chunk, int, Way, error) {
	chunk, err := l.ChunkOf(ctx, run, source, row)
	if err != nil {
		return Chunk{}, 0, Way{}, err
	}
	routes, err := l.Routes(ctx, run, source, chunk.Chunk)
	if err != nil {
		return Chunk{}, 0, Way{}, err
	}
	i := int(row - chunk.FirstRow)
	return chunk, i, routes.Ways[routes.Codes[i]], nil
}

// HashAt returns the hash of a row's canonical bytes as it left a node, or as it reached a sink. It is false if the row
// did not come to the node or was refused there.
func (l *Log) HashAt(ctx context.Context, run, source string, row int64, node string) ([HashBytes]byte, bool, error) {
	chunk, i, way, err := l.find(ctx, run, source, row)
	if err != nil {
		return noHash, false, err
	}
	nodes, err := l.Nodes(ctx, run)
	if err != nil {
		return noHash, false, err
	}
	own, ok := way.ownHash(node, nodes)
	if !ok {
		return noHash, false, nil
	}
	h, err := get[HashesRecord](ctx, l.driver, run, source, chunk.Chunk, own, int64(i/SliceRows))
	if err != nil {
		return noHash, false, err
	}
	hash := h.at(i % SliceRows)
	return hash, hash != noHash, nil
}

// ownHash returns the last node on the way, up to and including node, that has hashes of its own.
func (w Way) ownHash(node string, nodes []Node) (string, bool) {
	steps := w.Steps
	if w.failed() {
		if node == w.Last() {
			return "", false
		}
		if node == w.Sink {
			steps = steps[:len(steps)-1]
		}
	}
	at := slices.IndexFunc(steps, func(s Step) bool { return s.Node == node })
	if at < 0 {
		if node != w.Sink || !w.ToSink() {
			return "", false
		}
		at = len(steps) - 1
	}
	for ; at >= 0; at-- {
		if slices.ContainsFunc(nodes, func(n Node) bool { return n.Node == steps[at].Node && n.Hashes == OwnHashes }) {
			return steps[at].Node, true
		}
	}
	return "", false
}

// at returns the hash of row i of the slice; all zero if it has none.
func (h HashesRecord) at(i int) (hash [HashBytes]byte) {
	slot := uint16(i) + 1
	if h.Slots != nil {
		slot = binary.BigEndian.Uint16(h.Slots[2*i:])
	}
	if slot != 0 {
		copy(hash[:], hashAt(h.Hashes, int(slot)-1))
	}
	return hash
}

// ErrorsOf returns why a row was refused; nil if it was not.
func (l *Log) ErrorsOf(ctx context.Context, run, source string, row int64) ([]RowError, error) {
	return Select[RowError](ctx, l.driver, run, source, row)
}

// KeyCandidates returns the rows of a source, ascending, whose business key may have these values: for each field the
// first 4 bytes of the SHA-256 of the value's canonical bytes. The caller compares the values. The error wraps
// ErrNotFound if a field is not part of the source's key.
func (l *Log) KeyCandidates(ctx context.Context, run, source string, hashes map[string][4]byte) ([]int64, error) {
	var candidates []int64
	for chunk, err := range l.Chunks(ctx, run, source) {
		if err != nil {
			return nil, err
		}
		columns, err := Select[KeysRecord](ctx, l.driver, run, source, chunk.Chunk)
		if err != nil {
			return nil, err
		}
		if columns == nil {
			continue
		}
		matches, err := matchKeys(columns, hashes)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", source, err)
		}
		for _, i := range matches {
			candidates = append(candidates, chunk.FirstRow+int64(i))
		}
	}
	return candidates, nil
}

// matchKeys returns the indexes of the rows that have all the hashes.
func matchKeys(columns []KeysRecord, hashes map[string][4]byte) ([]int, error) {
	var wanted [][]byte // pairs of column and hash
	for field, hash := range hashes {
		at := slices.IndexFunc(columns, func(c KeysRecord) bool { return c.Field == field })
		if at < 0 {
			return nil, fmt.Errorf("key field %s: %w", field, ErrNotFound)
		}
		wanted = append(wanted, columns[at].Hashes, hash[:])
	}
	var matches []int
	for i := range len(columns[0].Hashes) / 4 {
		match := true
		for j := 0; match && j < len(wanted); j += 2 {
			match = string(wanted[j][4*i:4*i+4]) == string(wanted[j+1])
		}
		if match {
			matches = append(matches, i)
		}
	}
	return matches, nil
}
