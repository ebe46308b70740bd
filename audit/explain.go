package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// Explain tells the story of one token, and of all others of its record. The error is an *AmbiguousError if the question
// fits several rows, and wraps landscape.ErrNotFound if it fits none and landscape.ErrIncomplete if the record of its chunk
// cannot be read as rows.
func (a *Auditor) Explain(ctx context.Context, q Question) (story *Explanation, err error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	defer sense(q.Run, &err)
	a = a.once()
	run, err := a.log.Run(ctx, q.Run)
	if err != nil {
		return nil, err
	}
	token, err := a.find(ctx, run, q)
	if err != nil {
		return nil, err
	}
	compiled, problem, err := a.plan(ctx, run)
	if err != nil {
		return nil, err
	}
	i := &explaining{Auditor: a, run: run, compiled: compiled, problem: problem, all: q.All}
	if err := i.ask(ctx, token); err != nil {
		return nil, err
	}
	return i.explanation, i.onward(ctx, q.Limit)
}

// once returns an Auditor for one question about a row: many of its parts need the same records.
func (a *Auditor) once() *Auditor { return New(a.log.Once(), a.payloads, a.planner) }

// sense turns a panic into an error: what somebody changed in the record may make no sense.
func sense(run string, err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("what is recorded of run %s makes no sense here (%v): `waymark verify %s` says what differs", run, cause, run)
	}
}

// ask finds out everything about one token.
func (i *explaining) ask(ctx context.Context, token landscape.Token) error {
	i.asked = token
	for _, step := range []func(context.Context) error{i.begin, i.origin, i.making, i.fates, i.visits, i.retries, i.upstream} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	i.finish()
	return nil
}

// explaining is the answer to one question about one token, under construction.
type explaining struct {
	*Auditor
	run      landscape.Run
	asked    landscape.Token
	compiled *plan.Plan // nil if it is not to be had
	problem  string     // why not
	all      bool

	lanes       []landscape.Lane // of the run
	chunk       landscape.Chunk
	index       int           // of the record in the chunk
	in          *engine.Input // the record alone
	tokens      []tokenTrace
	first       map[landscape.Step]string // by node and lane of a token that a deduplicate dropped: the one that came first; "" if unknown
	after       map[int]row.Row           // by lane, while the record is traced: its token as it left its last node
	explanation *Explanation
}

// tokenTrace is one token of the record, and what is known of it.
type tokenTrace struct {
	TokenExplanation
	at  landscape.Token
	way *landscape.Way // nil while the chunk is in flight
}

// begin finds the record.
func (i *explaining) begin(ctx context.Context) (err error) {
	if i.lanes, err = i.log.Lanes(ctx, i.run.ID); err != nil {
		return err
	}
	if i.chunk, err = i.log.ChunkOf(ctx, i.run.ID, i.asked.Source, i.asked.Row); err != nil {
		return err
	}
	i.index = int(i.asked.Row - i.chunk.FirstRow)
	i.explanation = &Explanation{Run: i.run.ID, Pipeline: i.run.Pipeline, Status: string(i.run.Status), Token: i.id(i.asked)}
	return i.log.CheckShapeAt(ctx, i.chunk, i.index)
}

// id returns the id of a token as people read it.
func (i *explaining) id(token landscape.Token) string {
	id := fmt.Sprintf("%s:%d", token.Source, token.Row)
	if name := i.lanes[token.Lane].Name; name != "" {
		id += "/" + name
	}
	return id
}

// arrival fills in when the file arrived, or was delivered, if the run was begun for that.
func (i *explaining) arrival(ctx context.Context, source *Origin) error {
	arrival, err := i.log.ArrivalOf(ctx, i.run.ID, source.File)
	if errors.Is(err, landscape.ErrNotFound) {
		return i.request(ctx, source)
	}
	source.Trigger, source.Arrived = arrival.Trigger, stamp(arrival.At)
	return err
}

