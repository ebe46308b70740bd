package engine

import (
	"crypto/sha256"

	"waymark/expr"
	"waymark/plan"
	"waymark/plugin"
	"waymark/row"
)

// Event is what happened to one row at one node.
type Event struct {
	Node    int
	Before  row.Row // as the row came in; zero at the source
	After   row.Row // as it went out; zero if it was refused
	Label   string  // by which it went out; "" for nodes without labels
	Refused *plugin.Rejection
	Encoded []byte // at a sink: the bytes written for it
}

// Hash returns the SHA-256 of the canonical form of the row that went out.
func (e Event) Hash() [32]byte { return sha256.Sum256(row.AppendCanonical(nil, e.After)) }

// Explain returns the sub-expressions of the gate or filter with their values for the row, outermost first; nil for nodes
// without such an expression.
func Explain(node *plan.Node, in row.Row) []expr.Part {
	if node.Operation != plan.Gate && node.Operation != plan.Filter || node.Kind != plan.Step || in.Shape == nil {
		return nil
	}
	return node.Exprs[0].Explain(in)
}

// Trace sends one record of the chunk through the graph, by the same code as Run, and returns what happened at each node,
// in order, with the way it took. Rows in the events are clones. duplicates is as for Run. The error is as for Run.
func (r *Runner) Trace(chunk *plugin.Chunk, i int, duplicates Duplicates) ([]Event, Way, error) {
	if err := r.begin(chunk, duplicates); err != nil {
		return nil, Way{}, err
	}
	var events []Event
	r.watch = func(e Event) { events = append(events, e.clone()) }
	defer func() { r.watch = nil }()
	for len(r.bad) > 0 && r.bad[0].Index < i {
		r.bad = r.bad[1:]
	}
	if err := r.traceRecord(i); err != nil {
		return events, Way{}, err
	}
	return events, r.result.ways.list(r.vertices)[0], nil
}

func (r *Runner) traceRecord(i int) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = r.refuse(i, r.at, panicRejection(cause))
		}
	}()
	return r.runRecord(i, string(r.chunk.Record(i)))
}

func (e Event) clone() Event {
	e.Before, e.After = clone(e.Before), clone(e.After)
	e.Encoded = append([]byte(nil), e.Encoded...)
	return e
}

func clone(r row.Row) row.Row {
	if r.Shape == nil {
		return r
	}
	return r.Clone()
}

// Values are the values of one unique field in a chunk.
type Values struct {
	Field   string
	Indexes []int      // of the records that have a value, ascending
	Hashes  [][16]byte // of the values: the first 16 bytes of the SHA-256 of the canonical form
}

// UniqueValues returns the values of every field that must be unique, in the plan's order; nil if there is no such field.
// Records that the source refuses, and null values, are left out.
func (r *Runner) UniqueValues(chunk *plugin.Chunk) ([]Values, error) {
	fields := r.plan.Nodes[r.source].Unique
	if len(fields) == 0 {
		return nil, nil
	}
	if err := r.begin(chunk, nil); err != nil {
		return nil, err
	}
	values := make([]Values, len(fields))
	for k, field := range fields {
		values[k].Field = field
	}
	text, bad := string(chunk.Data), chunk.Bad
	for i := range chunk.Len() {
		if len(bad) > 0 && bad[0].Index == i {
			bad = bad[1:]
			continue
		}
		start := chunk.Offsets[i]
		r.addUnique(values, i, text[start:start+chunk.Lengths[i]])
	}
	return values, nil
}

func (r *Runner) addUnique(values []Values, i int, text string) {
	parsed, err := r.parser.Parse(text, r.values)
	if err != nil {
		return
	}
	r.values = parsed.Values
	for k := range values {
		value, found := parsed.Get(values[k].Field)
		if !found || value.IsNull() {
			continue
		}
		r.canonical = row.AppendValue(r.canonical[:0], value)
		sum := sha256.Sum256(r.canonical)
		values[k].Indexes = append(values[k].Indexes, i)
		values[k].Hashes = append(values[k].Hashes, [16]byte(sum[:16]))
	}
}
