package sweep

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"waymark/internal/defect"
	"waymark/internal/processors"
	"waymark/landscape"
)

// Packed looks at every token of a run and returns what the checks of tokens of a driver's deep sweep find, under the same names. It
// counts from the packed columns, a chunk at a time and some chunks side by side, and asks no view: what it returns does not depend on
// the schema. Of one check it reports at most MostFindings; nil says that nothing is wrong.
//
// done, if not nil, is called with the rows of each chunk that was looked at, from several goroutines.
func Packed(ctx context.Context, r landscape.RecordReader, run string, done func(rows int64)) ([]landscape.Finding, error) {
	p := &packed{reader: r, run: run}
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	found, err := p.eachChunk(ctx, done)
	if err != nil {
		return nil, err
	}
	return most(slices.Concat(found, p.overlaps(), p.batchCounts())), nil
}

// packed is what all chunks of a run have in common.
type packed struct {
	reader  landscape.RecordReader
	run     string
	lanes   []landscape.Lane
	joined  map[laneNode]string // by lane and coalesce: the name of the lane of what it makes of the lane's tokens in their own passage
	ways    map[string]*wayEnd
	chunks  []chunkRows
	known   map[landscape.ChunkKey]bool // true for chunks, false for strays
	strays  []chunkRows                 // that are not recorded, and of which there are records: they have no rows
	effects map[landscape.ChunkKey][]write
	errors  map[string][]refused // by source, by row and lane
	nodes   []string             // of errors
	batches map[string]batches   // by barrier
	paths   []string             // of batches
}

type laneNode struct {
	lane int64
	node string
}

// wayEnd is how a way ends.
type wayEnd struct {
	Run      string `db:"run_id,key"`
	Way      string `db:"way,key"`
	Outcome  string `db:"outcome"`
	Path     string `db:"path"`
	LastNode string `db:"last_node"`
	Sink     string `db:"sink"`
	Lane     int64  `db:"lane"`
}

// Table returns ways.
func (wayEnd) Table() string { return "ways" }

// chunkRows is which rows a chunk has.
type chunkRows struct {
	Run      string `db:"run_id,key"`
	Source   string `db:"source,key"`
	Chunk    int64  `db:"chunk,key"`
	FirstRow int64  `db:"first_row"`
	Rows     int64  `db:"rows"`
}

// Table returns chunks.
func (chunkRows) Table() string { return "chunks" }

func (c chunkRows) key() landscape.ChunkKey {
	return landscape.ChunkKey{Source: c.Source, Chunk: c.Chunk}
}

// write is an effect, as far as tokens are concerned.
type write struct {
	Run     string                `db:"run_id,key"`
	Sink    string                `db:"sink,key"`
	Source  string                `db:"source,key"`
	Chunk   int64                 `db:"chunk,key"`
	Kind    landscape.EffectKind  `db:"kind"`
	Rows    int64                 `db:"rows"`
	State   landscape.EffectState `db:"state"`
	Ordinal *int64                `db:"ordinal,null"`
	Refused int64                 `db:"refused"`
}

// Table returns effects.
func (write) Table() string { return "effects" }

// refused is a token of which there is an error, and the place of the node in packed.nodes.
type refused struct {
	row  int64
	lane int32
	node int32
}

func (p *packed) load(ctx context.Context) (err error) {
	for _, step := range []func(context.Context) error{p.loadLanes, p.loadWays, p.loadChunks, p.loadEffects, p.loadErrors, p.loadBatches} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *packed) loadLanes(ctx context.Context) (err error) {
	p.lanes, err = landscape.Select[landscape.Lane](ctx, p.reader, p.run)
	p.joined = map[laneNode]string{}
	for _, merged := range p.lanes {
		if merged.Branch != "" || merged.Fork == "" {
			continue
		}
		for _, branch := range p.lanes {
			if branch.Source != merged.Source || branch.Node != merged.Fork || !same(branch.Parent, merged.Parent) {
				continue
			}
			for _, lane := range p.lanes {
				if lane.Source == branch.Source && (lane.Lane == branch.Lane || within(lane.Name, branch.Name)) {
					p.joined[laneNode{lane.Lane, merged.Node}] = merged.Name // the innermost comes last: it has the higher number
				}
			}
		}
	}
	return err
}

// same reports whether two lanes have the same parent. A root lane has none.
func same(a, b *int64) bool { return a != nil && b != nil && *a == *b }

// within reports whether a lane is of a branch of the lane named outer, or of one of its branches.
func within(name, outer string) bool {
	return len(name) > len(outer) && name[:len(outer)] == outer && name[len(outer)] == '/'
}

func (p *packed) loadWays(ctx context.Context) error {
	p.ways = map[string]*wayEnd{}
	return landscape.Each(ctx, p.reader, func(w wayEnd) bool {
		p.ways[w.Way] = &w
		return true
	}, p.run)
}

