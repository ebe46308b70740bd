package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"waymark/activities"
	"waymark/engine"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plan"
	"waymark/plugin"
)

// Explain tells the story of one row. The error is an *AmbiguousError if the question fits several rows, and wraps
// landscape.ErrNotFound if it fits none and landscape.ErrIncomplete if the record of its chunk cannot be read as rows.
func (a *Auditor) Explain(ctx context.Context, q Question) (*Story, error) {
	run, err := a.log.Run(ctx, q.Run)
	if err != nil {
		return nil, err
	}
	token, err := a.find(ctx, run, q)
	if err != nil {
		return nil, err
	}
	story := &Story{Run: run.ID, Pipeline: run.Pipeline, Status: string(run.Status), Token: fmt.Sprintf("%s:%d", token.Source, token.Row)}
	chunk, err := a.origin(ctx, story, run.ID, token)
	if err != nil {
		return nil, err
	}
	if err := a.fate(ctx, story, run.ID, token); err != nil {
		return nil, err
	}
	return story, a.retrace(ctx, story, run, token, chunk)
}

// origin fills in where the row came from, and returns its chunk; nil if the payload is not to be had.
func (a *Auditor) origin(ctx context.Context, story *Story, run string, token Token) (*plugin.Chunk, error) {
	record, err := a.log.ChunkOf(ctx, run, token.Source, token.Row)
	if err != nil {
		return nil, err
	}
	if err := a.log.CheckShape(ctx, record); err != nil {
		return nil, err
	}
	rows, err := a.log.Records(ctx, run, token.Source, record.Chunk)
	if err != nil {
		return nil, err
	}
	i := int(token.Row - record.FirstRow)
	line := record.FirstLine + int64(i)
	if rows.Lines != nil {
		line = record.FirstLine + int64(rows.Lines[i])
	}
	story.Source = Origin{
		Name: token.Source, Row: token.Row, File: record.File, Line: line,
		ByteOffset: record.FirstOffset + int64(rows.Offsets[i]), ByteLength: int64(rows.Lengths[i]),
		SHA256: hex.EncodeToString(rows.Hashes[sha256.Size*i : sha256.Size*(i+1)]), Payload: record.Pack, Index: i, State: Stored,
	}
	chunk, err := activities.Chunk(ctx, a.log, a.payloads, record)
	switch {
	case errors.Is(err, payload.ErrNotFound):
		story.Source.State = Missing
		return nil, nil
	case errors.Is(err, payload.ErrCorrupt):
		story.Source.State = Corrupt
		return nil, nil
	case err != nil:
		return nil, err
	}
	stored := chunk.Record(i)
	story.Source.keep(stored)
	if sum := sha256Hex(stored); sum != story.Source.SHA256 {
		story.Source.Computed = sum
	}
	return chunk, nil
}

// fate fills in what is on record about the row's way and end.
func (a *Auditor) fate(ctx context.Context, story *Story, run string, token Token) error {
	way, err := a.way(ctx, run, token)
	if errors.Is(err, landscape.ErrNotFound) {
		story.Note = "the row was read and has not gone through the steps"
		return nil
	}
	if err != nil {
		return err
	}
	story.Way, story.Outcome, story.Path = way.Signature(), string(way.Path.Outcome()), string(way.Path)
	story.Complete = true
	if !way.ToSink() {
		return nil
	}
	story.Sink = way.Sink
	if story.Complete, err = a.finalized(ctx, run, way.Sink, token); err != nil || !story.Complete {
		return err
	}
	if _, story.Line, err = a.log.SinkPosition(ctx, run, token.Source, token.Row); err != nil {
		return err
	}
	artifacts, err := a.log.Artifacts(ctx, run)
	for _, artifact := range artifacts {
		if artifact.Sink == way.Sink {
			story.Output = artifact.Path
		}
	}
	return err
}

// way returns the row's way on record. The error wraps landscape.ErrIncomplete if its code means nothing.
func (a *Auditor) way(ctx context.Context, run string, token Token) (landscape.Way, error) {
	chunk, err := a.log.ChunkOf(ctx, run, token.Source, token.Row)
	if err != nil {
		return landscape.Way{}, err
	}
	routes, err := a.log.Routes(ctx, run, token.Source, chunk.Chunk)
	if err != nil {
		return landscape.Way{}, err
	}
	for _, code := range routes.Codes {
		if int(code) >= len(routes.Ways) {
			return landscape.Way{}, fmt.Errorf("source %s, chunk %d: %w: way code %d means nothing", token.Source, chunk.Chunk, landscape.ErrIncomplete, code)
		}
	}
	return routes.Ways[routes.Codes[token.Row-chunk.FirstRow]], nil
}

func (a *Auditor) finalized(ctx context.Context, run, sink string, token Token) (bool, error) {
	chunk, err := a.log.ChunkOf(ctx, run, token.Source, token.Row)
	if err != nil {
		return false, err
	}
	effects, err := a.log.Effects(ctx, run)
	for _, effect := range effects {
		if effect.Sink == sink && effect.Source == token.Source && effect.Chunk == chunk.Chunk {
			return effect.State == landscape.Finalized, err
		}
	}
	return false, err
}

