package engine

import (
	"slices"

	"waymark/engine/plan"
	"waymark/pipeline/amount"
	"waymark/pipeline/row"
)

// WaySum is a total of the rows that took a way, as they left one of its steps and those after it.
type WaySum struct {
	Total      int // of the plan's
	Step       int // number of the step: the token's first, or one that may change the amount
	Sum        amount.Sum
	Unreadable int  // rows whose amount cannot be read, and is not in Sum
	None       bool // the rows are not ones that have an amount
}

// totals adds up amounts while tokens follow their ways. A nil one does nothing: the plan has no totals, or nothing is
// to be made.
//
// The amounts of the tokens of one record are in one list, so that a row costs no memory: of each token those with
// which it began, and those with which it left each step that may change them. A branch begins with those of the token
// that was forked.
type totals struct {
	count    int
	readings []reading // by node and total
	changes  []bool    // by node: a row may leave it with another amount

	marks []mark
	held  []held // count for each mark
	token span   // the marks of the current token
}

// mark says with which step of its way a token got the amounts.
type mark int

type span struct{ from, to int }

// held is an amount of a token.
type held struct {
	amount amount.Amount
	state  state
}

type state uint8

const (
	readable state = iota
	unreadable
	none // the row is not one that has an amount
)

// reading is a plan.Reading, ready to run.
type reading struct {
	plan.Reading
	shape  *row.Shape  // of the program's fields; nil if the rows have them by the same names
	values []row.Value // in that shape
}

func newTotals(p *plan.Plan) *totals {
	if len(p.Totals) == 0 {
		return nil
	}
	t := &totals{count: len(p.Totals), changes: make([]bool, len(p.Nodes))}
	for i := range p.Nodes {
		for _, of := range p.Nodes[i].Totals {
			r := reading{Reading: of}
			if of.Program != nil && !slices.Equal(of.Fields, of.Program.Fields()) {
				r.shape, r.values = row.NewShape(of.Program.Fields()), make([]row.Value, len(of.Fields))
			}
			t.readings = append(t.readings, r)
			t.changes[i] = t.changes[i] || of.Changes()
		}
	}
	return t
}

// begin forgets all tokens: those of another record follow.
func (t *totals) begin() {
	if t != nil {
		t.marks, t.held, t.token = t.marks[:0], t.held[:0], span{}
	}
}

// push adds a mark to the current token, whose marks are the last ones, and returns its amounts.
func (t *totals) push(step int) []held {
	t.marks = append(t.marks, mark(step))
	t.held = slices.Grow(t.held, t.count)[:len(t.held)+t.count]
	t.token.to = len(t.marks)
	return t.held[len(t.held)-t.count:]
}

// open begins a token at a node that made its row.
func (t *totals) open(node, step int, made row.Row) {
	if t == nil {
		return
	}
	t.next()
	amounts := t.push(step)
	for i := range amounts {
		amounts[i] = t.readings[node*t.count+i].read(made)
	}
}

// next begins a token without amounts.
func (t *totals) next() {
	if t != nil {
		t.token = span{len(t.marks), len(t.marks)}
	}
}

// refuse gives a token amounts that cannot be read, if the node refused it before there was a row.
func (t *totals) refuse(node, step int) {
	if t == nil || t.token.to > t.token.from {
		return
	}
	amounts := t.push(step)
	for i := range amounts {
		amounts[i] = held{state: unreadable}
		if t.readings[node*t.count+i].None {
			amounts[i].state = none
		}
	}
}

// pass notes that the current token left a step as this row.
func (t *totals) pass(node, step int, out row.Row) {
	if t == nil || !t.changes[node] {
		return
	}
	amounts := t.push(step)
	before := t.held[len(t.held)-2*t.count:]
	for i := range amounts {
		amounts[i] = before[i]
		if r := &t.readings[node*t.count+i]; r.Changes() {
			amounts[i] = r.read(out)
		}
	}
}

// copied begins a token of a branch with the last amounts of the token that was forked.
func (t *totals) copied(parent span, step int) {
	if t == nil {
		return
	}
	t.next()
	amounts := t.push(step)
	copy(amounts, t.held[(parent.to-1)*t.count:parent.to*t.count])
}

// current returns the marks of the current token.
func (t *totals) current() span {
	if t == nil {
		return span{}
	}
	return t.token
}

// resume makes a token the current one, of which nothing but its end follows.
func (t *totals) resume(token span) {
	if t != nil {
		t.token = token
	}
}

// end adds the amounts of the current token to those of its way.
func (t *totals) end(way *endedWay) {
	if t == nil {
		return
	}
	if way.sums == nil {
		for _, step := range t.marks[t.token.from:t.token.to] {
			for i := range t.count {
				none := t.held[t.token.from*t.count+len(way.sums)].state == none
				way.sums = append(way.sums, WaySum{Total: i, Step: int(step), None: none})
			}
		}
	}
	for i := range way.sums {
		switch held := &t.held[t.token.from*t.count+i]; held.state {
		case readable:
			way.sums[i].Sum.Add(held.amount)
		case unreadable:
			way.sums[i].Unreadable++
		}
	}
}

// Held is what a total of one token comes to.
type Held struct {
	Sum        amount.Sum // 0 if the row is not one that has an amount
	Unreadable bool       // it cannot be read, and is not in Sum
}

// last returns what the totals of the current token come to; nil if the plan has none.
func (t *totals) last() []Held {
	if t == nil || t.token.to == t.token.from {
		return nil
	}
	amounts := make([]Held, t.count)
	for i, held := range t.held[(t.token.to-1)*t.count : t.token.to*t.count] {
		if held.state == readable {
			amounts[i].Sum.Add(held.amount)
		}
		amounts[i].Unreadable = held.state == unreadable
	}
	return amounts
}

// read returns the amount of a row.
func (r *reading) read(of row.Row) held {
	if r.None {
		return held{state: none}
	}
	value, err := eval(r, of)
	if err != nil {
		return held{state: unreadable}
	}
	if a, ok := amount.Of(value); ok {
		return held{amount: a}
	}
	return held{state: unreadable}
}

func eval(r *reading, of row.Row) (row.Value, error) {
	if r.shape == nil {
		return r.Program.Eval(of)
	}
	for i, name := range r.Fields {
		r.values[i], _ = of.Get(name)
	}
	return r.Program.Eval(row.Row{Shape: r.shape, Values: r.values})
}
