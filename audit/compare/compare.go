// Package compare says how what two runs made of the same rows differs: which rows ended elsewhere, and at which node the two went apart first. It
// reads ways and hashes and computes nothing again, so it can also compare runs whose payloads are purged.
package compare

import (
	"cmp"
	"context"
	"slices"

	"waymark/audit"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/schema"
)

// Comparison is what two complete runs have in common, and what they do not. Rows are those of sources that both have. Rows that barriers make of others
// are not compared, only the outputs in which they end, as a whole.
type Comparison struct {
	Type      string       `json:"type"` // always comparison
	Was       Run          `json:"was"`
	Is        Run          `json:"is"`
	Document  bool         `json:"same_document"` // byte for byte
	Plan      bool         `json:"same_plan"`
	Code      bool         `json:"same_program"`
	Sources   []Source     `json:"sources"`   // of both runs, by name
	Rows      int64        `json:"rows"`      // that are in both runs, byte for byte as they were read
	Flipped   int64        `json:"flipped"`   // of them, those that ended elsewhere
	Refused   int64        `json:"refused"`   // of those, the ones that passed before
	Changed   int64        `json:"changed"`   // of the others, those that had other values at some node
	Ends      []audit.Ends `json:"ends"`      // by where rows ended in both, each pair once; empty, not nil, if there is no row
	Flips     []Flip       `json:"flips"`     // the most frequent first; empty, not nil, if there is none
	Disagreed []Blame      `json:"disagreed"` // by the node at which rows went apart first, the most frequent first; empty, not nil, if none did
	Barriers  []string     `json:"barriers"`  // of both runs: the rows that they make are not compared; empty, not nil, if there is none
	Outputs   []Output     `json:"outputs"`   // of the sinks of both runs, by name
}

// Same reports whether both read the same rows, made the same of each, and published the same bytes.
func (c *Comparison) Same() bool {
	only := slices.ContainsFunc(c.Sources, func(s Source) bool { return s.OnlyWas+s.OnlyIs+s.NotPaired+s.Forgotten > 0 })
	other := slices.ContainsFunc(c.Outputs, func(o Output) bool { return !o.Same })
	return c.Flipped+c.Changed == 0 && !only && !other
}

// Run is one of the two.
type Run struct {
	ID       string             `json:"run"`
	Pipeline string             `json:"pipeline"`
	Version  int64              `json:"version,omitempty"` // of the deployed pipeline; 0 for a file
	Status   pipeline.RunStatus `json:"status"`
}

// Source says which rows of a source the runs have in common.
type Source struct {
	Name      string `json:"source"`
	Was       int64  `json:"was"`        // rows
	Is        int64  `json:"is"`         // rows
	Moved     int64  `json:"moved"`      // of those in common, the ones that have another number in the second run
	OnlyWas   int64  `json:"only_was"`   // rows that only the first run has
	OnlyIs    int64  `json:"only_is"`    // rows that only the second run has
	NotPaired int64  `json:"not_paired"` // rows of the first run that stand elsewhere or nowhere: there are too many to look for them
	Forgotten int64  `json:"forgotten"`  // rows that were forgotten in one of the runs, or in both: nobody can tell whether both had them
}

// Output is what both runs published of a sink.
type Output struct {
	Sink string `json:"sink"`
	Was  *int64 `json:"was"`  // rows; nil if the first run published none
	Is   *int64 `json:"is"`   // rows; nil if the second run published none
	Same bool   `json:"same"` // the same bytes

	Fields []schema.Change `json:"fields"` // that the schemas describe otherwise; empty, not nil, if none is, or only one run published
}

// Flip is rows that ended elsewhere.
type Flip struct {
	From     string `json:"from"` // all ends of the row, as in Ends
	To       string `json:"to"`
	Rows     int64  `json:"rows"`
	Examples []Pair `json:"examples"` // at most maxExamples
}

// Blame is rows that went apart first at a node: they came to it alike, and left it with another value, with another label, elsewhere or not at all.
type Blame struct {
	Node     string `json:"node"`
	Rows     int64  `json:"rows"`
	Flipped  int64  `json:"flipped"`  // of them, those that ended elsewhere
	Examples []Pair `json:"examples"` // at most maxExamples
}

// Pair is a row in both runs, by its token as explain takes it.
type Pair struct {
	Was string `json:"was"`
	Is  string `json:"is"`
}

// maxExamples bounds how many rows are named that have something in common.
const maxExamples = 3

// mostMoved is how many rows of a source are looked for by their content, because another one stands at their place.
const mostMoved = 4_000_000

