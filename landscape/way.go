package landscape

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"waymark/pipeline"
)

// Step is one node on a way, with the label that a gate gave there, else empty.
type Step struct {
	Node  string `json:"node"`
	Label string `json:"label,omitempty"`
}

// Way is the route of a token through the graph, and how it ended.
//
// Steps begin with the source and end with the node that ended the token or sent it to a sink; a sink is never among
// them. Sink is the sink that gets the row, pipeline.QuarantineSink, pipeline.DiscardSink, or empty for a row that a gate
// discarded or a filter dropped. A label is one that the document declares: the label of an unrouted token is data, it
// stands in the error and not here.
type Way struct {
	Steps []Step        `json:"steps"`
	Path  pipeline.Path `json:"path"`
	Sink  string        `json:"sink,omitempty"`
}

// Signature returns the way as people read it, such as `strikes > triage[true] > review (gate_routed)`. Two ways are
// the same exactly if their signatures are.
func (w Way) Signature() string {
	var b strings.Builder
	for i, step := range w.Steps {
		if i > 0 {
			b.WriteString(" > ")
		}
		b.WriteString(step.Node)
		if step.Label != "" {
			b.WriteString("[" + quoteLabel(step.Label) + "]")
		}
	}
	if w.Sink != "" {
		b.WriteString(" > " + w.Sink)
	}
	b.WriteString(" (" + string(w.Path) + ")")
	return b.String()
}

// quoteLabel leaves plain words as they are and quotes whatever could be taken for something else.
func quoteLabel(label string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	for _, r := range label {
		if !plain(r) {
			return strconv.Quote(label)
		}
	}
	return label
}

// ID returns the way's id: 16 hex digits.
func (w Way) ID() string {
	sum := sha256.Sum256([]byte(w.Signature()))
	return hex.EncodeToString(sum[:8])
}

// Last returns the node that ended the token or sent it to the sink.
func (w Way) Last() string { return w.Steps[len(w.Steps)-1].Node }

// ToSink reports whether a sink gets the rows of this way.
func (w Way) ToSink() bool {
	return w.Sink != "" && w.Sink != pipeline.QuarantineSink && w.Sink != pipeline.DiscardSink
}
