package activities

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"waymark/engine"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
)

// ProcessChunk sends a chunk through the steps and records each row's way, the hashes of what came out of each node, the
// refused rows, and the planned bytes of every sink.
//
// It may run twice: the engine is deterministic, and the record's key is run, source and ordinal of the chunk.
func (a *Activities) ProcessChunk(ctx context.Context, in ProcessInput) (ProcessResult, error) {
	defer beat(ctx)()
	out, err := a.processChunk(ctx, in)
	return out, toTemporal(err)
}

func (a *Activities) processChunk(ctx context.Context, in ProcessInput) (ProcessResult, error) {
	started := time.Now()
	r, err := a.get(ctx, in.Run)
	if err != nil {
		return ProcessResult{}, err
	}
	key := chunkKey{in.Source, in.Chunk}
	chunk, found := r.chunks.take(key)
	if !found {
		if chunk, err = a.fetch(ctx, r, key); err != nil {
			return ProcessResult{}, err
		}
	}
	result, err := a.compute(ctx, r, in.Source, chunk)
	if err != nil {
		return ProcessResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	passage := PassageOf(r.plan, in.Run, in.Source, in.Chunk, chunk, result)
	passage.Started, passage.Finished = landscape.MicrosOf(started), landscape.MicrosOf(time.Now())
	passage.Attempt, passage.Worker = int64(activity.GetInfo(ctx).Attempt), a.worker
	if err := a.log.RecordPassage(ctx, passage); err != nil {
		return ProcessResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	return r.shelve(key, result), nil
}

// compute runs the engine over the chunk. Values that must be unique are claimed first.
func (a *Activities) compute(ctx context.Context, r *run, source string, chunk *plugin.Chunk) (*engine.Result, error) {
	runner, err := r.runner()
	if err != nil {
		return nil, err
	}
	defer r.runners.Put(runner)
	values, err := runner.UniqueValues(chunk)
	if err != nil {
		return nil, err
	}
	duplicates, err := Claim(ctx, a.log, r.id, source, chunk.FirstRow, values)
	if err != nil {
		return nil, err
	}
	return runner.Run(chunk, duplicates)
}

// Claim enters the values of a chunk that begins with firstRow and returns which of them earlier rows have. A value that
// this row claimed before is its own: claiming again changes nothing.
func Claim(ctx context.Context, log *landscape.Log, run, source string, firstRow int64, values []engine.Values) (engine.Duplicates, error) {
	duplicates := engine.Duplicates{}
	for _, field := range values {
		claims := landscape.Claims{Run: run, Source: source, Field: field.Field, Hashes: field.Hashes}
		for _, index := range field.Indexes {
			claims.Rows = append(claims.Rows, firstRow+int64(index))
		}
		taken, err := log.Claim(ctx, claims)
		if err != nil {
			return nil, err
		}
		byIndex := map[int]int64{}
		for row, first := range taken {
			byIndex[int(row-firstRow)] = first
		}
		duplicates[field.Field] = byIndex
	}
	return duplicates, nil
}

// shelve keeps the parts for the writes that follow, and sums up.
func (r *run) shelve(key chunkKey, result *engine.Result) ProcessResult {
	out := ProcessResult{Rows: len(result.Codes), Refused: len(result.Refused), Parts: []PartSize{}}
	for _, i := range r.plan.Sinks() {
		part := &result.Parts[i]
		if part.Rows == 0 {
			continue
		}
		name := r.plan.Nodes[i].Name
		r.parts.put(partKey{key, name}, part.Data)
		out.Parts = append(out.Parts, PartSize{Sink: name, Rows: part.Rows, Bytes: int64(len(part.Data))})
	}
	for _, way := range result.Ways {
		if way.Path == pipeline.FilterDropped || way.Path == pipeline.GateDiscarded {
			out.Ended += way.Rows
		}
	}
	return out
}

// PassageOf puts the engine's result for a chunk into the landscape's words. Times, attempt and worker are left out.
func PassageOf(p *plan.Plan, run, source string, ordinal int64, chunk *plugin.Chunk, result *engine.Result) landscape.Passage {
	passage := landscape.Passage{
		Routes: landscape.Routes{Run: run, Source: source, Chunk: ordinal, Codes: result.Codes},
		Errors: refusals(chunk, result.Refused),
	}
	for _, way := range result.Ways {
		passage.Ways = append(passage.Ways, WayOf(p, way))
	}
	for _, column := range result.Columns {
		passage.Hashes = append(passage.Hashes, landscape.NodeHashes{Node: p.Nodes[column.Node].Name, Hashes: column.Hashes})
	}
	for _, key := range result.Keys {
		passage.Keys = append(passage.Keys, landscape.KeyColumn{Field: key.Field, Hashes: key.Hashes})
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
func WayOf(p *plan.Plan, way engine.Way) landscape.Way {
	out := landscape.Way{Path: way.Path, Sink: way.SentTo}
	for _, step := range way.Steps {
		if name := p.Nodes[step.Node].Name; name != way.SentTo {
			out.Steps = append(out.Steps, landscape.Step{Node: name, Label: step.Label})
		}
	}
	return out
}

func refusals(chunk *plugin.Chunk, refused []engine.Refused) []landscape.Refusal {
	out := make([]landscape.Refusal, len(refused))
	for k, row := range refused {
		record := chunk.Record(row.Index)
		out[k] = landscape.Refusal{
			Index: row.Index, Code: row.Code, Field: row.Field, Message: row.Message,
			Raw: record, Bytes: int64(len(record)), Line: chunk.Line(row.Index), Offset: chunk.FirstOffset + int64(chunk.Offsets[row.Index]),
		}
	}
	return out
}
