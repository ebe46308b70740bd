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

// reject ends the current token at a node as the node's policy says. It returns the path.
func (r *Runner) reject(i, node int, rejected *plugin.Rejection) (pipeline.Path, error) {
	r.at = node
	policy := r.plan.Nodes[node].OnError
	if policy.Word == pipeline.Fail {
		return "", &FailedError{Node: r.plan.Nodes[node].Name, Row: r.chunk.FirstRow + int64(i), Line: r.chunk.Line(i), Rejection: rejected}
	}
	r.way = r.result.ways.step(r.way, node, noLabel, r.lane)
	r.totals.refuse(node, r.way.seq)
	r.see(Event{Lane: r.lane, Node: node, Rejected: rejected})
	path, sentTo := r.fate(node, policy, rejected)
	if policy.Node != plan.None && !r.quiet {
		r.deliverRejected(i, node, policy.Node, rejected)
	}
	r.end(i, path, sentTo)
	r.result.Rejected = append(r.result.Rejected, Rejected{Lane: r.lane, Index: i, Rejection: *rejected})
	return path, nil
}

func (r *Runner) fate(node int, policy plan.Target, rejected *plugin.Rejection) (pipeline.Path, string) {
	switch {
	case policy.Node != plan.None:
		return pipeline.OnErrorRouted, r.plan.Nodes[policy.Node].Name
	case policy.Word == pipeline.Discard:
		return pipeline.SinkDiscarded, pipeline.DiscardSink
	case r.plan.Nodes[node].Kind == plan.Source:
		return pipeline.QuarantinedAtSource, pipeline.QuarantineSink
	case rejected.Code == CodeUnrouted:
		return pipeline.Unrouted, pipeline.QuarantineSink
	default:
		return pipeline.OnErrorRouted, pipeline.QuarantineSink
	}
}

// deliverRejected writes the rejected record to a sink of rejected rows. Plan-time checks made sure that the sink can encode
// the shape, and every value in it is text, a number or null, so that no encoder has a reason to reject it.
func (r *Runner) deliverRejected(i, node, sink int, rejected *plugin.Rejection) {
	part := &r.result.Parts[sink]
	told := r.rejectedRow(i, node, rejected)
	data, err := r.vertices[sink].encoder.Append(part.Data, told)
	if err != nil {
		panic(err)
	}
	r.see(Event{Lane: r.lane, Node: sink, Before: told, After: told, Encoded: r.written(sink, data[len(part.Data):], told)})
	part.Data = data
	part.Rows++
}

func (r *Runner) rejectedRow(i, node int, rejected *plugin.Rejection) row.Row {
	record := r.chunk.Record(i)
	raw, raw64 := row.StringValue(string(record)), row.NullValue()
	if !utf8.Valid(record) {
		raw, raw64 = row.NullValue(), row.StringValue(base64.StdEncoding.EncodeToString(record))
	}
	field := row.NullValue()
	if rejected.Field != "" {
		field = row.StringValue(rejected.Field)
	}
	r.rejected = [...]row.Value{
		row.StringValue(r.plan.Nodes[r.in.Origin].Name), row.StringValue(r.chunk.File), row.IntValue(r.chunk.FirstRow + int64(i)), row.IntValue(r.chunk.Line(i)),
		row.StringValue(r.plan.Nodes[node].Name), row.StringValue(rejected.Code), field, row.StringValue(rejected.Message), raw, raw64,
	}
	return row.Row{Shape: rejectedShape, Values: r.rejected[:]}
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
