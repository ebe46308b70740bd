// Package engine is the meaning of a pipeline: what each node does to a row, which way each row takes, and which bytes each
// sink gets. It knows neither Temporal nor storage, and it is deterministic: the same plan and the same chunk give the same
// result, byte for byte, on every machine. Resume, explain and verify rest on that.
package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
	"waymark/row"
)

// Codes of rejections that the engine itself makes. Stored; never rename.
const (
	CodeUnique      = "UNIQUE"        // a value that an earlier row has and no other row may have
	CodeUnrouted    = "UNROUTED"      // a gate's label has no route
	CodeNoSuchField = "NO_SUCH_FIELD" // a step names a field that this row does not have
	CodeFieldExists = "FIELD_EXISTS"  // a rename would give a row two fields of one name
	CodePanic       = "PANIC"         // a defect in the program, confined to the row
)

// A FailedError stops the run: a row was refused where the document says fail.
type FailedError struct {
	Node string
	Row  int64
	Line int64
	*plugin.Rejection
}

// Error returns the node, the row's place and the code. It leaves out the rejection's message, which may hold a piece of the
// row: this error travels through workflow history.
func (e *FailedError) Error() string {
	what := e.Code
	if e.Field != "" {
		what += " at field " + e.Field
	}
	return fmt.Sprintf("%s refused row %d (line %d) with %s, and the document says that this stops the run", e.Node, e.Row, e.Line, what)
}

// Duplicates says which records of a chunk carry a value that only an earlier row may carry: field → index of the record
// in the chunk → number of the earlier row.
type Duplicates map[string]map[int]int64

// Runner sends the rows of chunks through the graph. It keeps memory from chunk to chunk and is not safe for concurrent
// use; make one for each goroutine.
type Runner struct {
	plan     *plan.Plan
	vertices []vertex
	source   int
	key      []string
	parser   plugin.Parser
	context  string // the Context that parser was made for

	chunk      *plugin.Chunk
	duplicates Duplicates
	bad        []plugin.BadRecord // of the chunk, from the current record on
	result     *Result
	way        *wayNode // of the current row, up to the node it is in
	at         int      // the node that has the current row
	watch      func(Event)
	canonical  []byte
	values     []row.Value
	refusal    [10]row.Value
}

// NewRunner returns a Runner for the plan.
func NewRunner(p *plan.Plan) (*Runner, error) {
	r := &Runner{plan: p, source: p.Sources()[0]}
	for i := range p.Nodes {
		v, err := newVertex(&p.Nodes[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Nodes[i].Name, err)
		}
		r.vertices = append(r.vertices, v)
	}
	r.key = p.Nodes[r.source].Key
	return r, nil
}

// Run sends every record of the chunk through the graph. The result shares no memory with the chunk or the Runner. The
// error is a *FailedError if a row was refused where the document says fail, or a *plugin.SourceError if the chunk's
// context cannot be understood.
func (r *Runner) Run(chunk *plugin.Chunk, duplicates Duplicates) (*Result, error) {
	if err := r.begin(chunk, duplicates); err != nil {
		return nil, err
	}
	text := string(chunk.Data)
	for i := 0; i < chunk.Len(); {
		next, err := r.runFrom(i, text)
		if err != nil {
			return nil, err
		}
		i = next
	}
	r.result.finish(r)
	return r.result, nil
}

func (r *Runner) begin(chunk *plugin.Chunk, duplicates Duplicates) error {
	if r.parser == nil || r.context != string(chunk.Context) {
		parser, err := r.plan.Nodes[r.source].Source.Parser(chunk.Context)
		if err != nil {
			return err
		}
		r.parser, r.context = parser, string(chunk.Context)
	}
	r.chunk, r.duplicates, r.bad = chunk, duplicates, chunk.Bad
	r.result = newResult(r.plan, chunk.Len())
	return nil
}

// runFrom runs the records from i to the end, or to one that panics: that record alone is refused.
func (r *Runner) runFrom(i int, text string) (next int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			next = i + 1
			err = r.refuse(i, r.at, panicRejection(cause))
		}
	}()
	for ; i < r.chunk.Len(); i++ {
		start := r.chunk.Offsets[i]
		if err := r.runRecord(i, text[start:start+r.chunk.Lengths[i]]); err != nil {
			return i, err
		}
	}
	return i, nil
}

