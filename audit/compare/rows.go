package compare

import (
	"cmp"
	"context"

	"waymark/landscape"
)

// A Filter selects rows that both runs have by what became of them; all that it names must be so. The zero Filter selects those that differ in anything.
type Filter struct {
	From string // where they ended in the first run, as in Ends; empty for anywhere
	To   string // where they ended in the second run; empty for anywhere
	Node string // at which they went apart first; empty for any
	Kind Kind   // empty: all that differ if nothing else is named
}

// Kind is how rows differ.
type Kind string

// Kinds of rows.
const (
	Flipped Kind = "flipped" // ended elsewhere
	Refused Kind = "refused" // of these, those that are refused and passed before
	Changed Kind = "changed" // ended alike and had other values at some node
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{Flipped, Refused, Changed} }

// PairedRow is a row of both runs.
type PairedRow struct {
	Pair
	From string `json:"from"`           // where it ended in the first run, as in Ends
	To   string `json:"to"`             // where it ended in the second run
	Node string `json:"node,omitempty"` // at which the two went apart first; empty if none is to blame
}

// Rows returns the rows that a filter selects, by source and by their numbers in the first run, which come after a row of that run, or all if that is
// nil; at most as many as limit says, or all if that is 0; empty, not nil, if there is none. It reads no further than to the last of them. The runs and the error are as those of Runs.
func Rows(ctx context.Context, log *landscape.Reader, was, is landscape.Run, filter Filter, after *landscape.Token, limit int) ([]PairedRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	c, err := begin(ctx, log, was, is)
	defer c.end(cancel)
	if err != nil {
		return nil, err
	}
	c.list = &list{Filter: filter, limit: limit, rows: []PairedRow{}}
	for _, name := range c.sources() {
		first := int64(1)
		switch {
		case after == nil, name > after.Source:
		case name < after.Source:
			continue
		default:
			first = after.Row + 1
		}
		if err := c.source(ctx, name, first); err != nil {
			return nil, err
		}
	}
	return c.list.rows, nil
}

// Count is how many rows of a comparison a filter selects, if it is one of those by which a comparison counts; otherwise -1.
func (c *Comparison) Count(f Filter) (rows int64) {
	switch f {
	case Filter{}:
		return c.Flipped + c.Changed
	case Filter{Kind: Flipped}:
		return c.Flipped
	case Filter{Kind: Refused}:
		return c.Refused
	case Filter{Kind: Changed}:
		return c.Changed
	case Filter{From: f.From, To: f.To}:
		for _, ends := range c.Ends {
			if cmp.Or(f.From, ends.Was) == ends.Was && cmp.Or(f.To, ends.Is) == ends.Is {
				rows += ends.Rows
			}
		}
		return rows
	case Filter{Node: f.Node}, Filter{Node: f.Node, Kind: Flipped}:
		for _, blame := range c.Disagreed {
			if blame.Node == f.Node && f.Kind == Flipped {
				rows += blame.Flipped
			} else if blame.Node == f.Node {
				rows += blame.Rows
			}
		}
		return rows
	}
	return -1
}

// list is rows that a filter selects.
type list struct {
	Filter
	limit int
	rows  []PairedRow
}

// full reports whether no more rows are wanted.
func (l *list) full() bool { return l != nil && l.limit > 0 && len(l.rows) >= l.limit }

// take takes a row if the filter selects it.
func (l *list) take(c *comparing, was, is rowOf, node string) {
	if l == nil || l.full() {
		return
	}
	before, after := c.trails[was.trails[was.index]], c.trails[is.trails[is.index]]
	row := PairedRow{From: c.words[before.end], To: c.words[after.end], Node: node}
	if l.selects(row, before.end != after.end, !before.refused && after.refused) {
		row.Pair = Pair{was.token(), is.token()}
		l.rows = append(l.rows, row)
	}
}

// selects reports whether a row is one of those that the filter names.
func (f Filter) selects(r PairedRow, flipped, refused bool) bool {
	differs := flipped || r.Node != ""
	switch f.Kind {
	case Flipped:
		differs = flipped
	case Refused:
		differs = flipped && refused
	case Changed:
		differs = differs && !flipped
	default:
		differs = differs || f.From+f.To != ""
	}
	return differs && cmp.Or(f.From, r.From) == r.From && cmp.Or(f.To, r.To) == r.To && cmp.Or(f.Node, r.Node) == r.Node
}
