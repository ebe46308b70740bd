package engine

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/pipeline/schema"
	"waymark/plugin"
)

// NoToken stands where a record has no token in a lane.
const NoToken = 0xFFFF

// Result is everything that happened to one chunk in one pass.
type Result struct {
	Lanes    []LaneRoutes        // in lane order; the root lane always, others if they have a token
	Columns  []Column            // of the nodes that change rows and got one, by lane and node; nil with Input.Hashes
	Keys     []KeyColumn         // of the business key's fields, in the document's order; nil for a barrier's chunk
	Repeats  []RepeatColumn      // of the deduplicates that dropped at least one token, by lane and node
	Merges   []LaneMerges        // by the lanes of the coalesces that decided something in this pass
	Rejected []Rejected          // ascending by record, within one in the order in which they were rejected
	Parts    []Part              // one for each node of the plan, empty unless it is a sink
	Arrivals []*barrier.Arrivals // one for each node of the plan, nil unless it is a barrier that got something
	Fields   []FieldColumn       // of the sinks that got a row with fields to disclose, by lane and sink's name
	Late     map[At][]Held       // by token of Input.Late that ended: one per total of the plan; nil if there is none

	root    int // lane
	rows    int
	slice   int // records of which columns hold hashes at a time, from number from on
	from    int
	ways    ways
	routes  []*routes             // by lane
	columns []*Column             // by lane and node
	repeats map[int]*RepeatColumn // by lane and node
	merges  []*merges             // by lane
	fields  map[int]*FieldColumn  // by lane and node
}

// LaneRoutes is the way of each token of one lane.
type LaneRoutes struct {
	Lane  int
	Codes []uint16 // for each record its token's way: an index into Ways; NoToken if it has none
	Ways  []Way
}

// Column holds what came out of one node in one lane: the SHA-256 of the canonical form of each row.
type Column struct {
	Lane   int
	Node   int
	Hashes []byte // 32 bytes for each record of the chunk; zero for a record that did not come out of the node
}

// KeyColumn holds, for each record, the first 4 bytes of the SHA-256 of the canonical form of one field's value; zero
// for a record that the source rejected.
type KeyColumn struct {
	Field  string
	Hashes []byte
}

// FieldColumn has the values that can be disclosed of the rows that a sink got in one lane.
type FieldColumn struct {
	Lane   int
	Node   int    // the sink
	Rows   []int  // records, ascending
	Ends   []int  // by row and field of plan.Node.Shown: where its value ends in Values; empty if the row lacks it
	Values []byte // in canonical form
}

// RepeatColumn says of which tokens those are repeats that a deduplicate dropped in one lane.
type RepeatColumn struct {
	Lane int
	Node int
	// Firsts has for each record the token that was the first with its key: the zero token for a record that was not
	// dropped.
	Firsts []barrier.Token
}

// LaneMerges is what a coalesce decided about each record.
type LaneMerges struct {
	Lane      int      // of the merged rows
	Codes     []uint16 // for each record the decision: an index into Decisions; NoToken if its fork did not happen
	Decisions []Decided
}

// Decided is a decision that a coalesce took about some records.
type Decided struct {
	barrier.Decision // without Row
	Rows             int
}

// Part is what one sink gets of the chunk.
type Part struct {
	Data   []byte // rows in source order, without a header; what a plugin.Finisher made of them
	Rows   int64
	SHA256 [32]byte // of Data
	Beyond string   // what the rows have beyond the sink's plan.Node.Layout, as a schema.Schema is stored; empty if nothing

	seen schema.Seen
}

// add adds a row. data is Data with it.
func (p *Part) add(data []byte, r row.Row) {
	p.seen.Note(r)
	p.Data = data
	p.Rows++
}

func newResult(p *plan.Plan, origin, root, rows int) *Result {
	result := &Result{
		root: root, rows: rows, slice: rows,
		Parts:    make([]Part, len(p.Nodes)),
		Arrivals: make([]*barrier.Arrivals, len(p.Nodes)),
		routes:   make([]*routes, len(p.Lanes)),
		columns:  make([]*Column, len(p.Lanes)*len(p.Nodes)),
		merges:   make([]*merges, len(p.Lanes)),
	}
	result.ways.roots = make([][]*wayNode, len(p.Lanes))
	result.routes[root] = newRoutes(rows)
	for _, field := range p.Nodes[origin].Key {
		result.Keys = append(result.Keys, KeyColumn{Field: field, Hashes: make([]byte, 4*rows)})
	}
	return result
}

// slot returns the place of a token at its node in lists by lane and node.
func (r *Result) slot(t *token) int { return t.lane*len(r.Parts) + t.at }

// column returns the place of the hash with which a token leaves its node.
func (r *Result) column(t *token) []byte {
	at := r.slot(t)
	column := r.columns[at]
	if column == nil {
		column = &Column{Lane: t.lane, Node: t.at, Hashes: make([]byte, sha256.Size*r.slice)}
		r.columns[at] = column
	}
	i := t.record - r.from
	return column.Hashes[sha256.Size*i : sha256.Size*(i+1)]
}