// comparing is a comparison that is under way.
type comparing struct {
	was, is *side
	found   *Comparison
	words   []string       // where rows ended, by number
	numbers map[string]int // of words
	trails  []trail        // by number
	known   map[string]int // numbers of trails
	ends    map[[2]int]int64
	flips   map[[2]int]*Flip
	blamed  map[string]*Blame
	list    *list // nil if rows are counted
}

// Runs compares two runs of a landscape. Both must be complete. The error wraps landscape.ErrIncomplete if what is recorded of the rows' ways is not
// whole.
func Runs(ctx context.Context, log *landscape.Reader, was, is landscape.Run) (*Comparison, error) {
	ctx, cancel := context.WithCancel(ctx)
	c, err := begin(ctx, log, was, is)
	defer c.end(cancel)
	if err != nil {
		return nil, err
	}
	for _, name := range c.sources() {
		if err := c.source(ctx, name, 1); err != nil {
			return nil, err
		}
	}
	c.conclude()
	return c.found, c.outputs(ctx, log)
}

// begin begins a comparison.
func begin(ctx context.Context, log *landscape.Reader, was, is landscape.Run) (_ *comparing, err error) {
	c := &comparing{
		numbers: map[string]int{}, known: map[string]int{}, ends: map[[2]int]int64{}, flips: map[[2]int]*Flip{}, blamed: map[string]*Blame{},
		found: &Comparison{
			Type: "comparison", Was: runOf(was), Is: runOf(is), Document: was.DocumentSHA256 == is.DocumentSHA256, Plan: was.PlanSHA256 == is.PlanSHA256, Code: was.Code == is.Code,
			Sources: []Source{}, Ends: []audit.Ends{}, Flips: []Flip{}, Disagreed: []Blame{},
		},
	}
	if c.was, err = newSide(ctx, c, log, was.ID); err == nil {
		c.is, err = newSide(ctx, c, log, is.ID)
	}
	return c, err
}

// end ends what is being read ahead.
func (c *comparing) end(cancel context.CancelFunc) {
	cancel()
	for _, side := range []*side{c.was, c.is} {
		if side != nil && side.coming != nil {
			<-side.coming.done
		}
	}
}

// sources are those of both runs, by name.
func (c *comparing) sources() []string {
	names := append(slices.Clone(c.was.sources), c.is.sources...)
	slices.Sort(names)
	return slices.Compact(names)
}

// outputs compares what the runs published, as a whole.
func (c *comparing) outputs(ctx context.Context, log *landscape.Reader) error {
	c.found.Outputs, c.found.Barriers = []Output{}, append([]string{}, c.was.barriers...)
	for _, name := range c.is.barriers {
		if !slices.Contains(c.found.Barriers, name) {
			c.found.Barriers = append(c.found.Barriers, name)
		}
	}
	was, err := log.Artifacts(ctx, c.was.run)
	if err != nil {
		return err
	}
	is, err := log.Artifacts(ctx, c.is.run)
	if err != nil {
		return err
	}
	for i := range was {
		output := Output{Sink: was[i].Sink, Was: &was[i].Rows, Fields: []schema.Change{}}
		if at := slices.IndexFunc(is, func(a landscape.ArtifactRecord) bool { return a.Sink == output.Sink }); at >= 0 {
			output.Is, output.Same = &is[at].Rows, is[at].SHA256 == was[i].SHA256
			if output.Fields, err = schema.Changes(was[i].Schema, is[at].Schema); err != nil {
				return err
			}
		}
		c.found.Outputs = append(c.found.Outputs, output)
	}
	for i := range is {
		if !slices.ContainsFunc(was, func(a landscape.ArtifactRecord) bool { return a.Sink == is[i].Sink }) {
			c.found.Outputs = append(c.found.Outputs, Output{Sink: is[i].Sink, Is: &is[i].Rows, Fields: []schema.Change{}})
		}
	}
	slices.SortFunc(c.found.Outputs, func(a, b Output) int { return cmp.Compare(a.Sink, b.Sink) })
	return nil
}

func runOf(r landscape.Run) Run {
	return Run{ID: r.ID, Pipeline: r.Pipeline, Version: r.Version, Status: r.Status}
}

// A trail is the ways of all tokens of a row, and where these ended.
type trail struct {
	end     int // number of the words about it
	refused bool
	alike   int64 // rows that took it in both runs, with the same values
}

