// Package engine is the meaning of a pipeline: what each node does to a row, which way each token takes, and which bytes each
// sink gets. It knows neither Temporal nor storage, and it is deterministic: the same plan and the same chunk give the same
// result, byte for byte, on every machine. Resume, explain and verify rest on that.
//
// A pass sends the records of one chunk from their origin, a source or a barrier, to sinks and to barriers. What barriers
// do with what arrives is the business of package barrier.
package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Codes of rejections that the engine itself makes. Stored; never rename.
const (
	CodeUnique        = "UNIQUE"         // a value that an earlier row has and no other row may have
	CodeUnrouted      = "UNROUTED"       // a gate's label has no route
	CodeFieldExists   = "FIELD_EXISTS"   // a rename would give a row two fields of one name
	CodeLookupMissing = "LOOKUP_MISSING" // the table has no row with the key
	CodePanic         = "PANIC"          // a defect in the program, confined to the row
)

// A FailedError stops the run: a row was rejected where the document says fail.
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

// NewRun says that the cure changes the document or the source: the run cannot go on.
func (e *FailedError) NewRun() bool { return true }

// UnfinishedError stops the run: a plugin.Finisher could not make a part of rows that it had taken. No retry cures it.
type UnfinishedError struct {
	Node string // the sink
	Err  error
}

// Error returns the sink and the reason.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%s: its part cannot be made: %v", e.Node, e.Err)
}

// NewRun says that the cure changes the document: the run cannot go on.
func (e *UnfinishedError) NewRun() bool { return true }

// Unwrap returns the reason.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// Input is what a pass begins with.
type Input struct {
	Origin int // node: a source, or a barrier whose rows came out
	Chunk  *plugin.Chunk
	// RecordHashes are the SHA-256 of the records, 32 bytes each, for who records what becomes of them; nil if nobody made them.
	RecordHashes []byte
	// Keys are the fork parents of the records of a barrier that keeps its context: for each record one for each open fork,
	// outermost first. Nil if there is no open fork.
	Keys []barrier.Token
	// Losses are branches that ended within the barrier: coalesces further on are told in this pass.
	Losses []barrier.Loss
	// FieldOrders are the orders of fields in the records of a barrier, which their canonical form does not tell, and FieldOrderOf says
	// for each record which of them is its own; nil if all have the first.
	FieldOrders  [][]string
	FieldOrderOf []uint16
	// Firsts tells which tokens have a value that only another token may have; nil if none has.
	Firsts Firsts
	// Late are tokens whose amounts Result.Late is to have: the targets of their sinks refused them. Nil if there is none.
	Late map[At]bool
	// Hashes, if not nil, gets what comes out of nodes instead of Result.Columns.
	Hashes *Hashes
	// Stop, if not nil, is asked every now and then whether the pass is to end early: then Run returns its error.
	Stop func() error
}

// At names a token of a chunk.
type At struct {
	Lane  int
	Index int // of the record
}

// Hashes takes the hashes of what comes out of nodes slice by slice, while records are in flight: those of all records and nodes together
// may take more memory than everything else.
type Hashes struct {
	Every int // so many records, the last slice aside; 0 if no hash is to be made
	// Take is called with a node's column, whose hashes are those of the records from this one on. Only during the call they are there.
	Take func(column Column, from int)
}

// Runner sends the rows of chunks through the graph. It keeps memory from chunk to chunk and is not safe for concurrent
// use; make one for each goroutine.
type Runner struct {
	plan     *plan.Plan
	vertices []vertex
	branches []int // by lane: the branch of the innermost open fork, as its coalesce counts them; plan.None if it expects none
	roots    []int // by node: the root lane of an origin
	parser   plugin.Parser
	parsing  parsing                  // what parser was made for
	ordered  map[string]plugin.Parser // of the rows that come out of barriers, by the order of their fields
	parsers  []plugin.Parser          // of the chunk's Orders; nil for a source's chunk

	in     Input
	chunk  *plugin.Chunk      // of in
	bad    []plugin.BadRecord // of the chunk, from the current record on
	keys   []barrier.Token    // of the open forks of the current token, outermost first
	lane   int                // of the current token
	way    *wayNode           // of the current token, up to the node it is in
	at     int                // the node that has the current token
	result *Result
	quiet  bool // Firsts is to hear of values, and nothing is to be made
	watch  func(Event)

	allTotals *totals
	totals    *totals // nil while quiet

	claims       []Claimed
	claimings    [][]claiming // by node
	deduplicates bool         // not only fields of sources must be unique

	pace      pace
	sizes     []int // of the parts of the chunk before, by node: those of the next one are as large, most of the time
	canonical []byte
	values    []row.Value
	rejected  [10]row.Value
}

// parsing is what a parser depends on.
type parsing struct {
	origin  int
	context string
}

