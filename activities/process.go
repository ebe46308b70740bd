package activities

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"waymark/barrier"
	"waymark/engine"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
)

// ProcessChunk sends a chunk through the steps behind its origin and records each token's way, the hashes of what came out
// of each node, the refused tokens, what coalesces decided, and the planned bytes of every sink.
//
// It may run twice: the engine is deterministic, and the record's key is run, source and ordinal of the chunk.
func (a *Activities) ProcessChunk(ctx context.Context, in ProcessInput) (ProcessResult, error) {
	return attempt(ctx, a, in.Run, in.Epoch, func(ctx context.Context, a *Activities) (ProcessResult, error) { return a.processChunk(ctx, in) })
}

func (a *Activities) processChunk(ctx context.Context, in ProcessInput) (ProcessResult, error) {
	started := time.Now()
	r, err := a.get(ctx, in.Run)
	if err != nil {
		return ProcessResult{}, err
	}
	key := chunkKey{in.Source, in.Chunk}
	inputs, found := r.chunks.take(key)
	if !found {
		if inputs, err = a.fetch(ctx, r, key); err != nil {
			return ProcessResult{}, err
		}
	}
	result, err := a.compute(ctx, r, inputs)
	if err != nil {
		return ProcessResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	passage := PassageOf(r.plan, in.Run, in.Source, in.Chunk, inputs.Chunk, result)
	passage.Started, passage.Finished = landscape.MicrosOf(started), landscape.MicrosOf(time.Now())
	passage.Attempt, passage.Worker = int64(activity.GetInfo(ctx).Attempt), a.worker
	if err := a.log.RecordPassage(ctx, passage); err != nil {
		return ProcessResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	out := r.shelve(key, inputs.Chunk.Len(), result)
	out.Worker = a.place.OwnQueue
	return out, nil
}

// compute runs the engine over the chunk. Values that must be unique are claimed first.
func (a *Activities) compute(ctx context.Context, r *run, in engine.Input) (*engine.Result, error) {
	runner, err := r.runner()
	if err != nil {
		return nil, err
	}
	defer r.runners.Put(runner)
	if in.Duplicates, err = Claim(ctx, a.log.Claim, r.id, r.plan, runner, in); err != nil {
		return nil, err
	}
	return runner.Run(in)
}

// A Claimer tells which tokens have a value that another one claimed: it maps each to that one. Those that it does not name
// have a value of their own, or one that nobody claimed before. Log.Claim is one.
type Claimer func(context.Context, landscape.Claims) (map[landscape.Token]landscape.Token, error)

// Claim asks about the values of a chunk that must be unique, and returns which of them other tokens have. A Claimer that
// enters claims may be asked again: a value that a token claimed before is its own.
func Claim(ctx context.Context, ask Claimer, run string, p *plan.Plan, runner *engine.Runner, in engine.Input) (engine.Duplicates, error) {
	in.Duplicates = engine.Duplicates{}
	for _, claimed := range engine.Claims(p) {
		values, err := runner.Values(in, claimed)
		if err != nil {
			return nil, err
		}
		if len(values.Spots) == 0 {
			continue
		}
		if in.Duplicates[claimed], err = claim(ctx, ask, run, p, in, values); err != nil {
			return nil, err
		}
	}
	return in.Duplicates, nil
}

// claim asks about one value for each token of the chunk that is the first with it, and returns which token has the value of
// each of the others.
func claim(ctx context.Context, ask Claimer, run string, p *plan.Plan, in engine.Input, values engine.Values) (map[engine.Spot]barrier.Token, error) {
	claims := landscape.Claims{Run: run, Node: values.Node, Field: values.Field}
	first := map[[16]byte]landscape.Token{}
	tokens := make([]landscape.Token, len(values.Spots))
	for i, spot := range values.Spots {
		tokens[i] = landscape.Token{Source: p.Nodes[in.Origin].Name, Lane: int64(spot.Lane), Row: in.Chunk.FirstRow + int64(spot.Index)}
		if _, known := first[values.Hashes[i]]; !known {
			first[values.Hashes[i]] = tokens[i]
			claims.Hashes, claims.Tokens = append(claims.Hashes, values.Hashes[i]), append(claims.Tokens, tokens[i])
		}
	}
	taken, err := ask(ctx, claims)
	if err != nil {
		return nil, err
	}
	duplicates := map[engine.Spot]barrier.Token{}
	for i, spot := range values.Spots {
		owner := first[values.Hashes[i]]
		if earlier, is := taken[owner]; is {
			owner = earlier
		}
		if owner != tokens[i] {
			duplicates[spot] = barrier.Token{Lane: int(owner.Lane), Row: owner.Row}
		}
	}
	return duplicates, nil
}

// shelve keeps the parts and arrivals for what follows, and sums up.
func (r *run) shelve(key chunkKey, rows int, result *engine.Result) ProcessResult {
	out := ProcessResult{Rows: rows, Refused: len(result.Refused), Parts: []PartSize{}, RefusedBy: map[string]int{}, EndedBy: map[string]int{}}
	for _, i := range r.plan.Sinks() {
		part := &result.Parts[i]
		if part.Rows == 0 {
			continue
		}
		name := r.plan.Nodes[i].Name
		r.parts.put(partKey{key, name}, part.Data)
		out.Parts = append(out.Parts, PartSize{Sink: name, Rows: part.Rows, Bytes: int64(len(part.Data))})
	}
	for i, arrivals := range result.Arrivals {
		if arrivals != nil {
			name := r.plan.Nodes[i].Name
			r.arrivals.put(partKey{key, name}, arrivals)
			out.Barriers = append(out.Barriers, name)
		}
	}
	for _, lane := range result.Lanes {
		nodes := make([]string, len(lane.Ways))
		for code, way := range lane.Ways {
			nodes[code] = lastNode(r.plan, way)
			if way.Path == pipeline.FilterDropped || way.Path == pipeline.GateDiscarded {
				out.Ended += way.Rows
				out.EndedBy[nodes[code]] += way.Rows
			}
		}
		for _, refused := range result.Refused {
			if refused.Lane == lane.Lane {
				out.RefusedBy[nodes[lane.Codes[refused.Index]]]++
			}
		}
	}
	return out
}

// lastNode is the node at which a way ended, and not the sink to which its rows were sent from there.
func lastNode(p *plan.Plan, way engine.Way) (name string) {
	for _, step := range WayOf(p, 0, way).Steps {
		name = step.Node
	}
	return name
}

// PassageOf puts the engine's result for a chunk into the landscape's words. Times, attempt and worker are left out.
func PassageOf(p *plan.Plan, run, source string, ordinal int64, chunk *plugin.Chunk, result *engine.Result) landscape.Passage {
	passage := landscape.Passage{Run: run, Source: source, Chunk: ordinal, Errors: refusals(chunk, result.Refused)}
	for _, lane := range result.Lanes {
		routes := landscape.LaneRoutes{Lane: int64(lane.Lane), Codes: lane.Codes}
		for _, way := range lane.Ways {
			routes.Ways = append(routes.Ways, WayOf(p, lane.Lane, way))
		}
		passage.Lanes = append(passage.Lanes, routes)
	}
	for _, column := range result.Columns {
		passage.Hashes = append(passage.Hashes, landscape.NodeHashes{Lane: int64(column.Lane), Node: p.Nodes[column.Node].Name, Hashes: column.Hashes})
	}
	for _, key := range result.Keys {
		passage.Keys = append(passage.Keys, landscape.KeyColumn{Field: key.Field, Hashes: key.Hashes})
	}
	for _, join := range result.Joins {
		passage.Joins = append(passage.Joins, joinOf(p, join))
	}
	for i, arrivals := range result.Arrivals {
		if arrivals != nil {
			passage.Feeds = append(passage.Feeds, p.Nodes[i].Name)
		}
	}
	for _, i := range p.Sinks() {
		if part := &result.Parts[i]; part.Rows > 0 {
			passage.Writes = append(passage.Writes, landscape.Write{
				Sink: p.Nodes[i].Name, Bytes: int64(len(part.Data)), SHA256: hex.EncodeToString(part.SHA256[:]),
			})
		}
	}
	return passage
}

// WayOf puts a way into the landscape's words, in which a sink that got the rows is not a step.
func WayOf(p *plan.Plan, lane int, way engine.Way) landscape.Way {
	out := landscape.Way{Lane: int64(lane), First: way.First, Path: way.Path, Sink: way.SentTo}
	for _, step := range way.Steps {
		if name := p.Nodes[step.Node].Name; name != way.SentTo {
			out.Steps = append(out.Steps, landscape.Step{Node: name, Label: step.Label, Lane: int64(step.Lane)})
		}
	}
	return out
}

func refusals(chunk *plugin.Chunk, refused []engine.Refused) []landscape.Refusal {
	out := make([]landscape.Refusal, len(refused))
	for k, row := range refused {
		record := chunk.Record(row.Index)
		out[k] = landscape.Refusal{
			Lane: int64(row.Lane), Index: row.Index, Code: row.Code, Field: row.Field, Message: row.Message,
			Raw: record, Bytes: int64(len(record)), Line: chunk.Line(row.Index), Offset: chunk.FirstOffset + int64(chunk.Offsets[row.Index]),
		}
	}
	return out
}
