package barrier

import (
	"slices"

	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// distinct is count_distinct(x). It keeps what stands for the values, with memory of its own from the beginning.
type distinct struct {
	known map[row.Value]struct{}
	list  []row.Value // in order of appearance
	size  int
}

func (d *distinct) add(v row.Value) {
	v = v.Key()
	if _, found := d.known[v]; found || v.IsNull() {
		return
	}
	v = detach(v)
	d.known[v] = struct{}{}
	d.list = append(d.list, v)
	d.size += keyBytes + cellBytes + len(v.Text())
}

// keyBytes is what a key takes in the map, about.
const keyBytes = 48

func (d *distinct) result() (row.Value, error) { return row.IntValue(int64(len(d.list))), nil }
func (d *distinct) bytes() int                 { return d.size }
func (d *distinct) detach()                    {}
func (d *distinct) save(w *writer)             { w.list(d.list) }

func (d *distinct) load(r *reader) {
	list := r.list()
	for _, v := range list {
		d.add(v)
	}
	if len(d.list) < len(list) {
		r.failf("a value that counts once is there twice")
	}
}

// collection is collect(x) and quantile(x, q), which need all values.
type collection struct {
	call     *expr.Call
	list     []row.Value
	mixed    mixture
	detached int // that many have memory of their own
	size     int
}

func (c *collection) add(v row.Value) {
	if v.IsNull() || c.call.Func == expr.Quantile && len(c.list) > 0 && !c.mixed.fits(v.Kind(), c.list[0].Kind()) {
		return
	}
	c.list = append(c.list, v)
	c.size += cellBytes + len(v.Text())
}

func (c *collection) result() (row.Value, error) {
	switch {
	case c.call.Func == expr.Collect:
		return expr.ListOf(c.list)
	case len(c.list) == 0:
		return row.NullValue(), nil
	}
	sorted := slices.SortedFunc(slices.Values(c.list), row.Compare)
	return expr.QuantileOf(sorted, c.call.Quantile), c.mixed.fault(sorted[0].Kind())
}

func (c *collection) bytes() int { return c.size }

func (c *collection) detach() {
	copy(c.list[c.detached:], detachValues(c.list[c.detached:]))
	c.detached = len(c.list)
}

func (c *collection) save(w *writer) {
	w.list(c.list)
	c.mixed.save(w)
}

func (c *collection) load(r *reader) {
	c.list = r.list()
	c.mixed.load(r)
	c.detached, c.size = len(c.list), valueBytes(c.list)
}