// NewRunner returns a Runner for the plan.
func NewRunner(p *plan.Plan) (*Runner, error) {
	r := &Runner{plan: p, roots: make([]int, len(p.Nodes)), sizes: make([]int, len(p.Nodes)), parsing: parsing{origin: plan.None}}
	for i := range p.Nodes {
		v, err := newVertex(p, i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Nodes[i].Name, err)
		}
		r.vertices = append(r.vertices, v)
	}
	r.prepareClaims()
	r.allTotals = newTotals(p)
	for _, origin := range p.Origins() {
		r.roots[origin] = p.RootLane(origin)
	}
	for lane := range p.Lanes {
		r.branches = append(r.branches, branchOf(p, p.Lanes[lane].Context))
	}
	return r, nil
}

// branchOf returns which of the branches that a coalesce expects the innermost open fork's is.
func branchOf(p *plan.Plan, context []plan.Branch) int {
	if len(context) == 0 || context[len(context)-1].Coalesce == plan.None {
		return plan.None
	}
	innermost := context[len(context)-1]
	for b, name := range p.Nodes[innermost.Coalesce].Coalescing.Branches {
		if name == innermost.Name {
			return b
		}
	}
	return plan.None
}

// Run sends every record of the chunk through the graph. The result shares no memory with the chunk or the Runner, but for
// the text of its arrivals: as long as those are used, the chunk's Data must stay unchanged. The error is a *FailedError if a row was rejected where the document says fail, an *UnfinishedError,
// or a *plugin.SourceError if the chunk's context cannot be understood.
func (r *Runner) Run(in Input) (*Result, error) {
	if err := r.begin(in); err != nil {
		return nil, err
	}
	for i, size := range r.sizes {
		if size > 0 {
			r.result.Parts[i].Data = make([]byte, 0, size+size/16)
		}
	}
	if err := r.runAll(); err != nil {
		return nil, err
	}
	for i := range r.sizes {
		r.sizes[i] = len(r.result.Parts[i].Data)
	}
	if err := r.result.finish(r); err != nil {
		return nil, err
	}
	return r.result, nil
}

func (r *Runner) runAll() error {
	text := unsafe.String(unsafe.SliceData(r.chunk.Data), len(r.chunk.Data))
	for i := 0; i < r.chunk.Len(); {
		next, err := r.runFrom(i, text)
		if err != nil {
			return err
		}
		i = next
	}
	r.result.give(r.in.Hashes)
	return nil
}

func (r *Runner) begin(in Input) error {
	if err := r.prepareParsers(in); err != nil {
		return err
	}
	r.in, r.chunk, r.bad, r.totals = in, in.Chunk, in.Chunk.Bad, r.allTotals
	r.pace.next = 0
	if r.quiet {
		r.totals = nil
	}
	r.result = newResult(r.plan, in.Origin, r.roots[in.Origin], in.Chunk.Len())
	if in.Hashes != nil {
		r.result.slice = min(in.Hashes.Every, in.Chunk.Len())
	}
	for _, loss := range in.Losses {
		r.lose(r.plan.Nodes[in.Origin].Context[len(loss.Keys)-1].Coalesce, loss)
	}
	return nil
}

func (r *Runner) prepareParsers(in Input) error {
	r.parsers = r.parsers[:0]
	if r.plan.Nodes[in.Origin].Kind != plan.Source {
		for _, order := range in.FieldOrders {
			r.parsers = append(r.parsers, r.orderedParser(order))
		}
		return nil
	}
	wanted := parsing{in.Origin, string(in.Chunk.Context)}
	if r.parser != nil && r.parsing == wanted {
		return nil
	}
	parser, err := r.plan.Nodes[in.Origin].Source.Parser(in.Chunk.Context)
	r.parser, r.parsing = parser, wanted
	return err
}

// orderedParser returns a parser of canonical rows that gives them their fields in this order.
func (r *Runner) orderedParser(order []string) plugin.Parser {
	key := strings.Join(order, "\x00")
	if known := r.ordered[key]; known != nil {
		return known
	}
	if r.ordered == nil || len(r.ordered) >= maxShapes {
		r.ordered = map[string]plugin.Parser{}
	}
	made := canonicalParser{row.NewCanonicalParser(order)}
	r.ordered[key] = made
	return made
}

// parserOf returns the parser of record i.
func (r *Runner) parserOf(i int) plugin.Parser {
	switch {
	case len(r.parsers) == 0:
		return r.parser
	case r.in.FieldOrderOf == nil:
		return r.parsers[0]
	}
	return r.parsers[r.in.FieldOrderOf[i]]
}

// parse parses record i, by its cells if it has some.
func (r *Runner) parse(i int, text string) (row.Row, error) {
	parser := r.parserOf(i)
	if cells := &r.chunk.Cells; len(cells.Columns) > 0 {
		if parser, ok := parser.(plugin.CellParser); ok {
			return parser.ParseCells(cells, i, text, r.values)
		}
	}
	return parser.Parse(text, r.values)
}

