package engine

import (
	"fmt"
	"strings"

	"waymark/engine/plan"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// parsing is what a parser depends on.
type parsing struct {
	origin  int
	context string
}

func (r *Runner) prepareParsers(in Input) error {
	r.parsers = r.parsers[:0]
	if r.plan.Nodes[in.Origin].Kind != plan.Source {
		for _, order := range in.FieldOrders {
			r.parsers = append(r.parsers, r.orderedParser(order))
		}
		return nil
	}
	wanted := parsing{in.Origin, string(in.Chunk.Context)}
	if r.parser != nil && r.parsing == wanted {
		return nil
	}
	parser, err := r.plan.Nodes[in.Origin].Source.Parser(in.Chunk.Context)
	r.parser, r.parsing = parser, wanted
	return err
}

// orderedParser returns a parser of canonical rows that gives them their fields in this order.
func (r *Runner) orderedParser(order []string) plugin.Parser {
	key := strings.Join(order, "\x00")
	if known := r.ordered[key]; known != nil {
		return known
	}
	if r.ordered == nil || len(r.ordered) >= maxShapes {
		r.ordered = map[string]plugin.Parser{}
	}
	made := canonicalParser{row.NewCanonicalParser(order)}
	r.ordered[key] = made
	return made
}

// parserOf returns the parser of record i.
func (r *Runner) parserOf(i int) plugin.Parser {
	switch {
	case len(r.parsers) == 0:
		return r.parser
	case r.in.FieldOrderOf == nil:
		return r.parsers[0]
	}
	return r.parsers[r.in.FieldOrderOf[i]]
}

// parse parses record i, by its cells if it has some.
func (r *Runner) parse(i int, text string) (row.Row, error) {
	parser := r.parserOf(i)
	if cells := &r.chunk.Cells; len(cells.Columns) > 0 {
		if parser, ok := parser.(plugin.CellParser); ok {
			return parser.ParseCells(cells, i, text, r.values)
		}
	}
	return parser.Parse(text, r.values)
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
