package recompute

import (
	"context"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
)

// Repeats returns the duplicates of a chunk that went through the steps, as on record. Of a token that a deduplicate dropped, and of
// which it is not recorded which one was the first with its key, that one is the zero token.
func Repeats(ctx context.Context, log *landscape.Reader, p *plan.Plan, run string, chunk int64, in engine.Input) (engine.Duplicates, error) {
	source := p.Nodes[in.Origin].Name
	routes, err := log.AllRoutes(ctx, run, landscape.ChunkKey{Source: source, Chunk: chunk})
	if err != nil {
		return nil, err
	}
	columns, err := log.Repeats(ctx, run, landscape.ChunkKey{Source: source, Chunk: chunk})
	if err != nil {
		return nil, err
	}
	found := repeating{log: log, run: run, source: source, in: in, claims: engine.Claims(p), columns: columns, duplicates: engine.Duplicates{}}
	for _, lane := range routes {
		if err := found.add(ctx, lane); err != nil {
			return nil, err
		}
	}
	return found.duplicates, nil
}

// repeating is what Repeats looks for.
type repeating struct {
	log        *landscape.Reader
	run        string
	source     string
	in         engine.Input
	claims     []engine.Claimed
	columns    []landscape.RepeatColumn
	duplicates engine.Duplicates
}

// add adds the duplicates of one lane.
func (f *repeating) add(ctx context.Context, lane landscape.LaneRoutes) error {
	for code, way := range lane.Ways {
		for claim, claimed := range f.claims {
			if way.Last() != claimed.Node {
				continue
			}
			switch {
			case way.Steps[len(way.Steps)-1].Label == engine.Duplicate && way.Path == pipeline.FilterDropped:
				f.addDropped(claim, lane, uint16(code))
			case way.Path.Outcome() == pipeline.Failure && claimed.Node == f.source:
				if err := f.addRejected(ctx, claim, lane, uint16(code)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addDropped adds the tokens of a way on which a deduplicate dropped them.
func (f *repeating) addDropped(claim int, lane landscape.LaneRoutes, code uint16) {
	firsts := make([]landscape.Token, len(lane.Codes))
	for _, column := range f.columns {
		if column.Lane == lane.Lane && column.Node == f.claims[claim].Node {
			firsts = column.Firsts
		}
	}
	for i := range lane.Codes {
		if lane.Codes[i] == code {
			f.duplicates[f.repeat(claim, lane.Lane, i)] = barrier.Token{Lane: int(firsts[i].Lane), Row: firsts[i].Row}
		}
	}
}

// addRejected adds those of the tokens of a way, on which the source rejected them, that it rejected for a value that another one has.
func (f *repeating) addRejected(ctx context.Context, claim int, lane landscape.LaneRoutes, code uint16) error {
	for i := range lane.Codes {
		if lane.Codes[i] != code {
			continue
		}
		repeat := f.repeat(claim, lane.Lane, i)
		errors, err := f.log.ErrorsOf(ctx, f.run, landscape.Token{Source: f.source, Lane: lane.Lane, Row: repeat.Token.Row})
		if err != nil {
			return err
		}
		for _, e := range errors {
			first, ok := engine.FirstOf(e.Code, e.Message)
			if ok && e.Node == f.source && e.Field == f.claims[claim].Field {
				f.duplicates[repeat] = barrier.Token{Lane: int(lane.Lane), Row: first}
			}
		}
	}
	return nil
}

func (f *repeating) repeat(claim int, lane int64, index int) engine.Repeat {
	return engine.Repeat{Claim: claim, Token: barrier.Token{Lane: int(lane), Row: f.in.Chunk.FirstRow + int64(index)}}
}
