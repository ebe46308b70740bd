package compare

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"waymark/audit"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/pipeline"
)

// side is one of the two runs.
type side struct {
	*comparing
	log     *landscape.Reader
	run     string
	endsOf  func(context.Context, landscape.ChunkKey) ([]landscape.LaneEnds, error)
	lanes   []landscape.Lane
	nodes   map[string]bool
	sources []string

	barriers []string
	chunks   []*chunk // that were read last, the newest first
	coming   *coming  // nil if none is
}

func newSide(ctx context.Context, c *comparing, log *landscape.Reader, run string) (*side, error) {
	s := &side{comparing: c, log: log, run: run, nodes: map[string]bool{}}
	nodes, err := log.Nodes(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		s.nodes[node.Node] = true
		if node.Kind == landscape.SourceNode {
			s.sources = append(s.sources, node.Node)
		}
		if node.Hashes == landscape.RecordHashes {
			s.barriers = append(s.barriers, node.Node)
		}
	}
	if s.lanes, err = log.Lanes(ctx, run); err != nil {
		return nil, err
	}
	s.endsOf, err = log.EndsOf(ctx, run)
	return s, err
}

// keptChunks is how many chunks of a run are kept: rows that moved are often near.
const keptChunks = 4

// chunk is what is recorded of the rows of one chunk.
type chunk struct {
	landscape.Chunk
	lanes  []landscape.LaneEnds
	trails []int // numbers, by row; nil until they are numbered
	hashes map[column]*landscape.HashSlices
}

// column names the hashes of a node in a lane.
type column struct{ lane, node string }

// rowOf is a row of one of the two runs.
type rowOf struct {
	*chunk
	index int // in the chunk
}

func (c *chunk) row(index int) rowOf { return rowOf{chunk: c, index: index} }

func (r rowOf) token() string { return fmt.Sprintf("%s:%d", r.Source, r.FirstRow+int64(r.index)) }

// tokens are those of the row, by lane.
func (r rowOf) tokens() (tokens []landscape.Ended) {
	for _, lane := range r.lanes {
		if code := lane.Codes[r.index]; code != landscape.NoToken {
			token := lane.Ends[code]
			token.Token = landscape.Token{Source: r.Source, Lane: lane.Lane, Row: r.FirstRow + int64(r.index)}
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// together says where the tokens of a row ended, in one text.
func together(tokens []landscape.Ended) string {
	var names []string
	for _, t := range tokens {
		at := t.Node
		if t.Way.ToSink() && t.Node != t.Way.Sink { // its target did not refuse it
			at = t.Sink
		}
		if name := audit.EndName(at, t.Path); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return audit.Together(names)
}

// chunksOf returns the chunk of the first run that has a row, and that of the second one that has another row. It reads both at once.
func (c *comparing) chunksOf(ctx context.Context, paired Source, number, other int64) (was, is *chunk, err error) {
	source := paired.Name
	was, is = c.was.kept(source, number), c.is.kept(source, other)
	if was != nil && is != nil {
		return was, is, nil
	}
	var reads errgroup.Group
	if was == nil {
		reads.Go(func() error {
			return defect.Catch("comparison", func() (err error) {
				was, err = c.was.next(ctx, source, number, paired.Was)
				return err
			})
		})
	}
	if is == nil {
		reads.Go(func() error {
			return defect.Catch("comparison", func() (err error) {
				is, err = c.is.next(ctx, source, other, paired.Is)
				return err
			})
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, nil, err
	}
	c.was.number(was)
	c.is.number(is)
	return was, is, nil
}

// kept returns the chunk that has a row, as the one that was used last; nil if it is not kept.
func (s *side) kept(source string, number int64) *chunk {
	for i, c := range s.chunks {
		if c.Source == source && c.FirstRow <= number && number < c.FirstRow+c.Rows {
			copy(s.chunks[1:i+1], s.chunks[:i])
			s.chunks[0] = c
			return c
		}
	}
	return nil
}

// coming is a chunk that is being read.
type coming struct {
	source string
	number int64 // of its first row
	done   chan struct{}
	chunk  *chunk // nil if it cannot be read
}

// next returns the chunk that has a row, and keeps it. It begins to read the one after it, which is probably wanted next.
func (s *side) next(ctx context.Context, source string, number, last int64) (c *chunk, err error) {
	if ahead := s.coming; ahead != nil {
		<-ahead.done
		s.coming = nil
		if ahead.source == source && ahead.number == number {
			c = ahead.chunk
		}
	}
	if c == nil {
		if c, err = s.read(ctx, source, number); err != nil {
			return nil, err
		}
	}
	s.chunks = append([]*chunk{c}, s.chunks[:min(len(s.chunks), keptChunks-1)]...)
	if behind := c.FirstRow + c.Rows; behind <= last {
		ahead := &coming{source: source, number: behind, done: make(chan struct{})}
		s.coming = ahead
		go defect.Guard("comparison", func() { // of what makes no sense: who wants it reads it again, and learns why
			defer close(ahead.done)
			if read, err := s.read(ctx, source, behind); err == nil {
				ahead.chunk = read
			}
		})()
	}
	return c, nil
}

// read reads what is recorded of the chunk that has a row.
func (s *side) read(ctx context.Context, source string, number int64) (*chunk, error) {
	about, err := s.log.ChunkOf(ctx, s.run, source, number)
	if err != nil {
		return nil, err
	}
	c := &chunk{Chunk: about, hashes: map[column]*landscape.HashSlices{}}
	if c.lanes, err = s.endsOf(ctx, about.Key()); err != nil {
		return nil, err
	}
	columns, err := s.log.HashSlices(ctx, s.run, about.Key())
	for i := range columns {
		c.hashes[column{s.lanes[columns[i].Lane].Name, columns[i].Node}] = &columns[i]
	}
	return c, err
}

// number gives each row of the chunk the number of its trail, unless it has one. Both runs count on, so only one may number at a time.
func (s *side) number(c *chunk) {
	if c.trails != nil {
		return
	}
	c.trails = make([]int, c.Rows)
	numbers := map[string]int{} // by the codes of a row
	var codes []byte
	for i := range c.trails {
		if i > 0 && c.sameCodes(i-1, i) {
			c.trails[i] = c.trails[i-1]
			continue
		}
		codes = codes[:0]
		for _, lane := range c.lanes {
			codes = binary.BigEndian.AppendUint16(codes, lane.Codes[i])
		}
		number, known := numbers[string(codes)]
		if !known {
			number = s.trail(c.row(i).tokens())
			numbers[string(codes)] = number
		}
		c.trails[i] = number
	}
}

// sameCodes reports whether two rows went the same ways.
func (c *chunk) sameCodes(one, other int) bool {
	for _, lane := range c.lanes {
		if lane.Codes[one] != lane.Codes[other] {
			return false
		}
	}
	return true
}

// trail returns the number of a trail, which is the same in both runs if the ways are.
func (s *side) trail(tokens []landscape.Ended) int {
	signature, refused := "", false
	for i := range tokens {
		token := &tokens[i]
		signature += fmt.Sprintf("%q %q %q %q\n", s.lanes[token.Token.Lane].Name, token.Way.Signature(), token.Node, token.Path)
		refused = refused || token.Path.Outcome() == pipeline.Failure
	}
	number, known := s.known[signature]
	if !known {
		number = len(s.trails)
		s.trails, s.known[signature] = append(s.trails, trail{end: s.comparing.number(together(tokens)), refused: refused}), number
	}
	return number
}