// request fills in with which request the row came, if it came with the one for the run.
func (i *explaining) request(ctx context.Context, source *Origin) error {
	start, err := i.log.StartOfRun(ctx, i.run.ID)
	if err != nil {
		return err
	}
	rows, err := start.RequestRows()
	for _, of := range rows {
		if of.Source == source.Name {
			source.Arrived, source.Requested = stamp(start.Accepted), &Request{fmt.Sprintf("%s/%d", start.Run, start.Seq), start.Actor, start.Trigger, of.Rows}
		}
	}
	return err
}

// origin fills in where the record came from, and keeps its chunk if the payload is to be had.
func (i *explaining) origin(ctx context.Context) error {
	rows, err := i.log.RecordAt(ctx, i.run.ID, i.chunk.Key(), i.index)
	if err != nil {
		return err
	}
	line := i.chunk.FirstLine + int64(i.index)
	if rows.Lines != nil {
		line = i.chunk.FirstLine + int64(rows.Lines[0])
	}
	source := &i.explanation.Source
	*source = Origin{
		Name: i.asked.Source, Row: i.asked.Row, File: i.chunk.File, Line: line,
		ByteOffset: i.chunk.FirstOffset + int64(rows.Offsets[0]), ByteLength: int64(rows.Lengths[0]),
		SHA256: hex.EncodeToString(rows.Hashes), Payload: i.chunk.Pack, Index: i.index, State: Stored,
	}
	if err := i.arrival(ctx, source); err != nil {
		return err
	}
	order, err := i.log.ForgottenOrder(ctx, i.chunk, int64(i.index))
	if err != nil {
		return err
	}
	if order != nil {
		source.State, source.Purged, source.SHA256 = Forgotten, order.Told(), ""
		return nil
	}
	in, err := recompute.Record(ctx, i.log, i.payloads, i.compiled, i.chunk, i.index)
	switch {
	case errors.Is(err, payload.ErrPurged):
		purged, _ := errors.AsType[*payload.PurgedError](err)
		source.State, source.Purged = Purged, purged.Told
		return nil
	case errors.Is(err, payload.ErrNotFound):
		source.State = Missing
		return nil
	case errors.Is(err, payload.ErrCorrupt):
		source.State = Corrupt
		return nil
	case err != nil:
		return err
	}
	in.Chunk.FirstLine, in.Chunk.FirstOffset = source.Line, source.ByteOffset
	i.in = &in
	stored := in.Chunk.Record(0)
	source.keep(stored)
	if sum := sha256Hex(stored); sum != source.SHA256 {
		source.Computed = sum
	}
	return i.fields(stored)
}

// fates fills in what is recorded about the ways and ends of all tokens of the record.
func (i *explaining) fates(ctx context.Context) error {
	routes, err := i.log.AllRoutes(ctx, i.run.ID, landscape.ChunkKey{Source: i.asked.Source, Chunk: i.chunk.Chunk})
	if errors.Is(err, landscape.ErrNotFound) && i.lanes[i.asked.Lane].IsRoot() {
		i.add(i.asked, nil).Note = "the row was read and has not gone through the steps"
		return nil
	}
	if err != nil {
		return err
	}
	for _, lane := range routes {
		way, err := wayIn(lane, i.index)
		if err != nil {
			return fmt.Errorf("source %s, chunk %d: %w", i.asked.Source, i.chunk.Chunk, err)
		}
		if way == nil {
			continue
		}
		token := i.add(landscape.Token{Source: i.asked.Source, Lane: lane.Lane, Row: i.asked.Row}, way)
		if err := i.end(ctx, token); err != nil {
			return err
		}
	}
	if i.token(i.asked.Lane) == nil {
		return fmt.Errorf("token %s: %w", i.id(i.asked), landscape.ErrNotFound)
	}
	return i.merges(ctx)
}

