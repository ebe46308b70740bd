package landscape

import (
	"cmp"
	"context"
	"slices"
)

// Quoted is a value that messages of errors quote from rows, as they quote it.
type Quoted struct {
	Value   string `json:"value"`
	Count   int64  `json:"count"`
	AtLeast bool   `json:"at_least,omitempty"` // there were too many values to count each: it may have come more often
}

const (
	countedValues = 64 // values that a counter keeps apart
	shownValues   = 5
)

func newCounters(n int) []counter {
	counters := make([]counter, n)
	for i := range counters {
		counters[i] = counter{}
	}
	return counters
}

// A counter counts values in bounded space (Space-Saving): one that is more than a 64th of all is always among those that it keeps, and of each it knows by how much
// its count may be too high.
type counter map[string]counted

type counted struct{ count, tooHigh int64 }

func (c counter) add(value string, times int64) {
	known, ok := c[value]
	if !ok && len(c) >= countedValues {
		least := c.least()
		known = counted{c[least].count, c[least].count}
		delete(c, least)
	}
	known.count += times
	c[value] = known
}

// least returns the value with the lowest count, the first by name of several.
func (c counter) least() (least string) {
	lowest := int64(-1)
	for value, known := range c {
		if lowest < 0 || known.count < lowest || known.count == lowest && value < least {
			least, lowest = value, known.count
		}
	}
	return least
}

// most returns the values that came most often, and twice at least; nil if none did.
func (c counter) most() (often []Quoted) {
	for value, known := range c {
		if surely := known.count - known.tooHigh; surely > 1 {
			often = append(often, Quoted{value, surely, known.tooHigh > 0})
		}
	}
	slices.SortFunc(often, func(a, b Quoted) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	return often[:min(len(often), shownValues)]
}

// Spread says where in a source rows are.
type Spread struct {
	Source string  `json:"source"`
	Rows   int64   `json:"rows"`   // of the source, as far as it was read
	Counts []int64 `json:"counts"` // of the rows in each of its equal parts, in order: 20 parts, or one for each row if there are fewer
}

// spreadParts is into how many parts a source is divided.
const spreadParts = 20

// newSpread returns a Spread without rows; nil if the source has none that are numbered.
func newSpread(source string, rows int64) *Spread {
	if rows == 0 {
		return nil
	}
	return &Spread{Source: source, Rows: rows, Counts: make([]int64, min(rows, spreadParts))}
}

// with counts a row; it returns nil if the row is of another source.
func (s *Spread) with(source string, row int64) *Spread {
	if s == nil || s.Source != source {
		return nil
	}
	parts := int64(len(s.Counts))
	s.Counts[min((row-1)*parts/s.Rows, parts-1)]++ // it may have been read since
	return s
}

// Densest returns between which rows of the source the part lies that has the most of them, the first such part, and how many it has.
func (s *Spread) Densest() (first, last, count int64) {
	count = slices.Max(s.Counts)
	parts, part := int64(len(s.Counts)), int64(slices.Index(s.Counts, count))
	before := func(part int64) int64 { return (part*s.Rows + parts - 1) / parts }
	return before(part) + 1, before(part + 1), count
}

// rowsOfSources returns how many rows each source of a run was found to have so far.
func (r *Reader) rowsOfSources(ctx context.Context, run string) (map[string]int64, error) {
	sources, err := r.Sources(ctx, run)
	if err != nil {
		return nil, err
	}
	rows := map[string]int64{}
	for _, source := range sources {
		last, err := lastOf[Chunk](ctx, r.from, run, source.Source)
		if err != nil {
			return nil, err
		}
		if last != nil {
			rows[source.Source] = last.FirstRow + last.Rows - 1
		}
	}
	return rows, nil
}
