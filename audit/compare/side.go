package compare

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"waymark/landscape"
	"waymark/pipeline"
)

// side is one of the two runs.
type side struct {
	*comparing
	log     *landscape.Reader
	run     string
	endsOf  func(context.Context, landscape.ChunkKey) ([]landscape.Ended, error)
	lanes   []landscape.Lane
	nodes   map[string]bool
	sources []string
	chunks  []*chunk // that were read last, the newest first

	tokenEnds map[tokenEnd]int // numbers of how single tokens ended
	endWords  []string         // of these numbers
	refusals  []bool           // by these numbers: a failure
	rowEnds   map[string]int   // by the numbers of a row's tokens, packed: the number of the words about all of them
}

// tokenEnd is how one token ended.
type tokenEnd struct {
	node, sink string
	path       pipeline.Path
}

func newSide(ctx context.Context, c *comparing, log *landscape.Reader, run string) (*side, error) {
	s := &side{comparing: c, log: log, run: run, nodes: map[string]bool{}, tokenEnds: map[tokenEnd]int{}, rowEnds: map[string]int{}}
	nodes, err := log.Nodes(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		s.nodes[node.Node] = true
		if node.Kind == landscape.SourceNode {
			s.sources = append(s.sources, node.Node)
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
	tokens []landscape.Ended // by row and lane
	first  []int             // by row: its first token; one more at the end
	hashes map[column][]byte
}

// column names the hashes of a node.
type column struct {
	lane int64
	node string
}

// rowOf is a row of one of the two runs.
type rowOf struct {
	*chunk
	index   int // in the chunk
	tokens  []landscape.Ended
	end     int // number of the words that say where it ended
	refused bool
}

func (r rowOf) token() string { return fmt.Sprintf("%s:%d", r.Source, r.FirstRow+int64(r.index)) }

// hash is the hash of the row as it left a step; nil if the step has none of its own.
func (r rowOf) hash(step landscape.Step) []byte {
	hashes := r.hashes[column{step.Lane, step.Node}]
	if hashes == nil {
		return nil
	}
	return hashes[landscape.HashBytes*r.index : landscape.HashBytes*(r.index+1)]
}

// row returns a row of a source.
func (s *side) row(ctx context.Context, source string, number int64) (rowOf, error) {
	c, err := s.chunkOf(ctx, source, number)
	if err != nil {
		return rowOf{}, err
	}
	r := rowOf{chunk: c, index: int(number - c.FirstRow)}
	r.tokens = c.tokens[c.first[r.index]:c.first[r.index+1]]
	var packed [64]byte
	key := packed[:0]
	for i := range r.tokens {
		n := s.tokenEnd(&r.tokens[i])
		r.refused = r.refused || s.refusals[n]
		key = binary.AppendUvarint(key, uint64(n))
	}
	end, known := s.rowEnds[string(key)]
	if !known {
		end = s.number(s.together(r.tokens))
		s.rowEnds[string(key)] = end
	}
	r.end = end
	return r, nil
}

// tokenEnd numbers how a token ended.
func (s *side) tokenEnd(t *landscape.Ended) int {
	key := tokenEnd{t.Node, t.Sink, t.Path}
	n, known := s.tokenEnds[key]
	if !known {
		n = len(s.endWords)
		s.tokenEnds[key] = n
		s.endWords, s.refusals = append(s.endWords, wordOf(t)), append(s.refusals, t.Path.Outcome() == pipeline.Failure)
	}
	return n
}

// wordOf says where a token ended; empty for a fork's parent, of which its copies tell.
func wordOf(t *landscape.Ended) string {
	switch {
	case t.Path == pipeline.ForkParent:
		return ""
	case t.Way.ToSink() && t.Node != t.Way.Sink:
		return t.Sink + " (" + string(t.Path) + ")"
	}
	return t.Node + " (" + string(t.Path) + ")"
}

// together says where the tokens of a row ended, in one text.
func (s *side) together(tokens []landscape.Ended) string {
	var words []string
	for i := range tokens {
		if word := s.endWords[s.tokenEnd(&tokens[i])]; word != "" {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	if words == nil {
		return "nowhere"
	}
	return strings.Join(words, " and ")
}

// chunkOf returns the chunk that has a row.
func (s *side) chunkOf(ctx context.Context, source string, number int64) (*chunk, error) {
	for i, c := range s.chunks {
		if c.Source == source && c.FirstRow <= number && number < c.FirstRow+c.Rows {
			if i > 0 {
				copy(s.chunks[1:i+1], s.chunks[:i])
				s.chunks[0] = c
			}
			return c, nil
		}
	}
	about, err := s.log.ChunkOf(ctx, s.run, source, number)
	if err != nil {
		return nil, err
	}
	c, err := s.read(ctx, about)
	if err != nil {
		return nil, err
	}
	s.chunks = append([]*chunk{c}, s.chunks[:min(len(s.chunks), keptChunks-1)]...)
	return c, nil
}

// read reads what is recorded of a chunk.
func (s *side) read(ctx context.Context, about landscape.Chunk) (*chunk, error) {
	c := &chunk{Chunk: about, first: make([]int, about.Rows+1), hashes: map[column][]byte{}}
	var err error
	if c.tokens, err = s.endsOf(ctx, about.Key()); err != nil {
		return nil, err
	}
	for _, token := range c.tokens {
		c.first[token.Token.Row-about.FirstRow+1]++
	}
	for i := range about.Rows {
		c.first[i+1] += c.first[i]
	}
	columns, err := s.log.Hashes(ctx, s.run, about.Key())
	if err != nil {
		return nil, err
	}
	for _, one := range columns {
		c.hashes[column{one.Lane, one.Node}] = one.Hashes
	}
	return c, nil
}