// retrace sends the row through the plan again and holds every step against the record.
func (a *Auditor) retrace(ctx context.Context, story *Story, run landscape.Run, token Token, chunk *plugin.Chunk) error {
	compiled, problem := a.plan(run)
	if problem != "" || chunk == nil {
		story.Note = join(story.Note, problem)
		return a.recorded(ctx, story, run.ID, token)
	}
	refused, err := a.log.ErrorsOf(ctx, run.ID, token.Source, token.Row)
	if err != nil {
		return err
	}
	runner, err := engine.NewRunner(compiled)
	if err != nil {
		return err
	}
	i := int(token.Row - chunk.FirstRow)
	events, way, err := runner.Trace(chunk, i, repeats(refused, i))
	var failed *engine.FailedError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	if failed == nil && story.Way != "" {
		story.compareWay(activities.WayOf(compiled, way))
	}
	return a.visits(ctx, story, compiled, token, events, refused)
}

func (s *Story) compareWay(computed landscape.Way) {
	if signature := computed.Signature(); signature != s.Way {
		s.Computed = signature
	}
}

// join puts two notes, of which either may be empty, into one.
func join(note, more string) string {
	if note == "" || more == "" {
		return note + more
	}
	return note + "; " + more
}

// repeats tells the engine which value of the row was taken, as on record.
func repeats(refused []landscape.RowError, i int) engine.Duplicates {
	duplicates := engine.Duplicates{}
	for _, failure := range refused {
		var first int64
		if failure.Code != engine.CodeUnique {
			continue
		}
		if _, err := fmt.Sscanf(failure.Message, "row %d has the same value", &first); err == nil {
			duplicates[failure.Field] = map[int]int64{i: first}
		}
	}
	return duplicates
}

func (a *Auditor) visits(ctx context.Context, story *Story, compiled *plan.Plan, token Token, events []engine.Event, refused []landscape.RowError) error {
	input := ""
	for _, event := range events {
		node := &compiled.Nodes[event.Node]
		visit := Visit{
			Node: node.Name, Operation: node.Operation, Label: event.Label, Expression: node.Text, InputHash: input,
			Values: values(engine.Explain(node, event.Before)), Changes: renamed(node, changes(event.Before, event.After)),
			Refused: refusalAt(node.Name, refused),
		}
		switch {
		case story.Way == "": // nothing on record yet to hold it against
		case event.Refused == nil:
			if err := a.compare(ctx, &visit, story.Run, token, node, event); err != nil {
				return err
			}
		default:
			visit.compareRefusal(event.Refused)
		}
		if node.Kind == plan.Sink {
			story.Written = strings.TrimRight(string(event.Encoded), "\r\n")
		}
		input = visit.OutputHash
		story.Nodes = append(story.Nodes, visit)
	}
	return nil
}

// compareRefusal holds why the node refuses the row against the record.
func (v *Visit) compareRefusal(computed *plugin.Rejection) {
	v.Verified = v.Refused != nil && v.Refused.Code == computed.Code && v.Refused.Field == computed.Field && v.Refused.Message == computed.Message
	if !v.Verified {
		v.Differs = "it is refused with " + computed.Error()
	}
}

// compare holds the computed hash against the record. A node that passes rows on has its input's hash.
func (a *Auditor) compare(ctx context.Context, visit *Visit, run string, token Token, node *plan.Node, event engine.Event) error {
	if !node.Changes() {
		visit.OutputHash, visit.Verified = visit.InputHash, true
		return nil
	}
	recorded, found, err := a.log.HashAt(ctx, run, token.Source, token.Row, node.Name)
	if err != nil {
		return err
	}
	computed := event.Hash()
	if found {
		visit.OutputHash, visit.Verified = hex.EncodeToString(recorded[:]), recorded == computed
	}
	if !visit.Verified {
		visit.Computed = hex.EncodeToString(computed[:])
	}
	return nil
}

// recorded fills in the nodes from the record alone.
func (a *Auditor) recorded(ctx context.Context, story *Story, run string, token Token) error {
	way, err := a.way(ctx, run, token)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	refused, err := a.log.ErrorsOf(ctx, run, token.Source, token.Row)
	if err != nil {
		return err
	}
	nodes, err := a.log.Nodes(ctx, run)
	if err != nil {
		return err
	}
	input := ""
	for _, step := range way.Steps {
		visit := Visit{Node: step.Node, Label: step.Label, InputHash: input, OutputHash: input, Refused: refusalAt(step.Node, refused)}
		for _, node := range nodes {
			if node.Node == step.Node {
				visit.Operation = node.Operation
			}
		}
		hash, found, err := a.log.HashAt(ctx, run, token.Source, token.Row, step.Node)
		if err != nil {
			return err
		}
		if found {
			visit.OutputHash = hex.EncodeToString(hash[:])
		}
		input = visit.OutputHash
		story.Nodes = append(story.Nodes, visit)
	}
	return nil
}

func refusalAt(node string, refused []landscape.RowError) *Refusal {
	for _, failure := range refused {
		if failure.Node == node {
			return &Refusal{Code: failure.Code, Field: failure.Field, Message: failure.Message, SentTo: failure.SentTo}
		}
	}
	return nil
}
