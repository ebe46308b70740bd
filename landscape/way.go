package landscape

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/pipeline"
)

// Step is one node on a way, with the label that the node gave there, else empty.
type Step struct {
	Node  string `json:"node"`
	Label string `json:"label,omitempty"`
	Lane  int64  `json:"lane,omitempty"` // in which the step was done
}

// Way is the route of a token through the graph, and how it ended.
//
// Steps begin with the origin, or with the coalesce that made the token, and end with the node that ended the token or
// sent it to a sink; a sink is never among them. The way of a token that a fork sent down a branch begins with the steps
// of its parent, up to and including the fork, whose label is the branch. Sink is the sink that gets the row,
// pipeline.QuarantineSink, pipeline.DiscardSink, or empty for a token that ended without one. A label is one that the
// document declares: the label of an unrouted token is data, it stands in the error and not here.
type Way struct {
	Lane  int64         `json:"lane,omitempty"`
	First int           `json:"first,omitempty"` // number of the first step that is the token's own; len(Steps) if it has none
	Steps []Step        `json:"steps"`
	Path  pipeline.Path `json:"path"`
	Sink  string        `json:"sink,omitempty"`
}

// Signature returns the way as people read it, such as `strikes > triage[true] > review (gate_routed)`. Two ways of one
// lane are the same exactly if their signatures are.
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

// ID returns the way's id: 16 hex digits, the first 8 bytes of the SHA-256 of its signature, which for lanes other than
// lane 0 is followed by " @" and the lane's number.
func (w Way) ID() string {
	text := w.Signature()
	if w.Lane != 0 {
		text += " @" + strconv.FormatInt(w.Lane, 10)
	}
	return shortHash([]byte(text))
}

// shortHash returns the first 8 bytes of data's SHA-256 as hex.
func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Last returns the node that ended the token or sent it to the sink.
func (w Way) Last() string { return w.Steps[len(w.Steps)-1].Node }

// ToSink reports whether a sink gets the rows of this way.
func (w Way) ToSink() bool {
	return w.Sink != "" && w.Sink != pipeline.QuarantineSink && w.Sink != pipeline.DiscardSink
}

// failed reports whether tokens of this way were refused.
func (w Way) failed() bool { return w.Path.Outcome() == pipeline.Failure }

// taken reports whether the last node took tokens of this way in: they did not leave it.
func (w Way) taken() bool {
	return w.Path == pipeline.Buffered || w.Path == pipeline.Coalesced || w.Path == pipeline.BranchNotNeeded
}

// forked reports whether tokens of this way ended at the fork.
func (w Way) forked(fork string) bool { return w.Path == pipeline.ForkParent && w.Last() == fork }

// check refuses a way whose beginning does not fit its lane, or whose end does not fit its path.
func (w Way) check(lane Lane) error {
	if err := w.checkBegin(lane); err != nil {
		return fmt.Errorf("way %s: %w", w.Signature(), err)
	}
	if !w.legalEnd() {
		return fmt.Errorf("way %s: path %q cannot end at sink %q", w.Signature(), w.Path, w.Sink)
	}
	if last := w.Steps[len(w.Steps)-1]; (w.failed() || w.Path == pipeline.ForkParent || w.taken()) && last.Label != "" {
		return fmt.Errorf("way %s: a row that ended at %s has no label there", w.Signature(), last.Node)
	}
	return nil
}

// legalEnd reports whether the sink is one that the path may have.
func (w Way) legalEnd() bool {
	switch w.Path {
	case pipeline.DefaultFlow, pipeline.GateRouted:
		return w.ToSink()
	case pipeline.OnErrorRouted, pipeline.QuarantinedAtSource, pipeline.Unrouted:
		return w.ToSink() || w.Sink == pipeline.QuarantineSink
	case pipeline.SinkDiscarded:
		return w.Sink == pipeline.DiscardSink
	case pipeline.GateDiscarded, pipeline.FilterDropped, pipeline.ForkParent, pipeline.Buffered, pipeline.Coalesced, pipeline.BranchNotNeeded:
		return w.Sink == ""
	default:
		return false // the path of a batch, not of a way
	}
}

// checkBegin refuses a way that does not begin where the tokens of its lane come from.
func (w Way) checkBegin(lane Lane) error {
	begin := lane.Source
	if lane.IsMerged() {
		begin = lane.Node
	}
	switch {
	case w.Lane != lane.Lane:
		return fmt.Errorf("it is a way of lane %d, not %d", w.Lane, lane.Lane)
	case len(w.Steps) == 0 || w.First < 0 || w.First > len(w.Steps):
		return fmt.Errorf("step %d of %d is the first of its own", w.First, len(w.Steps))
	case lane.Branch == "" && (w.First != 0 || w.Steps[0].Node != begin):
		return fmt.Errorf("it does not begin with %s", begin)
	case lane.Branch != "" && (w.First == 0 || w.Steps[w.First-1] != Step{Node: lane.Fork, Label: lane.Branch, Lane: *lane.Parent}):
		return fmt.Errorf("it does not go down branch %s of %s", lane.Branch, lane.Fork)
	}
	for i, step := range w.Steps[w.First:] {
		if step.Lane != lane.Lane {
			return fmt.Errorf("step %d is of lane %d, not %d", w.First+i, step.Lane, lane.Lane)
		}
	}
	return nil
}

// continues reports whether w continues where parent was forked.
func (w Way) continues(parent Way) bool {
	n := len(parent.Steps)
	if w.First != n || !slices.Equal(w.Steps[:n-1], parent.Steps[:n-1]) {
		return false
	}
	fork := w.Steps[n-1]
	fork.Label = ""
	return fork == parent.Steps[n-1]
}
