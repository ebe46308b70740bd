package audit

import (
	"context"
	"math"
	"slices"

	"waymark/landscape"
)

// Descend follows rows of sources and barriers of one run to everything that came of them, and of nothing else.
func (a *Auditor) Descend(ctx context.Context, id string, rows []landscape.RowKey) (found landscape.Descent, err error) {
	defer sense(id, &err)
	run, err := a.log.Run(ctx, id)
	if err != nil {
		return found, err
	}
	i := &explaining{Auditor: a, run: run}
	if i.lanes, err = i.log.Lanes(ctx, id); err != nil {
		return found, err
	}
	tokens := make([]landscape.Token, len(rows))
	for n, row := range rows {
		tokens[n] = landscape.Token{Source: row.Source, Lane: i.root(row.Source), Row: row.Row}
	}
	f, _, err := i.followed(ctx, following{limit: math.MaxInt, only: true}, tokens)
	if err != nil {
		return found, err
	}
	for token := range f.seen {
		if row := (landscape.RowKey{Run: id, Source: token.Source, Row: token.Row}); i.lanes[token.Lane].IsRoot() && !slices.Contains(rows, row) {
			found.Rows = append(found.Rows, row)
		}
	}
	slices.SortFunc(found.Rows, landscape.RowKey.Compare)
	slices.Sort(f.took)
	found.Mixed, found.Barriers = f.mixed, slices.Compact(f.took)
	for _, line := range f.found.Lines {
		found.Lines = append(found.Lines, landscape.OutputLine{Sink: line.Sink, Output: line.Output, Line: line.Line})
	}
	return found, nil
}
