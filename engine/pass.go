package engine

import (
	"crypto/sha256"
	"unsafe"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// pass sends one chunk through the graph, record by record.
type pass struct {
	*Runner
	in     Input
	bad    []plugin.BadRecord // of the chunk, from the current record on
	result *Result
	totals *totals     // of the program; nil if the pass is quiet
	quiet  bool        // Firsts is to hear of values, and nothing is to be made
	watch  func(Event) // nil if no caller asks what happens
	token  token
}

// run sends every record of the chunk through the graph.
func (p *pass) run() error {
	for _, loss := range p.in.Losses {
		p.lose(p.plan.Nodes[p.in.Origin].Context[len(loss.Keys)-1].Coalesce, loss)
	}
	data := p.in.Chunk.Data
	text := unsafe.String(unsafe.SliceData(data), len(data))
	for p.token.record < p.in.Chunk.Len() {
		if err := p.runOn(text); err != nil {
			return err
		}
	}
	p.result.give(p.in.Hashes)
	return nil
}

// runOn runs the records from the current one to the end, or to one that panics: that record alone is rejected.
func (p *pass) runOn(text string) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			_, err = p.confine(p.roots[p.in.Origin], cause)
			p.token.record++
		}
	}()
	for ; p.token.record < p.in.Chunk.Len(); p.token.record++ {
		i := p.token.record
		if i >= p.pace.next {
			if err := p.breathe(); err != nil {
				return err
			}
		}
		if hashes := p.in.Hashes; hashes != nil && hashes.Every > 0 && i == p.result.from+hashes.Every {
			p.result.give(hashes)
		}
		start := p.in.Chunk.Offsets[i]
		if err := p.runRecord(text[start : start+p.in.Chunk.Lengths[i]]); err != nil {
			return err
		}
	}
	return nil
}

// runRecord takes the current record through the graph. If it does not reach a coalesce that waits for it, the coalesce
// is told.
func (p *pass) runRecord(text string) error {
	i, lane := p.token.record, p.roots[p.in.Origin]
	context := p.plan.Lanes[lane].Context
	keys := p.in.keysOf(i, len(context))
	p.token = token{record: i, lane: lane, at: p.in.Origin, keys: append(p.scratch.keys[:0], keys...)}
	p.totals.begin()
	p.scratch.hasher.Forget()
	lost, err := p.runRoot(text)
	if err != nil || lost == "" || len(context) == 0 {
		return err
	}
	if b := p.branches[lane]; b != plan.None {
		p.lose(context[len(context)-1].Coalesce, barrier.Loss{Keys: keys, Branch: b, Reason: lost})
	}
	return nil
}

// runRoot parses the record and follows it to its end.
func (p *pass) runRoot(text string) (pipeline.Path, error) {
	var rejected *plugin.Rejection
	if len(p.bad) > 0 && p.bad[0].Index == p.token.record {
		rejected = &p.bad[0].Rejection
		p.bad = p.bad[1:]
	}
	switch {
	case p.in.Without != nil && p.in.Without[p.token.record]:
		p.step(noLabel)
		p.end(pipeline.FilterDropped, "")
		return pipeline.FilterDropped, nil
	case rejected != nil:
		return p.reject(rejected)
	}
	current, err := p.parsers.parse(&p.in, p.token.record, text, p.scratch.values)
	if err != nil {
		return p.reject(rejection(err))
	}
	p.scratch.values = current.Values
	p.totals.open(p.token.at, 0, current)
	if rejected, err := p.duplicate(current); err != nil || rejected != nil {
		if err != nil {
			return "", err
		}
		return p.reject(rejected)
	}
	if p.quiet && !p.deduplicates {
		return pipeline.FilterDropped, nil
	}
	if !p.quiet {
		p.noteKeys(current)
	}
	origin := &p.vertices[p.token.at]
	if origin.changes {
		p.noteHash(current, row.Change{})
	}
	p.step(noLabel)
	if p.watch != nil {
		p.watch(Event{Lane: p.token.lane, Node: p.token.at, After: current})
	}
	return p.follow(origin.next, current)
}

// noteHash notes the hash of the row with which the current token leaves its node, and which that made of the row before
// as the change says.
func (p *pass) noteHash(current row.Row, change row.Change) {
	if p.quiet || p.in.Hashes != nil && p.in.Hashes.Every == 0 {
		return
	}
	sum := p.scratch.hasher.Sum(current, change)
	copy(p.result.column(&p.token), sum[:])
}

// noteKeys notes the hashes of the fields of the business key.
func (p *pass) noteKeys(current row.Row) {
	for k := range p.result.Keys {
		if value, found := current.Get(p.result.Keys[k].Field); found {
			p.scratch.canonical = row.AppendValue(p.scratch.canonical[:0], value.Key())
			sum := sha256.Sum256(p.scratch.canonical)
			copy(p.result.Keys[k].Hashes[4*p.token.record:], sum[:4])
		}
	}
}

func (p *pass) see(event Event) {
	if p.watch != nil {
		p.watch(event)
	}
}