// runFrom runs the records from i to the end, or to one that panics: that record alone is rejected.
func (r *Runner) runFrom(i int, text string) (next int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			next = i + 1
			_, err = r.confine(i, r.roots[r.in.Origin], cause)
		}
	}()
	for ; i < r.chunk.Len(); i++ {
		if i >= r.pace.next {
			if err := r.breathe(i); err != nil {
				return i, err
			}
		}
		if hashes := r.in.Hashes; hashes != nil && hashes.Every > 0 && i == r.result.from+hashes.Every {
			r.result.give(hashes)
		}
		start := r.chunk.Offsets[i]
		if err := r.runRecord(i, text[start:start+r.chunk.Lengths[i]]); err != nil {
			return i, err
		}
	}
	return i, nil
}

// confine rejects the token that a defect met. A token that has ended already cannot be rejected: then the run stops.
func (r *Runner) confine(i, lane int, cause any) (pipeline.Path, error) {
	if r.lane != lane || r.result.ended(lane, i) {
		return "", fmt.Errorf("%s: row %d: defect in the program: %s", r.plan.Nodes[r.at].Name, r.chunk.FirstRow+int64(i), plugin.Brief(fmt.Sprint(cause)))
	}
	return r.reject(i, r.at, panicRejection(cause))
}

// runRecord takes one record through the graph. If it does not reach a coalesce that waits for it, the coalesce is told.
func (r *Runner) runRecord(i int, text string) error {
	origin := r.in.Origin
	r.at, r.way, r.lane = origin, nil, r.roots[origin]
	r.totals.begin()
	context := r.plan.Lanes[r.lane].Context
	r.keys = append(r.keys[:0], r.in.keysOf(i, len(context))...)
	lost, err := r.runRoot(i, text)
	if err != nil || lost == "" || len(context) == 0 {
		return err
	}
	if b := r.branches[r.roots[origin]]; b != plan.None {
		keys := r.in.keysOf(i, len(context))
		r.lose(context[len(context)-1].Coalesce, barrier.Loss{Keys: keys, Branch: b, Reason: lost})
	}
	return nil
}

func (in *Input) keysOf(i, forks int) []barrier.Token {
	return in.Keys[i*forks : (i+1)*forks]
}

// runRoot parses the record and follows it to its end.
func (r *Runner) runRoot(i int, text string) (pipeline.Path, error) {
	origin := r.in.Origin
	if len(r.bad) > 0 && r.bad[0].Index == i {
		rejected := &r.bad[0].Rejection
		r.bad = r.bad[1:]
		return r.reject(i, origin, rejected)
	}
	current, err := r.parse(i, text)
	if err != nil {
		return r.reject(i, origin, rejection(err))
	}
	r.values = current.Values
	r.totals.open(origin, 0, current)
	if rejected, err := r.duplicate(i, current); err != nil || rejected != nil {
		if err != nil {
			return "", err
		}
		return r.reject(i, origin, rejected)
	}
	if r.quiet && !r.deduplicates {
		return pipeline.FilterDropped, nil
	}
	if !r.quiet {
		r.noteKeys(i, current)
	}
	if r.vertices[origin].changes {
		r.noteHash(i, origin, current)
	}
	r.way = r.result.ways.step(nil, origin, noLabel, r.lane)
	r.see(Event{Lane: r.lane, Node: origin, After: current})
	return r.follow(i, r.vertices[origin].next, current)
}

func (r *Runner) noteHash(i, node int, current row.Row) {
	if r.quiet || r.in.Hashes != nil && r.in.Hashes.Every == 0 {
		return
	}
	r.canonical = row.AppendCanonical(r.canonical[:0], current)
	sum := sha256.Sum256(r.canonical)
	copy(r.result.column(r.lane, node, i), sum[:])
}

func (r *Runner) noteKeys(i int, current row.Row) {
	for k := range r.result.Keys {
		if value, found := current.Get(r.result.Keys[k].Field); found {
			r.canonical = row.AppendValue(r.canonical[:0], value)
			sum := sha256.Sum256(r.canonical)
			copy(r.result.Keys[k].Hashes[4*i:], sum[:4])
		}
	}
}

func (r *Runner) see(event Event) {
	if r.watch != nil {
		r.watch(event)
	}
}

// canonicalParser parses the rows that came out of a barrier. They are our own: one that cannot be read is a defect.
type canonicalParser struct{ *row.CanonicalParser }

func (p canonicalParser) Parse(text string, values []row.Value) (row.Row, error) {
	parsed, err := p.CanonicalParser.Parse(text, values)
	if err != nil {
		panic(fmt.Sprintf("a row that came out of a barrier cannot be read: %v", err))
	}
	return parsed, nil
}

// rejection returns the *plugin.Rejection that parsers, expressions and encoders promise their errors to be.
func rejection(err error) *plugin.Rejection {
	var rejected *plugin.Rejection
	if errors.As(err, &rejected) {
		return rejected
	}
	return &plugin.Rejection{Code: CodePanic, Message: plugin.Brief(err.Error())}
}

// panicRejection confines a defect to the row that met it.
func panicRejection(cause any) *plugin.Rejection {
	return &plugin.Rejection{Code: CodePanic, Message: plugin.Brief(fmt.Sprint(cause))}
}
