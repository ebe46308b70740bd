package landscape

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"waymark/pipeline"
)

// Ended is a token, and how it ended.
type Ended struct {
	Token  Token
	Path   pipeline.Path // pipeline.Buffered as long as a barrier holds it
	Node   string        // that ended it, or sent it to the sink
	Sink   string        // as in Way
	InSink bool          // the sink's target confirmed it and holds it
	Way    Way           // as recorded; where a batch or a target decided the end, the fields above have it
}

// TokensBehind returns the tokens of a run that took an edge which is wanted, by origin, chunk, row and lane. It begins after the token
// after, or with the first if that is nil. It reads the way codes of one chunk at a time, and of those chunks only in which a token took
// such an edge. After an error it ends; the error wraps ErrNotFound if the row of after was not read.
func (r *Reader) TokensBehind(ctx context.Context, run string, want func(EdgeKey) bool, after *Token) iter.Seq2[Ended, error] {
	return func(yield func(Ended, error) bool) {
		b, err := r.behind(ctx, run, want, after)
		for err == nil {
			var used []ChunkWayRecord
			if used, err = b.next(ctx); err != nil || used == nil {
				break
			}
			for token, failed := range b.tokens(ctx, used, after) {
				if err = failed; err != nil {
					break
				}
				if !yield(token, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(Ended{}, err)
		}
	}
}

// LaneEnds says how the tokens of one lane of a chunk ended.
type LaneEnds struct {
	Lane  int64
	Codes []uint16 // per row of the chunk: number of its end in Ends, or NoToken
	Ends  []Ended  // each once, without a Token
}

// EndsOf returns a function that returns how the tokens of a chunk ended, by lane; nil if the chunk did not go through the steps yet. It is not safe for
// concurrent use.
func (r *Reader) EndsOf(ctx context.Context, run string) (func(context.Context, ChunkKey) ([]LaneEnds, error), error) {
	b, err := r.behind(ctx, run, func(EdgeKey) bool { return true }, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, at ChunkKey) (lanes []LaneEnds, err error) {
		used, err := Select[ChunkWayRecord](ctx, b.from, run, at.Source, at.Chunk)
		if err != nil || len(used) == 0 {
			return nil, err
		}
		e, err := b.ending(ctx, used)
		for err == nil && len(used) > 0 {
			n := sameLane(used)
			var lane LaneEnds
			lane, err = e.ends(ctx, used[:n])
			lanes, used = append(lanes, lane), used[n:]
		}
		return lanes, err
	}, nil
}

// Compare orders tokens by source, row and lane: it is negative if the token comes before the other one, and 0 if they are the same.
func (t Token) Compare(other Token) int {
	return cmp.Or(cmp.Compare(t.Source, other.Source), cmp.Compare(t.Row, other.Row), cmp.Compare(t.Lane, other.Lane))
}

// behind is one call of TokensBehind.
type behind struct {
	*Reader
	run   string
	ways  map[string]Way
	whole map[string]bool // ways: all their tokens are wanted
	late  map[string]bool // sinks: the tokens that their targets refused are wanted

	q     Query // of the chunk_ways that come after page
	page  []ChunkWayRecord
	fired map[firedKey]pipeline.Path
}

// firedKey names a batch.
type firedKey struct {
	node  string
	batch int64
}

func (r *Reader) behind(ctx context.Context, run string, want func(EdgeKey) bool, after *Token) (*behind, error) {
	ways, err := r.WayCounts(ctx, run)
	if err != nil {
		return nil, err
	}
	nodes, err := r.nodesByName(ctx, run)
	if err != nil {
		return nil, err
	}
	b := &behind{
		Reader: r, run: run, ways: map[string]Way{}, whole: map[string]bool{}, late: map[string]bool{}, fired: map[firedKey]pipeline.Path{},
		q: Query{Prefix: []any{run}, Limit: chunkWaysPage},
	}
	for _, way := range ways {
		b.ways[way.ID] = way.Way
		for key := range way.Way.edges(nodes) {
			b.whole[way.ID] = b.whole[way.ID] || want(key)
		}
	}
	for name, node := range nodes {
		b.late[name] = node.Kind == SinkNode && want(lateEdge(name))
	}
	if after == nil {
		return b, nil
	}
	chunk, err := r.ChunkOf(ctx, run, after.Source, after.Row)
	b.q.After = []any{after.Source, chunk.Chunk - 1}
	return b, err
}

// chunkWaysPage is how many records of chunk_ways are read at a time.
const chunkWaysPage = 1000

// next returns, of the next chunk in which a token took a way that may be wanted, the records of these ways by lane; nil if there is none.
func (b *behind) next(ctx context.Context) (used []ChunkWayRecord, err error) {
	for {
		if len(b.page) == 0 {
			if b.page, err = Page[ChunkWayRecord](ctx, b.from, b.q); err != nil || len(b.page) == 0 {
				return used, err
			}
			last := b.page[len(b.page)-1]
			b.q.After = []any{last.Source, last.Chunk, last.Lane, last.Code}
		}
		at := b.page[0]
		if len(used) > 0 && (at.Source != used[0].Source || at.Chunk != used[0].Chunk) {
			return used, nil
		}
		b.page = b.page[1:]
		if b.whole[at.Way] || b.late[b.ways[at.Way].Sink] {
			used = append(used, at)
		}
	}
}

// tokens returns the wanted tokens of the chunk, by row and lane, that come after the token after; all if that is nil. After an error it ends.
func (b *behind) tokens(ctx context.Context, used []ChunkWayRecord, after *Token) iter.Seq2[Ended, error] {
	return func(yield func(Ended, error) bool) {
		e, err := b.ending(ctx, used)
		var lanes []wantedLane
		if err == nil {
			lanes, err = e.wantedLanes(ctx, used)
		}
		if err != nil {
			yield(Ended{}, err)
			return
		}
		first := int64(0)
		if after != nil && after.Source == e.chunk.Source {
			first = max(0, after.Row-e.chunk.FirstRow)
		}
		for i := first; i < e.chunk.Rows; i++ {
			for _, lane := range lanes {
				id := lane.wayOf(i)
				token := Token{Source: e.chunk.Source, Lane: lane.lane, Row: e.chunk.FirstRow + i}
				if id == "" || !e.whole[id] && !e.refused[token] || after != nil && after.Compare(token) >= 0 {
					continue
				}
				ended, err := e.end(ctx, token, e.ways[id])
				if !yield(ended, err) || err != nil {
					return
				}
			}
		}
	}
}

// wantedLane is a lane of a chunk in which tokens may be wanted.
type wantedLane struct {
	lane  int64
	codes []uint16          // by row
	ways  map[uint16]string // by code; only those of which tokens may be wanted
}

// wayOf returns the way of the token of a row; empty if it is not wanted.
func (l wantedLane) wayOf(row int64) string {
	if row >= int64(len(l.codes)) {
		return ""
	}
	return l.ways[l.codes[row]]
}

// wantedLanes returns the lanes in which tokens took these ways, in order.
func (e *ending) wantedLanes(ctx context.Context, used []ChunkWayRecord) (lanes []wantedLane, err error) {
	if len(e.refused) == 0 {
		used = slices.DeleteFunc(used, func(u ChunkWayRecord) bool { return !e.whole[u.Way] })
	}
	for len(used) > 0 {
		n := sameLane(used)
		lane := wantedLane{lane: used[0].Lane, ways: map[uint16]string{}}
		if lane.codes, err = e.codes(ctx, lane.lane); err != nil {
			return nil, err
		}
		for _, u := range used[:n] {
			lane.ways[uint16(u.Code)] = u.Way
		}
		lanes, used = append(lanes, lane), used[n:]
	}
	return lanes, nil
}

// sameLane is how many of these begin the list and are of one lane.
func sameLane(used []ChunkWayRecord) int {
	n := 1
	for n < len(used) && used[n].Lane == used[0].Lane {
		n++
	}
	return n
}

// ending returns what says how tokens of the chunk ended, of which these are ways.
func (b *behind) ending(ctx context.Context, used []ChunkWayRecord) (*ending, error) {
	chunk, err := b.Chunk(ctx, b.run, ChunkKey{used[0].Source, used[0].Chunk})
	if err != nil {
		return nil, err
	}
	e := &ending{behind: b, chunk: chunk, confirmed: map[string]bool{}, refused: map[Token]bool{}, members: map[string][]LaneMembers{}}
	return e, e.askTargets(ctx, used)
}

// askTargets reads what the targets said of the chunk, of the sinks to which these ways lead: first whether they confirmed it, then which tokens they refused.
func (e *ending) askTargets(ctx context.Context, used []ChunkWayRecord) error {
	sinks, some := map[string]bool{}, false
	for _, u := range used {
		way := e.ways[u.Way]
		if _, known := sinks[way.Sink]; known || !way.ToSink() {
			continue
		}
		write, err := e.Effect(ctx, EffectKey{Run: e.run, Sink: way.Sink, Source: e.chunk.Source, Chunk: e.chunk.Chunk})
		if err != nil {
			return err
		}
		sinks[way.Sink], e.confirmed[way.Sink] = write.Refused > 0, write.State == Finalized
		some = some || write.Refused > 0
	}
	if !some {
		return nil
	}
	return e.addRefused(ctx, e.refused, e.chunk, sinks)
}

func (b *behind) addRefused(ctx context.Context, refused map[Token]bool, chunk Chunk, sinks map[string]bool) error {
	q := Query{Prefix: []any{b.run, chunk.Source}, After: []any{chunk.FirstRow - 1}}
	return b.from.Read(ctx, RowErrorKey{}, q, func(r Record) bool {
		e := r.(RowErrorKey)
		if sinks[e.Node] && e.Row < chunk.FirstRow+chunk.Rows {
			refused[Token{Source: e.Source, Lane: e.Lane, Row: e.Row}] = true
		}
		return e.Row < chunk.FirstRow+chunk.Rows
	})
}

// ending says how tokens of one chunk ended.
type ending struct {
	*behind
	chunk     Chunk
	confirmed map[string]bool // by sink
	refused   map[Token]bool
	members   map[string][]LaneMembers // by barrier
}

// codes returns the way codes of a lane, or NoToken, by row.
func (e *ending) codes(ctx context.Context, lane int64) ([]uint16, error) {
	all, err := e.lanesOf(ctx, e.run)
	if err != nil {
		return nil, err
	}
	about, err := all.at(e.chunk.Source, lane)
	if err != nil {
		return nil, err
	}
	p, err := get[PassageRecord](ctx, e.from, e.run, e.chunk.Source, e.chunk.Chunk, lane)
	if err != nil {
		return nil, err
	}
	return unpackCodes(p.WayCodes, p.CodeBytes, !about.IsRoot())
}

// ends returns how all tokens of a lane ended, which took these ways.
func (e *ending) ends(ctx context.Context, used []ChunkWayRecord) (LaneEnds, error) {
	lane := LaneEnds{Lane: used[0].Lane}
	codes, err := e.codes(ctx, lane.Lane)
	if err != nil {
		return lane, err
	}
	var plain []uint16             // by the code of a way whose tokens all end alike, the number of that end; NoToken for other codes
	others := map[uint16]Way{}     // ways whose tokens may end otherwise
	numbers := map[endKey]uint16{} // of their ends
	for _, u := range used {
		way := e.ways[u.Way]
		if way.Path == pipeline.Buffered || way.ToSink() && len(e.refused) > 0 {
			others[uint16(u.Code)] = way
			continue
		}
		for len(plain) <= int(uint16(u.Code)) {
			plain = append(plain, NoToken)
		}
		plain[uint16(u.Code)] = uint16(len(lane.Ends))
		lane.Ends = append(lane.Ends, Ended{Path: way.Path, Node: way.Last(), Sink: way.Sink, InSink: e.confirmed[way.Sink], Way: way})
	}
	lane.Codes = codes
	for i, code := range codes {
		if code == NoToken {
			continue
		}
		if int(code) < len(plain) && plain[code] != NoToken {
			codes[i] = plain[code]
			continue
		}
		way, known := others[code]
		if !known {
			return lane, incomplete("row %d of source %s took a way with code %d, which its chunk does not have", e.chunk.FirstRow+int64(i), e.chunk.Source, code)
		}
		ended, err := e.end(ctx, Token{Source: e.chunk.Source, Lane: lane.Lane, Row: e.chunk.FirstRow + int64(i)}, way)
		if err != nil {
			return lane, err
		}
		key := endKey{code, ended.Path, ended.Node}
		number, seen := numbers[key]
		if !seen {
			number = uint16(len(lane.Ends))
			ended.Token = Token{}
			lane.Ends, numbers[key] = append(lane.Ends, ended), number
		}
		codes[i] = number
	}
	return lane, nil
}

// endKey tells apart how tokens of one way ended.
type endKey struct {
	code uint16
	path pipeline.Path
	node string
}

// end says how a token of the way ended.
func (e *ending) end(ctx context.Context, token Token, way Way) (Ended, error) {
	ended := Ended{Token: token, Path: way.Path, Node: way.Last(), Sink: way.Sink, InSink: e.confirmed[way.Sink], Way: way}
	switch {
	case way.Path == pipeline.Buffered:
		path, err := e.batchPath(ctx, token, ended.Node)
		ended.Path = path
		return ended, err
	case way.ToSink() && e.refused[token]:
		return Ended{Token: token, Path: pipeline.OnErrorRouted, Node: way.Sink, Sink: pipeline.QuarantineSink, Way: way}, nil
	}
	return ended, nil
}

// batchPath returns on which path the batch of a token ended; pipeline.Buffered if it did not fire.
func (e *ending) batchPath(ctx context.Context, token Token, node string) (pipeline.Path, error) {
	if _, known := e.members[node]; !known {
		members, err := e.Members(ctx, e.run, node, e.chunk.Key())
		if err != nil {
			return "", err
		}
		e.members[node] = members
	}
	at := slices.IndexFunc(e.members[node], func(m LaneMembers) bool { return m.Lane == token.Lane })
	if at < 0 {
		return pipeline.Buffered, nil // the fold that takes it is not recorded yet
	}
	key := firedKey{node, int64(e.members[node][at].Batches[token.Row-e.chunk.FirstRow])}
	if path, known := e.fired[key]; known {
		return path, nil
	}
	batch, err := get[batchHead](ctx, e.from, e.run, node, key.batch)
	if errors.Is(err, ErrNotFound) {
		return pipeline.Buffered, nil
	}
	e.fired[key] = batch.Path
	return batch.Path, err
}
