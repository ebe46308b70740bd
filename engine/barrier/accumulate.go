package barrier

import (
	"fmt"

	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// accumulator works out one aggregate function over the rows of a batch, a row at a time.
type accumulator interface {
	// add takes the value of the function's argument in the next row; for count, anything.
	add(v row.Value)
	// result returns the function's value for what was added. The error says why there is none.
	result() (row.Value, error)
	// bytes returns what it keeps that grows with the rows.
	bytes() int
	// detach makes what it keeps independent of the memory of the values that were added.
	detach()
	save(w *writer)
	load(r *reader)
}

func newAccumulator(call *expr.Call) accumulator {
	switch call.Func {
	case expr.Count:
		return new(counter)
	case expr.Sum, expr.Mean:
		return &total{mean: call.Func == expr.Mean}
	case expr.Min:
		return &extreme{sign: -1}
	case expr.Max:
		return &extreme{sign: +1}
	case expr.First, expr.Last:
		return &edge{last: call.Func == expr.Last}
	case expr.VarSamp, expr.VarPop, expr.StddevSamp, expr.StddevPop:
		return newVariance(call.Func)
	case expr.CountDistinct:
		return &distinct{known: map[row.Value]struct{}{}}
	default:
		return &collection{call: call}
	}
}

// counter is count().
type counter struct{ n int64 }

func (c *counter) add(row.Value)              { c.n++ }
func (c *counter) result() (row.Value, error) { return row.IntValue(c.n), nil }
func (c *counter) bytes() int                 { return 0 }
func (c *counter) detach()                    {}
func (c *counter) save(w *writer)             { w.signed(c.n) }
func (c *counter) load(r *reader)             { c.n = r.signed() }

// extreme is min(x) and max(x).
type extreme struct {
	sign     int // of row.Compare between a better value and the best so far
	best     row.Value
	mixed    mixture
	detached bool
}

func (e *extreme) add(v row.Value) {
	if v.IsNull() || !e.mixed.fits(v.Kind(), e.best.Kind()) {
		return
	}
	if e.best.IsNull() || row.Compare(v, e.best)*e.sign > 0 {
		e.best, e.detached = v, false
	}
}

func (e *extreme) result() (row.Value, error) { return e.best, e.mixed.fault(e.best.Kind()) }
func (e *extreme) bytes() int                 { return 0 }

func (e *extreme) detach() {
	if !e.detached {
		e.best, e.detached = detach(e.best), true
	}
}

func (e *extreme) save(w *writer) {
	w.value(e.best)
	e.mixed.save(w)
}

func (e *extreme) load(r *reader) {
	e.best, e.detached = r.value(), true
	e.mixed.load(r)
}

// edge is first(x) and last(x). A null counts.
type edge struct {
	last     bool
	any      bool
	value    row.Value
	detached bool
}

func (e *edge) add(v row.Value) {
	if e.last || !e.any {
		e.value, e.any, e.detached = v, true, false
	}
}

func (e *edge) result() (row.Value, error) { return e.value, nil }
func (e *edge) bytes() int                 { return 0 }

func (e *edge) detach() {
	if !e.detached {
		e.value, e.detached = detach(e.value), true
	}
}

func (e *edge) save(w *writer) {
	w.bool(e.any)
	w.value(e.value)
}

func (e *edge) load(r *reader) {
	e.any = r.bool()
	e.value, e.detached = r.value(), true
}

// mixture is the first kind that an aggregate function got and that does not go with the kind of the values before; Null as
// long as there is none. A batch with a mixture is rejected.
type mixture struct{ kind row.Kind }

// fits reports whether a value of the kind goes with those before, which are of kind known, Null if there are none. Ints go
// with decimals: both are exact, and numbers in JSON are the one or the other by how they are written.
func (m *mixture) fits(kind, known row.Kind) bool {
	if known == row.Null || kind == known || isExact(kind) && isExact(known) {
		return true
	}
	if m.kind == row.Null {
		m.kind = kind
	}
	return false
}

func isExact(kind row.Kind) bool { return kind == row.Int || kind == row.Decimal }

func (m *mixture) fault(known row.Kind) error {
	if m.kind == row.Null {
		return nil
	}
	return &expr.EvalError{Code: expr.CodeNoSuchOverload, Message: fmt.Sprintf("some values are %s and some %s: convert them to one kind", known, m.kind)}
}

func (m *mixture) save(w *writer) { w.number(uint64(m.kind)) }
func (m *mixture) load(r *reader) { m.kind = row.Kind(r.natural(int64(row.JSON))) }