func (p *packed) loadChunks(ctx context.Context) (err error) {
	p.chunks, err = landscape.Select[chunkRows](ctx, p.reader, p.run)
	p.known = map[landscape.ChunkKey]bool{}
	for _, c := range p.chunks {
		p.known[c.key()] = true
	}
	return errors.Join(err, loadStrays[ofWays](ctx, p), loadStrays[ofMergeCodes](ctx, p), loadStrays[ofMerges](ctx, p),
		loadStrays[ofHashes](ctx, p))
}

// ofChunk is the chunk that a record is of.
type ofChunk struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
}

type (
	ofWays       struct{ ofChunk }
	ofMergeCodes struct{ ofChunk }
	ofMerges     struct{ ofChunk }
	ofHashes     struct{ ofChunk }
)

func (ofWays) Table() string       { return "chunk_ways" }
func (ofMergeCodes) Table() string { return "merge_codes" }
func (ofMerges) Table() string     { return "chunk_merges" }
func (ofHashes) Table() string     { return "hashes" }

func (c ofChunk) key() landscape.ChunkKey {
	return landscape.ChunkKey{Source: c.Source, Chunk: c.Chunk}
}

// loadStrays looks in a table for records of chunks that are not recorded.
func loadStrays[T interface {
	landscape.Record
	key() landscape.ChunkKey
}](ctx context.Context, p *packed) error {
	return landscape.Each(ctx, p.reader, func(record T) bool {
		p.stray(record.key())
		return true
	}, p.run)
}

func (p *packed) stray(key landscape.ChunkKey) {
	if _, seen := p.known[key]; !seen {
		p.known[key] = false
		p.strays = append(p.strays, chunkRows{Run: p.run, Source: key.Source, Chunk: key.Chunk})
	}
}

func (p *packed) loadEffects(ctx context.Context) error {
	p.effects = map[landscape.ChunkKey][]write{}
	return landscape.Each(ctx, p.reader, func(w write) bool {
		key := landscape.ChunkKey{Source: w.Source, Chunk: w.Chunk}
		p.effects[key] = append(p.effects[key], w)
		p.stray(key)
		return true
	}, p.run)
}

func (p *packed) loadErrors(ctx context.Context) error {
	p.errors = map[string][]refused{}
	numbers := map[string]int32{}
	return landscape.Each(ctx, p.reader, func(r landscape.RowErrorKey) bool {
		node, known := numbers[r.Node]
		if !known {
			node = int32(len(p.nodes))
			numbers[r.Node], p.nodes = node, append(p.nodes, r.Node)
		}
		p.errors[r.Source] = append(p.errors[r.Source], refused{r.Row, int32(r.Lane), node})
		return true
	}, p.run)
}

// errorsOf returns the errors of a chunk's rows.
func (p *packed) errorsOf(c chunkRows) []refused {
	all := p.errors[c.Source]
	from, _ := slices.BinarySearchFunc(all, c.FirstRow, func(r refused, row int64) int { return int(r.row - row) })
	to, _ := slices.BinarySearchFunc(all, c.FirstRow+c.Rows, func(r refused, row int64) int { return int(r.row - row) })
	return all[from:max(from, to)]
}

// eachChunk looks at every chunk, and returns what is wrong in their order.
func (p *packed) eachChunk(ctx context.Context, done func(int64)) ([]landscape.Finding, error) {
	all := slices.Concat(p.chunks, p.strays)
	found := make([][]landscape.Finding, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(processors.Computing())
	for i, c := range all {
		group.Go(func() error {
			return defect.Catch("sweep", func() (err error) {
				found[i], err = p.chunk(ctx, c)
				if done != nil {
					done(c.Rows)
				}
				return err
			})
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// overlaps finds rows that two chunks hold.
func (p *packed) overlaps() (found []landscape.Finding) {
	chunks := slices.Clone(p.chunks)
	slices.SortStableFunc(chunks, func(a, b chunkRows) int {
		if a.Source != b.Source {
			return compare(a.Source, b.Source)
		}
		return compare(a.FirstRow, b.FirstRow)
	})
	var before chunkRows // of the chunks so far, the one that reaches furthest
	for _, c := range chunks {
		if before.Source != c.Source {
			before = c
			continue
		}
		for row := c.FirstRow; row < min(before.FirstRow+before.Rows, c.FirstRow+c.Rows, c.FirstRow+MostFindings); row++ {
			found = append(found, finding("token_twice", c.Source, min(before.Chunk, c.Chunk), "", "token %s:%d is there 2 times", c.Source, row))
		}
		if c.FirstRow+c.Rows > before.FirstRow+before.Rows {
			before = c
		}
	}
	return found
}

// most sorts findings, and leaves out of each check all but the first MostFindings.
func most(found []landscape.Finding) []landscape.Finding {
	Sort(found)
	counted := map[string]int{}
	return slices.DeleteFunc(found, func(f landscape.Finding) bool {
		counted[f.Check]++
		return counted[f.Check] > MostFindings
	})
}