// wayIn returns the way of record number index in the lane; nil if it has no token there. The error wraps
// landscape.ErrIncomplete if a code of the lane means nothing.
func wayIn(lane landscape.LaneRoutes, index int) (*landscape.Way, error) {
	for _, code := range lane.Codes {
		if code != landscape.NoToken && int(code) >= len(lane.Ways) {
			return nil, fmt.Errorf("%w: way code %d means nothing", landscape.ErrIncomplete, code)
		}
	}
	if code := lane.Codes[index]; code != landscape.NoToken {
		return &lane.Ways[code], nil
	}
	return nil, nil //nolint:nilnil // no token is no error
}

func (i *explaining) add(token landscape.Token, way *landscape.Way) *tokenTrace {
	i.tokens = append(i.tokens, tokenTrace{at: token, way: way, TokenExplanation: TokenExplanation{Token: i.id(token)}})
	return &i.tokens[len(i.tokens)-1]
}

// token returns the token of the record in the lane; nil if there is none.
func (i *explaining) token(lane int64) *tokenTrace {
	at := slices.IndexFunc(i.tokens, func(t tokenTrace) bool { return t.at.Lane == lane })
	if at < 0 {
		return nil
	}
	return &i.tokens[at]
}

// end fills in how a token ended.
func (i *explaining) end(ctx context.Context, t *tokenTrace) error {
	t.Way, t.Path, t.Outcome = t.way.Signature(), string(t.way.Path), string(t.way.Path.Outcome())
	t.Complete = true
	switch {
	case t.way.Path == pipeline.Buffered:
		return i.held(ctx, t)
	case t.way.ToSink():
		return i.delivered(ctx, t)
	}
	return nil
}

// delivered fills in where in a sink's output the token is.
func (i *explaining) delivered(ctx context.Context, t *tokenTrace) (err error) {
	t.Sink = t.way.Sink
	if t.Complete, err = i.finalized(ctx, t.way.Sink); err != nil || !t.Complete {
		return err
	}
	late, err := i.log.LateRowError(ctx, i.run.ID, t.at, *t.way)
	if err != nil {
		return err
	}
	if late != nil {
		t.reject(late)
		return nil
	}
	if _, t.Line, err = i.log.SinkPosition(ctx, i.run.ID, t.at); err != nil {
		return err
	}
	artifacts, err := i.log.Artifacts(ctx, i.run.ID)
	for _, artifact := range artifacts {
		if artifact.Sink == t.way.Sink {
			t.Output = artifact.Path
		}
	}
	if err != nil || t.Output == "" {
		return err
	}
	if t.Erased, err = i.erased(ctx, t.Sink, t.Line); err != nil {
		return err
	}
	t.Attested, err = i.attested(ctx, t.Sink, t.Line)
	return err
}

// reject notes that the target of a sink rejected the row.
func (f *Fate) reject(late *landscape.RowError) {
	f.Outcome, f.Path, f.Sink = string(pipeline.Failure), string(pipeline.OnErrorRouted), ""
	f.RefusedBy = late.Node
	f.Refused = &Rejection{Code: late.Code, Field: late.Field, Message: late.Message, SentTo: late.SentTo}
}

// finalized reports whether the sink confirmed what it got of the chunk.
func (i *explaining) finalized(ctx context.Context, sink string) (bool, error) {
	write := landscape.EffectKey{Run: i.run.ID, Sink: sink, Source: i.chunk.Source, Chunk: i.chunk.Chunk}
	effect, err := i.log.Effect(ctx, write)
	if errors.Is(err, landscape.ErrNotFound) {
		return false, nil
	}
	return effect.State == landscape.Finalized, err
}

// finish puts what is told of the tokens into the story.
func (i *explaining) finish() {
	i.explanation.Fate = i.token(i.asked.Lane).Fate
	if len(i.tokens) == 1 {
		return
	}
	for _, t := range i.tokens {
		i.explanation.Tokens = append(i.explanation.Tokens, t.TokenExplanation)
	}
}

// join puts two notes, of which either may be empty, into one.
func join(note, more string) string {
	if note == "" || more == "" {
		return note + more
	}
	return note + "; " + more
}