// number returns the number of a text about an end.
func (c *comparing) number(word string) int {
	n, known := c.numbers[word]
	if !known {
		n = len(c.words)
		c.words, c.numbers[word] = append(c.words, word), n
	}
	return n
}

// source compares the rows of a source from one on, stretch by stretch: rows that follow each other in both runs, and stand in one chunk of each.
func (c *comparing) source(ctx context.Context, name string, first int64) error {
	paired, err := c.pair(ctx, name)
	if err != nil {
		return err
	}
	c.found.Sources = append(c.found.Sources, paired.about)
	for number := first; number <= paired.about.Was && !c.list.full(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		other := paired.other(number)
		if other == 0 {
			number++
			continue
		}
		was, is, err := c.chunksOf(ctx, paired.about, number, other)
		if err != nil {
			return err
		}
		most := min(was.FirstRow+was.Rows-number, is.FirstRow+is.Rows-other)
		n := int64(1)
		for n < most && paired.other(number+n) == other+n {
			n++
		}
		c.stretch(was, is, int(number-was.FirstRow), int(other-is.FirstRow), int(n))
		number += n
	}
	return nil
}

// stretch compares n rows of a chunk with as many of another one, beginning with these, slice by slice: most slices are stored alike.
func (c *comparing) stretch(was, is *chunk, first, other, n int) {
	for end := first + n; first < end; {
		some := min(end-first, landscape.SliceRows-first%landscape.SliceRows)
		c.slice(was, is, first, other, some)
		first, other = first+some, other+some
	}
}

// slice compares n rows of a slice with as many rows of another chunk.
func (c *comparing) slice(was, is *chunk, first, other, n int) {
	differing, unlike := columns(was, is, first, other)
	for i := range n {
		before, after := first+i, other+i
		trail := was.trails[before]
		if trail == is.trails[after] && !unlike && !differing.at(before, after) {
			c.trails[trail].alike++
			c.list.take(c, was.row(before), is.row(after), "")
			continue
		}
		c.compare(was.row(before), is.row(after))
	}
}

// differ are columns of hashes of which not all in a slice are known to be equal.
type differ [][2]*landscape.HashSlices

// at reports whether two rows differ in one of the columns.
func (d differ) at(before, after int) bool {
	for _, pair := range d {
		if pair[0].At(before) != pair[1].At(after) {
			return true
		}
	}
	return false
}

// columns returns the columns in which rows may differ of the slices of two rows; unlike says that one of the chunks has a column that the other has not.
func columns(was, is *chunk, first, other int) (differing differ, unlike bool) {
	for at, before := range was.hashes {
		after := is.hashes[at]
		switch {
		case after == nil:
			unlike = true
		case first != other || !before.SameSlice(after, first/landscape.SliceRows):
			differing = append(differing, [2]*landscape.HashSlices{before, after})
		}
	}
	return differing, unlike || len(is.hashes) != len(was.hashes)
}

// compare notes what differs of one row.
func (c *comparing) compare(was, is rowOf) {
	c.found.Rows++
	before, after := c.trails[was.trails[was.index]], c.trails[is.trails[is.index]]
	ends := [2]int{before.end, after.end}
	c.ends[ends]++
	node := c.firstDifference(was, is)
	c.list.take(c, was, is, node)
	flipped := before.end != after.end
	switch {
	case flipped:
		c.found.Flipped++
		if !before.refused && after.refused {
			c.found.Refused++
		}
		flip := c.flips[ends]
		if flip == nil {
			flip = &Flip{From: c.words[before.end], To: c.words[after.end], Examples: []Pair{}}
			c.flips[ends] = flip
		}
		flip.Rows++
		flip.Examples = example(flip.Examples, was, is)
	case node == "":
		return
	default:
		c.found.Changed++
	}
	blame := c.blamed[node]
	if blame == nil {
		blame = &Blame{Node: node, Examples: []Pair{}}
		c.blamed[node] = blame
	}
	blame.Rows++
	if flipped {
		blame.Flipped++
	}
	blame.Examples = example(blame.Examples, was, is)
}

func example(pairs []Pair, was, is rowOf) []Pair {
	if len(pairs) < maxExamples {
		pairs = append(pairs, Pair{was.token(), is.token()})
	}
	return pairs
}

