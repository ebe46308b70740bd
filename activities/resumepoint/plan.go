package resumepoint

import (
	"fmt"
	"slices"

	"waymark/engine"
	"waymark/engine/plan"
	"waymark/plugin"
)

// Plan is what the workflow needs to know of the plan.
type Plan struct {
	Pipeline string    `json:"pipeline"`
	Sources  []Source  `json:"sources"`            // in document order
	Barriers []Barrier `json:"barriers,omitempty"` // in node order
	Sinks    []Sink    `json:"sinks"`              // in document order
	Bytes    int64     `json:"bytes"`              // of the sources' files, as they are on disk
	Ordered  bool      `json:"ordered,omitempty"`  // chunks must be recorded in the order of their turns
	Small    bool      `json:"small,omitempty"`    // the run holds so little that one activity reads, passes and writes all of it
	Split    bool      `json:"split,omitempty"`    // it holds so much that several processes do it, several chunks at once

	Queue  string `json:"queue,omitempty"`  // task queue of the workers that see the run's files; "" if any worker can do the run
	Worker string `json:"worker,omitempty"` // task queue of the process that opened the run; "" if it works alone
}

// Spread reports whether any process can do any chunk: nothing is gathered, and no order counts.
func (p *Plan) Spread() bool { return len(p.Barriers) == 0 && !p.Ordered }

// Source is one source of the plan.
type Source struct {
	Name  string `json:"name"`
	Small bool   `json:"small,omitempty"` // it holds so little that it may be read in one batch with others
}

// Barrier is one barrier of the plan.
type Barrier struct {
	Name  string `json:"name"`
	Depth int    `json:"depth"` // how many barriers its rows meet before it, at most
}

// Sink is one sink of the plan.
type Sink struct {
	Name        string `json:"name"`
	HeaderBytes int64  `json:"header_bytes"`
	InOrder     bool   `json:"in_order,omitempty"` // its parts must be written one after the other
}

// PlanOf sums up what the workflow needs to know of the plan.
func PlanOf(compiled *plan.Plan, pins map[string]plugin.SourceInfo) (Plan, error) {
	out := Plan{Pipeline: compiled.Document.Pipeline.Name, Ordered: len(engine.Claims(compiled)) > 0}
	for _, i := range compiled.Sinks() {
		node := &compiled.Nodes[i]
		encoder, err := node.Encoder()
		if err != nil {
			return Plan{}, fmt.Errorf("sink %s: %w", node.Name, err)
		}
		sink := Sink{Name: node.Name, HeaderBytes: int64(len(encoder.Header()))}
		if ordered, ok := node.Sink.(plugin.InOrder); ok {
			sink.InOrder = ordered.InOrder()
		}
		out.Sinks = append(out.Sinks, sink)
	}
	for _, i := range compiled.Sources() {
		node := &compiled.Nodes[i]
		for _, file := range pins[node.Name].Files {
			out.Bytes += file.Bytes
		}
		out.Sources = append(out.Sources, Source{node.Name, IsSmall(pins[node.Name])})
	}
	depths := compiled.Depths()
	for i := range compiled.Nodes {
		if compiled.Nodes[i].Barrier {
			out.Barriers = append(out.Barriers, Barrier{compiled.Nodes[i].Name, depths[i]})
		}
	}
	large := slices.ContainsFunc(out.Sources, func(s Source) bool { return !s.Small })
	out.Small = !large && out.Spread() &&
		len(out.Sources)+len(out.Sinks) <= mostSmall && compiled.Chunk.Rows >= smallRows
	return out, nil
}

// smallBytes is the size up to which a source's files are read in one batch with those of other sources. What they hold
// is a few times as much if they are compressed.
const smallBytes = 32 << 10

const (
	// mostSmall is how many sources and sinks a small run has at most.
	mostSmall = 16

	// smallRows is how many rows a chunk has room for in a small run, so that what a small source holds is one or a few: a
	// chunk of a plan with hundreds of steps has room for no more.
	smallRows = smallBytes / 32
)

// IsSmall reports whether it is known that a source holds little.
func IsSmall(source plugin.SourceInfo) bool {
	var bytes int64
	for _, file := range source.Files {
		if file.Bytes == 0 { // or not known
			return false
		}
		bytes += file.Bytes
	}
	return len(source.Files) > 0 && bytes <= smallBytes
}
