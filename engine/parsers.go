package engine

import (
	"fmt"
	"strings"

	"waymark/engine/plan"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// parsers make rows of records. They stay from chunk to chunk, because most chunks have the context of the last one.
type parsers struct {
	source plugin.Parser
	made   parsing // what source was made for; only if there is one

	ordered map[string]plugin.Parser // of the rows that come out of barriers, by the order of their fields
	orders  []plugin.Parser          // by Input.FieldOrders; empty for a source's chunk
}

// parsing is what the parser of a source depends on.
type parsing struct {
	origin  int
	context string
}

// prepare makes the parsers of a chunk.
func (s *parsers) prepare(p *plan.Plan, in *Input) error {
	s.orders = s.orders[:0]
	origin := &p.Nodes[in.Origin]
	if origin.Kind != plan.Source {
		for _, order := range in.FieldOrders {
			s.orders = append(s.orders, s.inOrder(order))
		}
		return nil
	}
	wanted := parsing{in.Origin, string(in.Chunk.Context)}
	if s.source != nil && s.made == wanted {
		return nil
	}
	parser, err := origin.Source.Parser(in.Chunk.Context)
	s.source, s.made = parser, wanted
	return err
}

// inOrder returns a parser of canonical rows that gives them their fields in this order.
func (s *parsers) inOrder(order []string) plugin.Parser {
	key := strings.Join(order, "\x00")
	if known := s.ordered[key]; known != nil {
		return known
	}
	if s.ordered == nil || len(s.ordered) >= maxShapes {
		s.ordered = map[string]plugin.Parser{}
	}
	made := canonicalParser{row.NewCanonicalParser(order)}
	s.ordered[key] = made
	return made
}

// of returns the parser of record i.
func (s *parsers) of(in *Input, i int) plugin.Parser {
	switch {
	case len(s.orders) == 0:
		return s.source
	case in.FieldOrderOf == nil:
		return s.orders[0]
	}
	return s.orders[in.FieldOrderOf[i]]
}

// parse parses record i, by its cells if it has some.
func (s *parsers) parse(in *Input, i int, text string, values []row.Value) (row.Row, error) {
	parser := s.of(in, i)
	if cells := &in.Chunk.Cells; len(cells.Columns) > 0 {
		if parser, ok := parser.(plugin.CellParser); ok {
			return parser.ParseCells(cells, i, text, values)
		}
	}
	return parser.Parse(text, values)
}

// canonicalParser parses the rows that came out of a barrier. They are our own: one that cannot be read is a defect.
type canonicalParser struct{ *row.CanonicalParser }

func (p canonicalParser) Parse(text string, values []row.Value) (row.Row, error) {
	parsed, err := p.CanonicalParser.Parse(text, values)
	if err != nil {
		panic(fmt.Sprintf("a row that came out of a barrier cannot be read: %v", err))
	}
	return parsed, nil
}
