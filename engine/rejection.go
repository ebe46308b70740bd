package engine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Rejected is why a node did not accept a token. The node, and where the row was sent, are on the token's way.
type Rejected struct {
	Lane  int
	Index int // of the record in the chunk; ascending in Result.Refused
	plugin.Rejection
}

var rejectedShape = row.NewShape(plan.ErrorFields)

// reject ends the current token at its node as the node's policy says. It returns the path.
func (p *pass) reject(rejected *plugin.Rejection) (pipeline.Path, error) {
	node, i := &p.plan.Nodes[p.token.at], p.token.record
	policy := node.OnError
	if policy.Word == pipeline.Fail {
		return "", &FailedError{Node: node.Name, Row: p.row(), Line: p.in.Chunk.Line(i), Rejection: rejected}
	}
	p.step(noLabel)
	p.totals.refuse(p.token.at, p.token.way.seq)
	p.see(Event{Lane: p.token.lane, Node: p.token.at, Rejected: rejected})
	path, sentTo := p.fate(node, rejected)
	if policy.Node != plan.None && !p.quiet {
		p.deliverRejected(policy.Node, rejected)
	}
	p.end(path, sentTo)
	p.result.Rejected = append(p.result.Rejected, Rejected{Lane: p.token.lane, Index: i, Rejection: *rejected})
	return path, nil
}

// fate returns the path of a token that a node rejected, and where its row is sent.
func (p *pass) fate(node *plan.Node, rejected *plugin.Rejection) (pipeline.Path, string) {
	switch {
	case node.OnError.Node != plan.None:
		return pipeline.OnErrorRouted, p.plan.Nodes[node.OnError.Node].Name
	case node.OnError.Word == pipeline.Discard:
		return pipeline.SinkDiscarded, pipeline.DiscardSink
	case node.Kind == plan.Source:
		return pipeline.QuarantinedAtSource, pipeline.QuarantineSink
	case rejected.Code == CodeUnrouted:
		return pipeline.Unrouted, pipeline.QuarantineSink
	default:
		return pipeline.OnErrorRouted, pipeline.QuarantineSink
	}
}

// deliverRejected writes the rejected record to a sink of rejected rows. Plan-time checks made sure that the sink can
// encode the shape, and every value in it is text, a number or null, so that no encoder has a reason to reject it.
func (p *pass) deliverRejected(sink int, rejected *plugin.Rejection) {
	part := &p.result.Parts[sink]
	about := p.rejectedRow(rejected)
	data, err := p.vertices[sink].encoder.Append(part.Data, about)
	if err != nil {
		panic(err)
	}
	if p.watch != nil {
		encoded := p.written(sink, data[len(part.Data):], about)
		p.watch(Event{Lane: p.token.lane, Node: sink, Before: about, After: about, Encoded: encoded})
	}
	part.add(data, about)
}

// rejectedRow returns the row of plan.ErrorFields about the current token.
func (p *pass) rejectedRow(rejected *plugin.Rejection) row.Row {
	chunk := p.in.Chunk
	record := chunk.Record(p.token.record)
	raw, raw64 := row.StringValue(string(record)), row.NullValue()
	if !utf8.Valid(record) {
		raw, raw64 = row.NullValue(), row.StringValue(base64.StdEncoding.EncodeToString(record))
	}
	field := row.NullValue()
	if rejected.Field != "" {
		field = row.StringValue(rejected.Field)
	}
	p.scratch.rejected = [...]row.Value{
		row.StringValue(p.plan.Nodes[p.in.Origin].Name), row.StringValue(chunk.File),
		row.IntValue(p.row()), row.IntValue(chunk.Line(p.token.record)),
		row.StringValue(p.plan.Nodes[p.token.at].Name), row.StringValue(rejected.Code), field,
		row.StringValue(rejected.Message), raw, raw64,
	}
	return row.Row{Shape: rejectedShape, Values: p.scratch.rejected[:]}
}

// confine rejects the current token, which a defect met while the pass followed the one of this lane. A token that has
// ended already cannot be rejected: then the run stops.
func (p *pass) confine(lane int, cause any) (pipeline.Path, error) {
	if p.token.lane != lane || p.result.ended(&p.token) {
		name, why := p.plan.Nodes[p.token.at].Name, plugin.Brief(fmt.Sprint(cause))
		return "", fmt.Errorf("%s: row %d: defect in the program: %s", name, p.row(), why)
	}
	return p.reject(panicRejection(cause))
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
