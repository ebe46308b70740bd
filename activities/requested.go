package activities

import (
	"context"
	"fmt"

	"waymark/engine/plan"
	"waymark/payload"
	"waymark/plugin"
)

// requested returns what sources hold whose rows came with the request for a run, by their names. A source can only read what came with the request for this run, whatever the input says.
func (a *Activities) requested(ctx context.Context, in OpenInput, compiled *plan.Plan) (map[string]plugin.SourceInfo, error) {
	pins := map[string]plugin.SourceInfo{}
	for _, rows := range in.Rows {
		reads, err := requestable(compiled, rows.Source)
		if err != nil {
			return nil, final{TypeInput, err}
		}
		stored, err := a.payloads.Has(ctx, payload.Digest(rows.Payload))
		if err == nil && !stored {
			err = final{TypeInput, fmt.Errorf("the rows of source %s are not stored any more: send the request again", rows.Source)}
		}
		if err != nil {
			return nil, err
		}
		pins[rows.Source] = plugin.SourceInfo{Files: []plugin.FileInfo{reads.Requested(in.Run, rows)}}
	}
	return pins, nil
}

// requestable returns the source of a plan to which rows can come with a request.
func requestable(compiled *plan.Plan, source string) (plugin.Requestable, error) {
	i := compiled.Find(source)
	if i == plan.None || compiled.Nodes[i].Source == nil {
		return nil, fmt.Errorf("%s has no source %.64q for the rows of the request", compiled.Document.Pipeline.Name, source)
	}
	reads, is := compiled.Nodes[i].Source.(plugin.Requestable)
	if !is {
		return nil, fmt.Errorf("source %s takes no rows with a request, which only sources of the format webhook do", source)
	}
	return reads, nil
}

// mayForkRequested refuses to take the place of a run whose rows came with its request: they are the run's.
func (a *Activities) mayForkRequested(ctx context.Context, run string) error {
	start, err := a.log.StartOfRun(ctx, run)
	if err != nil || start.Rows == "" {
		return err
	}
	return notRetryable("run %s reads rows that came with its request, and no other run does: "+
		"continue with it, waymark resume %[1]s --recorded, or send its rows with a new request, and cancel it: waymark cancel %[1]s --final --why TEXT", run)
}