// give lets hashes, if not nil, take the columns of the slice at hand, and begins the next one.
func (r *Result) give(hashes *Hashes) {
	if hashes == nil {
		return
	}
	for at, column := range r.columns {
		if column != nil {
			made := column.Hashes[:sha256.Size*min(r.slice, r.rows-r.from)]
			hashes.Take(Column{Lane: column.Lane, Node: column.Node, Hashes: made}, r.from)
			clear(column.Hashes)
		}
		if r.rows-r.from <= r.slice {
			r.columns[at] = nil
		}
	}
	r.from += r.slice
}

// repeat notes that a deduplicate drops a token, and which token was the first with its key.
func (r *Result) repeat(t *token, first barrier.Token) {
	at := r.slot(t)
	column := r.repeats[at]
	if column == nil {
		column = &RepeatColumn{Lane: t.lane, Node: t.at, Firsts: make([]barrier.Token, r.rows)}
		if r.repeats == nil {
			r.repeats = map[int]*RepeatColumn{}
		}
		r.repeats[at] = column
	}
	column.Firsts[t.record] = first
}

// fieldsOf returns what can be disclosed of the rows that a sink got in the lane of a token that it has.
func (r *Result) fieldsOf(t *token) *FieldColumn {
	at := r.slot(t)
	if r.fields[at] == nil {
		if r.fields == nil {
			r.fields = map[int]*FieldColumn{}
		}
		r.fields[at] = &FieldColumn{Lane: t.lane, Node: t.at}
	}
	return r.fields[at]
}

// late notes what the totals of a token come to.
func (r *Result) late(at At, amounts []Held) {
	if r.Late == nil {
		r.Late = map[At][]Held{}
	}
	r.Late[at] = amounts
}

// end ends a token. It returns how all tokens of its way ended.
func (r *Result) end(t *token, path pipeline.Path, sentTo string) *endedWay {
	routes := r.routes[t.lane]
	if routes == nil {
		routes = newRoutes(r.rows)
		r.routes[t.lane] = routes
	}
	code := routes.end(t.way, path, sentTo)
	routes.codes[t.record] = code
	return &routes.done[code]
}

// ended reports whether a token has ended.
func (r *Result) ended(t *token) bool {
	return r.routes[t.lane] != nil && r.routes[t.lane].codes[t.record] != NoToken
}

// arrivals returns what came to a barrier.
func (r *Result) arrivals(node int) *barrier.Arrivals {
	if r.Arrivals[node] == nil {
		r.Arrivals[node] = new(barrier.Arrivals)
	}
	return r.Arrivals[node]
}

// noteDecision notes what a coalesce decided about the branches of which it made the token.
func (r *Result) noteDecision(t *token, decision barrier.Decision) {
	if r.merges[t.lane] == nil {
		r.merges[t.lane] = newMerges(r.rows)
	}
	r.merges[t.lane].add(t.record, decision)
}

// finish sums up. The error is that of a plugin.Finisher.
func (r *Result) finish(made *program) error {
	for lane, routes := range r.routes {
		if routes != nil {
			r.Lanes = append(r.Lanes, LaneRoutes{Lane: lane, Codes: routes.codes, Ways: routes.list(made.vertices)})
		}
	}
	for _, column := range r.columns {
		if column != nil {
			r.Columns = append(r.Columns, *column)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(r.repeats)) {
		r.Repeats = append(r.Repeats, *r.repeats[at])
	}
	if r.fields != nil {
		r.finishFields(made.plan)
	}
	for lane, merges := range r.merges {
		if merges != nil {
			r.Merges = append(r.Merges, LaneMerges{Lane: lane, Codes: merges.codes, Decisions: merges.decided})
		}
	}
	for i := range r.Parts {
		if err := r.Parts[i].finish(&made.vertices[i]); err != nil {
			return &UnfinishedError{Node: made.plan.Nodes[i].Name, Err: err}
		}
	}
	return nil
}

// finishFields puts what can be disclosed in order.
func (r *Result) finishFields(p *plan.Plan) {
	for _, column := range r.fields {
		r.Fields = append(r.Fields, *column)
	}
	slices.SortFunc(r.Fields, func(a, b FieldColumn) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(p.Nodes[a.Node].Name, p.Nodes[b.Node].Name))
	})
}

// finish makes the part's bytes of the rows that the encoder gathered, if it only gathers them.
func (p *Part) finish(sink *vertex) error {
	if finisher, ok := sink.encoder.(plugin.Finisher); ok && p.Rows > 0 {
		data, err := finisher.Finish(p.Data)
		if err != nil {
			return err
		}
		p.Data = data
	}
	p.SHA256 = sha256.Sum256(p.Data)
	if p.Rows > 0 {
		p.Beyond, p.seen = p.seen.Beyond(sink.layout), schema.Seen{}
	}
	return nil
}

func noTokens(rows int) []uint16 {
	codes := make([]uint16, rows)
	for i := range codes {
		codes[i] = NoToken
	}
	return codes
}
