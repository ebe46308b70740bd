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
	Pipeline string   `json:"pipeline"`
	Sources  []string `json:"sources"`            // in document order
	Barriers []string `json:"barriers,omitempty"` // in node order
	Sinks    []Sink   `json:"sinks"`              // in document order
	Bytes    int64    `json:"bytes"`              // of the sources' files, as they lie on disk
	Ordered  bool     `json:"ordered,omitempty"`  // chunks must go through the steps one after the other

	Small  []bool `json:"small,omitempty"`  // of each source, in document order: it holds so little that it may be read together with others; nil if none does
	Depths []int  `json:"depths,omitempty"` // of each barrier, in node order: how many barriers its rows meet before it, at most; nil if there are none

	Whole bool `json:"whole,omitempty"` // the run holds so little that it is read, processed and written in one activity

	Queue  string `json:"queue,omitempty"`  // task queue of the workers that see the run's files; "" if any worker can do the run
	Worker string `json:"worker,omitempty"` // task queue of the process that opened the run; "" if it works alone
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
		out.Sources = append(out.Sources, node.Name)
		for _, file := range pins[node.Name].Files {
			out.Bytes += file.Bytes
		}
		out.Small = append(out.Small, IsSmall(pins[node.Name]))
	}
	out.Whole = !slices.Contains(out.Small, false) && len(out.Small)+len(out.Sinks) <= mostWhole && !out.Ordered && compiled.Chunk.Rows >= wholeRows
	if !slices.Contains(out.Small, true) {
		out.Small = nil
	}
	depths := compiled.Depths()
	for i := range compiled.Nodes {
		if compiled.Nodes[i].Barrier {
			out.Whole = false
			out.Barriers, out.Depths = append(out.Barriers, compiled.Nodes[i].Name), append(out.Depths, depths[i])
		}
	}
	return out, nil
}

// smallBytes is the size up to which a source's files are read together with those of other sources. What they hold is a few times as
// much if they are compressed.
const smallBytes = 32 << 10

const (
	// mostWhole is how many sources and sinks a run has at most that is done as a whole.
	mostWhole = 16

	// wholeRows is how many rows a chunk has room for, so that what a small source holds is one.
	wholeRows = smallBytes / 2
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
