package graphs

import (
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// interpreter is one run.
type interpreter struct {
	doc         *pipeline.Document
	graph       *graph
	input       Input
	barriers    map[string]barrier
	numbers     map[string]int64       // of the latest record of each source and barrier
	seen        map[string]bool        // keys that a deduplicate has met
	coalescings map[string]*coalescing // of the forks whose branches are in flight in the turn at hand
	fed         map[string][]event
	programs    *programs
	result      *Result
}

// barrier is what a node holds in which tokens end and from which others come in later turns.
type barrier interface {
	accept(events []event) settlement
	end() settlement
}

// event is what a turn brought to a barrier: a token, or the news that a branch is lost.
type event struct {
	token *token
	row   row.Row       // of the token
	args  [][]row.Value // of an aggregate: for each computed field the arguments of its functions
	lost  *loss
}

// settlement is what a barrier gives back.
type settlement struct {
	outs []birth
	lost []*loss // branches that end in the barrier
}

// birth is a record of a source, or a row that comes out of a barrier.
type birth struct {
	row     row.Row
	refused *Refusal
	parents []*token
	open    []openBranch
	batch   *Batch
	merge   *Merge
}

// stop ends the interpretation.
type stop struct{ error }

// Interpret says what the document makes of the input. The document has no time triggers and no timeouts, or their time
// never comes. The error says that a row was refused where the document says fail.
func Interpret(doc *pipeline.Document, input Input) (result *Result, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			stopped, ours := cause.(stop)
			if !ours {
				panic(cause)
			}
			err = stopped.error
		}
	}()
	in := newInterpreter(doc, input)
	in.readSources()
	in.endBarriers()
	return in.result, nil
}

func newInterpreter(doc *pipeline.Document, input Input) *interpreter {
	in := &interpreter{doc: doc, graph: newGraph(doc), input: input, barriers: map[string]barrier{}, numbers: map[string]int64{},
		seen: map[string]bool{}, coalescings: map[string]*coalescing{}, programs: newPrograms(doc), result: newResult()}
	for _, n := range in.graph.nodes {
		in.result.Nodes[n.name] = &Counts{}
		if in.graph.gathers(n) {
			in.barriers[n.name] = in.newBarrier(n)
		}
	}
	return in
}

// readSources takes the chunks of the sources in turns: the first of each source in document order, the second of each,
// and so on. A source at its end is left out.
func (in *interpreter) readSources() {
	for k, more := 0, true; more; k++ {
		more = false
		for _, n := range in.graph.nodes {
			if chunks := in.input.Sources[n.name]; n.source && k < len(chunks) {
				more = true
				in.turn(n, recordsOf(chunks[k]), nil)
			}
		}
	}
}

func recordsOf(chunk []Record) []birth {
	var records []birth
	for _, record := range chunk {
		records = append(records, birth{row: record.Row, refused: record.Refused})
	}
	return records
}

// endBarriers tells the barriers in document order that nothing more will come.
func (in *interpreter) endBarriers() {
	for _, n := range in.graph.nodes {
		if held := in.barriers[n.name]; held != nil {
			in.settle(n, held.end())
		}
	}
}

// turn is what happens to one chunk: each record goes its way, and reaches sinks. Then each barrier that the chunk fed, in
// document order, settles what it got, and what comes out of it has turns of its own before the next barrier settles.
// lost are branches that ended in the barrier from which the chunk comes; coalesces hear of them before the first record.
func (in *interpreter) turn(origin *node, records []birth, lost []*loss) {
	in.fed = map[string][]event{}
	for _, l := range lost {
		in.tell(l)
	}
	for _, record := range records {
		in.begin(origin, record)
	}
	fed := in.fed
	for _, n := range in.graph.nodes {
		if events := fed[n.name]; len(events) > 0 {
			in.settle(n, in.barriers[n.name].accept(events))
		}
	}
}

// settle gives what came out of a barrier its turns, in chunks as long as those of sources.
func (in *interpreter) settle(n *node, s settlement) {
	chunks := slices.Collect(slices.Chunk(s.outs, in.graph.rows))
	if len(chunks) == 0 && len(s.lost) > 0 {
		chunks = [][]birth{nil}
	}
	for i, chunk := range chunks {
		if i > 0 {
			s.lost = nil
		}
		in.turn(n, chunk, s.lost)
	}
}

// begin lets a record of a source, or a row that comes out of a barrier, go its way.
func (in *interpreter) begin(origin *node, record birth) {
	in.numbers[origin.name]++
	t := &token{source: origin.name, number: in.numbers[origin.name], open: record.open, row: record.row, parents: record.parents}
	if record.batch != nil {
		record.batch.Outs = append(record.batch.Outs, t.id())
	}
	if record.merge != nil {
		record.merge.Merged = t.id()
	}
	counts := in.result.Nodes[origin.name]
	if origin.source {
		counts.In++
	} else {
		counts.Created++
	}
	if record.refused != nil {
		in.refuse(origin, t, *record.refused)
		return
	}
	counts.Out++
	in.walk(t, in.graph.next[origin.name])
}

func (in *interpreter) newBarrier(n *node) barrier {
	switch {
	case n.step.Coalesce != nil:
		return &held{in: in, node: n, entries: map[string]*coalescing{}}
	case n.step.Expand != nil:
		return &expander{in: in, node: n}
	case n.step.Deduplicate != nil:
		return &lastOfKey{in: in, node: n}
	case n.step.Sort != nil:
		return &gatherer{in: in, node: n, groupBy: n.step.Sort.GroupBy, make: sorted}
	case n.step.Aggregate.Mode == "passthrough":
		return &gatherer{in: in, node: n, groupBy: n.step.Aggregate.GroupBy, make: passedThrough}
	}
	return &gatherer{in: in, node: n, groupBy: n.step.Aggregate.GroupBy, make: transformed}
}

func newResult() *Result {
	return &Result{Lines: map[string][]string{}, Refused: map[string][]Refused{}, Nodes: map[string]*Counts{}, Tokens: map[string]*Token{}}
}

func (in *interpreter) fail(n *node, t *token, refused Refusal) {
	panic(stop{fmt.Errorf("%s refused %s with %s, and the document says that this stops the run", n.name, t.id(), refused.Code)})
}