// firstDifference is the node at which two rows went apart first; empty if they never did.
func (c *comparing) firstDifference(was, is rowOf) string {
	before, after := was.tokens(), is.tokens()
	for i := range max(len(before), len(after)) {
		switch {
		case i == len(before):
			return c.is.lanes[after[i].Token.Lane].Node
		case i == len(after):
			return c.was.lanes[before[i].Token.Lane].Node
		}
		one, other := c.was.lanes[before[i].Token.Lane], c.is.lanes[after[i].Token.Lane]
		if one.Name != other.Name {
			return cmp.Or(one.Node, other.Node)
		}
		if node := c.wentApart(walk{row: was, lanes: c.was.lanes, lane: one, ended: before[i]}, walk{row: is, lanes: c.is.lanes, lane: other, ended: after[i]}); node != "" {
			return node
		}
	}
	return ""
}

// wentApart is the node at which two tokens went apart first; empty if they never did. A node that only one of the two runs has is passed over if it
// left the row as it was.
func (c *comparing) wentApart(before, after walk) string {
	before.begin()
	after.begin()
	for last := before.lane.Node; ; {
		step, goes := before.next()
		other, goesToo := after.next()
		switch {
		case !goes && !goesToo:
			return endedApart(&before.ended, &after.ended, last)
		case !goes || !goesToo: // one of the two ended at the node before
			return cmp.Or(last, before.ended.Node)
		case !c.was.nodes[other.Node]:
			if last = other.Node; after.pass(other) {
				return last
			}
			continue
		case !c.is.nodes[step.Node]:
			if last = step.Node; before.pass(step) {
				return last
			}
			continue
		case step.Node != other.Node: // decided at the node before
			return cmp.Or(last, before.ended.Node)
		}
		before.pass(step)
		after.pass(other)
		if step.Label != other.Label || before.hash != after.hash {
			return step.Node
		}
		if step.Node != before.ended.Way.Sink {
			last = step.Node
		}
	}
}

// walk goes with a token from step to step.
type walk struct {
	row   rowOf
	lanes []landscape.Lane // of its run
	lane  landscape.Lane   // in which it ended
	ended landscape.Ended
	at    int  // number of the next step
	hash  hash // of the token as it left the last step; zero if none before had hashes
}

// begin goes to the token's first step: those before it are those of the token from which it was copied.
func (w *walk) begin() {
	for w.at < w.ended.Way.First {
		w.pass(w.ended.Way.Steps[w.at])
	}
}

// next is the next step, of which the last is the sink to which the way leads; false if there is none.
func (w *walk) next() (landscape.Step, bool) {
	switch {
	case w.at < len(w.ended.Way.Steps):
		return w.ended.Way.Steps[w.at], true
	case w.at == len(w.ended.Way.Steps) && w.ended.Way.ToSink():
		return landscape.Step{Lane: w.ended.Way.Lane, Node: w.ended.Way.Sink}, true
	}
	return landscape.Step{}, false
}

// pass takes the step, and reports whether that changed the token.
func (w *walk) pass(step landscape.Step) (changed bool) {
	w.at++
	hashes := w.row.hashes[column{w.lanes[step.Lane].Name, step.Node}]
	if hashes == nil {
		return false
	}
	before := w.hash
	w.hash = hashes.At(w.row.index) // zero if it did not leave the node
	return w.hash != hash{} && w.hash != before
}

// endedApart is the node at which two tokens ended otherwise that took the same steps; empty if they ended alike.
func endedApart(before, after *landscape.Ended, last string) string {
	refused := func(t *landscape.Ended) bool { return t.Way.ToSink() && t.Node == t.Way.Sink } // by the target
	switch {
	case refused(before) != refused(after):
		return before.Way.Sink
	case before.Path != after.Path || before.Sink != after.Sink:
		return last
	}
	return ""
}

// conclude brings what was counted into order.
func (c *comparing) conclude() {
	for _, trail := range c.trails {
		if trail.alike > 0 {
			c.found.Rows += trail.alike
			c.ends[[2]int{trail.end, trail.end}] += trail.alike
		}
	}
	for pair, rows := range c.ends {
		c.found.Ends = append(c.found.Ends, audit.Ends{Was: c.words[pair[0]], Is: c.words[pair[1]], Rows: rows})
	}
	slices.SortFunc(c.found.Ends, func(a, b audit.Ends) int { return cmp.Or(cmp.Compare(a.Was, b.Was), cmp.Compare(a.Is, b.Is)) })
	for _, flip := range c.flips {
		c.found.Flips = append(c.found.Flips, *flip)
	}
	slices.SortFunc(c.found.Flips, func(a, b Flip) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	for _, blame := range c.blamed {
		c.found.Disagreed = append(c.found.Disagreed, *blame)
	}
	slices.SortFunc(c.found.Disagreed, func(a, b Blame) int { return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Node, b.Node)) })
}