func (r *Runner) runRecord(i int, text string) error {
	r.at, r.way = r.source, nil
	if len(r.bad) > 0 && r.bad[0].Index == i {
		refused := &r.bad[0].Rejection
		r.bad = r.bad[1:]
		return r.refuse(i, r.source, refused)
	}
	current, err := r.parser.Parse(text, r.values)
	if err != nil {
		return r.refuse(i, r.source, rejection(err))
	}
	r.values = current.Values
	if refused := r.duplicate(i); refused != nil {
		return r.refuse(i, r.source, refused)
	}
	r.noteKeys(i, current)
	r.noteHash(i, r.source, current)
	r.way = r.result.ways.step(nil, r.source, noLabel)
	r.see(Event{Node: r.source, After: current})
	return r.follow(i, current)
}

// follow takes a row from node to node, beginning behind the source, until it ends.
func (r *Runner) follow(i int, current row.Row) error {
	for r.at = r.vertices[r.source].next; ; {
		v := &r.vertices[r.at]
		if v.encoder != nil {
			return r.deliver(i, current)
		}
		out, label, refused := v.op.apply(current)
		if refused != nil {
			return r.refuse(i, r.at, refused)
		}
		r.way = r.result.ways.step(r.way, r.at, label)
		r.see(Event{Node: r.at, Before: current, After: out, Label: v.label(label)})
		if v.changes {
			r.noteHash(i, r.at, out)
		}
		next, ended := v.exit(label)
		if ended != "" {
			r.end(i, ended, "")
			return nil
		}
		r.at, current = next, out
	}
}

// deliver encodes the row for the sink that has it.
func (r *Runner) deliver(i int, current row.Row) error {
	path := pipeline.DefaultFlow
	if r.way.label != noLabel && r.vertices[r.way.node].exits[r.way.label].routed {
		path = pipeline.GateRouted
	}
	part := &r.result.Parts[r.at]
	data, err := r.vertices[r.at].encoder.Append(part.Data, current)
	if err != nil {
		return r.refuse(i, r.at, rejection(err))
	}
	r.way = r.result.ways.step(r.way, r.at, noLabel)
	r.see(Event{Node: r.at, Before: current, After: current, Encoded: data[len(part.Data):]})
	part.Data = data
	part.Rows++
	r.end(i, path, r.plan.Nodes[r.at].Name)
	return nil
}

func (r *Runner) end(i int, path pipeline.Path, sentTo string) {
	r.result.Codes[i] = r.result.ways.end(r.way, path, sentTo)
}

func (r *Runner) noteHash(i, node int, current row.Row) {
	r.canonical = row.AppendCanonical(r.canonical[:0], current)
	sum := sha256.Sum256(r.canonical)
	copy(r.result.column(node, i), sum[:])
}

func (r *Runner) noteKeys(i int, current row.Row) {
	for k, field := range r.key {
		if value, found := current.Get(field); found {
			r.canonical = row.AppendValue(r.canonical[:0], value)
			sum := sha256.Sum256(r.canonical)
			copy(r.result.Keys[k].Hashes[4*i:], sum[:4])
		}
	}
}

func (r *Runner) duplicate(i int) *plugin.Rejection {
	for _, field := range r.plan.Nodes[r.source].Unique {
		if first, found := r.duplicates[field][i]; found {
			return &plugin.Rejection{Code: CodeUnique, Field: field, Message: "row " + strconv.FormatInt(first, 10) + " has the same value"}
		}
	}
	return nil
}

func (r *Runner) see(event Event) {
	if r.watch != nil {
		r.watch(event)
	}
}

// rejection returns the *plugin.Rejection that parsers, expressions and encoders promise their errors to be.
func rejection(err error) *plugin.Rejection {
	var refused *plugin.Rejection
	if errors.As(err, &refused) {
		return refused
	}
	return &plugin.Rejection{Code: CodePanic, Message: clip(err.Error())}
}

func clip(text string) string {
	if len(text) > 200 {
		return text[:200]
	}
	return text
}

// panicRejection confines a defect to the row that met it.
func panicRejection(cause any) *plugin.Rejection {
	return &plugin.Rejection{Code: CodePanic, Message: clip(fmt.Sprint(cause))}
}
