package rowview

import (
	"context"

	"waymark/landscape"
)

// chunk is one chunk with its columns, as far as the view needs them.
type chunk struct {
	*graph
	about   landscape.Chunk
	lanes   []*lane
	records []*landscape.ChunkRowsRecord        // by slice; nil where one is missing
	hashes  map[place][]*landscape.HashesRecord // the same
	errors  map[place]map[int64]string          // the hash of an error, by row
	fired   map[string]*fired                   // by barrier

	source, number, file, pack any   // what all rows about the chunk have in common
	out                        []any // a row of the view
}

// place is a node, in a lane.
type place struct {
	lane int64
	node string
}

// lane is a lane of the chunk's origin.
type lane struct {
	landscape.Lane
	passage *landscape.PassageRecord // nil: nothing of the chunk is in the lane yet
	ways    map[int64]*end           // by code
	suffix  string                   // of the ids of its tokens
	parent  string                   // of the ids of their fork parents; "" in a lane of no branch
}

// end is a way that tokens of a lane of the chunk took, and how it ended there.
type end struct {
	*way
	effect  *landscape.Effect // the write that has them, if a sink gets them
	members [][]byte          // by slice: the batches into which they went, if a barrier holds them
}

// load reads what a view needs of a chunk.
func (g *graph) load(ctx context.Context, about landscape.Chunk, v view) (c *chunk, err error) {
	c = &chunk{
		graph: g, about: about, hashes: map[place][]*landscape.HashesRecord{}, errors: map[place]map[int64]string{}, fired: map[string]*fired{},
		source: about.Source, number: about.Chunk, file: about.File, pack: about.Pack,
	}
	for _, l := range g.lanesOf(about.Source) {
		c.lanes = append(c.lanes, c.newLane(l))
	}
	reads := []func(context.Context) error{c.readPassages, c.readErrors, c.readFired}
	if v.records {
		reads = append(reads, c.readRecords)
	}
	if v.hashes {
		reads = append(reads, c.readHashes)
	}
	for _, read := range reads {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *chunk) readRecords(ctx context.Context) error {
	return landscape.Each(ctx, c.from, func(r landscape.ChunkRowsRecord) bool {
		c.records = set(c.records, r.Slice, &r)
		return true
	}, c.run, c.about.Source, c.about.Chunk)
}

func (c *chunk) readHashes(ctx context.Context) error {
	return landscape.Each(ctx, c.from, func(h landscape.HashesRecord) bool {
		at := place{h.Lane, h.Node}
		c.hashes[at] = set(c.hashes[at], h.Slice, &h)
		return true
	}, c.run, c.about.Source, c.about.Chunk)
}

// set returns a list with a value at place i.
func set[T any](list []T, i int64, value T) []T {
	if missing := int(i) + 1 - len(list); missing > 0 {
		list = append(list, make([]T, missing)...)
	}
	list[i] = value
	return list
}

func (c *chunk) newLane(l landscape.Lane) *lane {
	suffix := func(name string) string {
		if name == "" {
			return ""
		}
		return "/" + name
	}
	made := &lane{Lane: l, ways: map[int64]*end{}, suffix: suffix(l.Name)}
	for _, other := range c.graph.lanes {
		if l.Branch != "" && l.Parent != nil && other.Lane == *l.Parent {
			made.parent = suffix(other.Name)
		}
	}
	return made
}

// readPassages reads which ways the tokens of each lane took, and how these ended.
func (c *chunk) readPassages(ctx context.Context) error {
	passages, err := landscape.Select[landscape.PassageRecord](ctx, c.from, c.run, c.about.Source, c.about.Chunk)
	if err != nil {
		return err
	}
	used, err := landscape.Select[landscape.ChunkWayRecord](ctx, c.from, c.run, c.about.Source, c.about.Chunk)
	if err != nil {
		return err
	}
	for _, l := range c.lanes {
		for i := range passages {
			if passages[i].Lane == l.Lane.Lane {
				l.passage = &passages[i]
			}
		}
		for _, u := range used {
			if u.Lane != l.Lane.Lane {
				continue
			}
			if l.ways[u.Code], err = c.readEnd(ctx, u.Lane, u.Way); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *chunk) readEnd(ctx context.Context, lane int64, id string) (*end, error) {
	w, err := c.way(ctx, id)
	if err != nil {
		return nil, err
	}
	e := &end{way: w}
	if w.toSink() {
		effects, err := landscape.Select[landscape.Effect](ctx, c.from, c.run, w.Sink, c.about.Source, c.about.Chunk)
		if err != nil {
			return nil, err
		}
		if len(effects) > 0 {
			e.effect = &effects[0]
		}
	}
	if barrier := w.barrier(); barrier != "" {
		err = landscape.Each(ctx, c.from, func(m landscape.MembersRecord) bool {
			e.members = set(e.members, m.Slice, m.Batches)
			return true
		}, c.run, barrier, c.about.Source, c.about.Chunk, lane)
	}
	return e, err
}

// errorHash is an error, without what it says.
type errorHash struct {
	landscape.RowErrorKey
	ErrorHash string `db:"error_hash"`
}

func (c *chunk) readErrors(ctx context.Context) error {
	after := landscape.Query{Prefix: []any{c.run, c.about.Source}, After: []any{c.about.FirstRow, int64(-1), ""}}
	return c.from.Read(ctx, errorHash{}, after, func(r landscape.Record) bool {
		e := r.(errorHash)
		if e.Row >= c.about.FirstRow+c.about.Rows {
			return false
		}
		at := place{e.Lane, e.Node}
		if c.errors[at] == nil {
			c.errors[at] = map[int64]string{}
		}
		c.errors[at][e.Row] = e.ErrorHash
		return true
	})
}
