package landscape

import (
	"cmp"
	"container/heap"
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

func newCounters(n int) []*counter {
	counters := make([]*counter, n)
	for i := range counters {
		counters[i] = &counter{known: map[string]*counted{}}
	}
	return counters
}

// A counter counts values in bounded space (Space-Saving): one that is more than a 64th of all is always among those that it keeps, and of each it knows by how much
// its count may be too high.
type counter struct {
	known map[string]*counted
	least leastFirst // what is known
}

type counted struct {
	value          string
	count, tooHigh int64
	at             int // its place in the heap
}

func (c *counter) add(value string, times int64) {
	known := c.known[value]
	switch {
	case known != nil:
		known.count += times
	case len(c.least) < countedValues:
		known = &counted{value: value, count: times}
		heap.Push(&c.least, known)
	default: // it takes the place of the one with the lowest count, the first by name of several
		known = c.least[0]
		delete(c.known, known.value)
		*known = counted{value: value, count: known.count + times, tooHigh: known.count}
	}
	c.known[value] = known
	heap.Fix(&c.least, known.at)
}

// most returns the values that came most often, and twice at least; nil if none did.
func (c *counter) most() (often []Quoted) {
	for _, known := range c.least {
		if surely := known.count - known.tooHigh; surely > 1 {
			often = append(often, Quoted{known.value, surely, known.tooHigh > 0})
		}
	}
	slices.SortFunc(often, func(a, b Quoted) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	return often[:min(len(often), shownValues)]
}

// leastFirst is a heap of values with the lowest count first, and by name if counts are equal.
type leastFirst []*counted

func (h leastFirst) Len() int { return len(h) }
func (h leastFirst) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(h[i].count, h[k].count), cmp.Compare(h[i].value, h[k].value)) < 0
}
func (h leastFirst) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].at, h[k].at = i, k
}

// Push does what heap.Interface says.
func (h *leastFirst) Push(x any) {
	x.(*counted).at = len(*h)
	*h = append(*h, x.(*counted))
}

// Pop does what heap.Interface says. Nothing is taken off.
func (h *leastFirst) Pop() any { panic("nothing is taken off") }

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
