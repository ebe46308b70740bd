package recompute

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"time"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plugin"
)

// Rerun is a run that is complete, as something that can be executed again: its document, parameters and tables as they are recorded, sources that
// give the records that it stored, chunk by chunk, and sinks that keep nothing. It is safe for concurrent use.
type Rerun struct {
	Run      landscape.Run
	Log      *landscape.Reader
	Payloads *payload.Store
	request  plan.Request
	pins     map[string]plugin.SourceInfo
	ends     map[string]landscape.SourceEnd
}

// NewRerun reads what is recorded of a run that it takes to execute it again. Its records are read when they are needed.
func NewRerun(ctx context.Context, log *landscape.Reader, payloads *payload.Store, run landscape.Run) (*Rerun, error) {
	r := &Rerun{Run: run, Log: log, Payloads: payloads, pins: map[string]plugin.SourceInfo{}, ends: map[string]landscape.SourceEnd{}}
	tables, err := Tables(ctx, log, payloads, run.ID)
	if err != nil {
		return nil, err
	}
	if r.request, err = Request(ctx, log, run, tables); err != nil {
		return nil, err
	}
	sources, err := log.Sources(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		var pin plugin.SourceInfo
		if err := json.Unmarshal([]byte(source.Info), &pin); err != nil {
			return nil, fmt.Errorf("source %s: description on record: %w", source.Source, err)
		}
		pin.List = "" // its records are stored like any others
		r.pins[source.Source] = pin
	}
	ends, err := log.SourceEnds(ctx, run.ID)
	for _, end := range ends {
		r.ends[end.Source] = end
	}
	return r, err
}

// Request returns what the run is compiled from, under the name of a file.
func (r *Rerun) Request(file string) plan.Request {
	request := r.request
	request.File = file
	return request
}

// Params returns the parameters that the run has.
func (r *Rerun) Params() map[string]string { return r.request.Params }

// Of returns a plan of the run with its sources and sinks. The error says that the plan is another one than the run's.
func (r *Rerun) Of(compiled *plan.Plan) (*plan.Plan, error) {
	if digest := compiled.Digest(); digest != r.Run.PlanSHA256 {
		return nil, fmt.Errorf("the document on record compiles to plan %.12s here, and run %s had %.12s: another program, environment variable or secret",
			digest, r.Run.ID, r.Run.PlanSHA256)
	}
	changed := *compiled   // plans are shared
	changed.Policies = nil // they rest on records that are compared, and on runs before this one; people may have waived them
	changed.Nodes = slices.Clone(compiled.Nodes)
	for i := range changed.Nodes {
		switch node := &changed.Nodes[i]; node.Kind {
		case plan.Source:
			node.Source = &storedSource{Source: node.Source, name: node.Name, run: r}
		case plan.Sink:
			node.Sink = &nowhere{Sink: node.Sink, name: node.Name, run: r}
		default:
			*node = withoutClock(*node)
		}
	}
	return &changed, nil
}

// longer is a time that no second run takes.
const longer = 365 * 24 * time.Hour

// withoutClock returns a barrier of which the clock ends no batch before a second run is over: those of the run ended otherwise, see EndedByClock.
func withoutClock(node plan.Node) plan.Node {
	if node.Batch != nil && node.Batch.After > 0 {
		batch := *node.Batch
		batch.After, node.Batch = max(batch.After, longer), &batch
	}
	if node.Coalescing != nil && node.Coalescing.Held && node.Coalescing.Timeout > 0 {
		coalescing := *node.Coalescing
		coalescing.Timeout, node.Coalescing = max(coalescing.Timeout, longer), &coalescing
	}
	return node
}

// EndedByClock returns the barriers of a run of which the clock ended batches, in order; nil if there is none. A second run has other moments.
func EndedByClock(ctx context.Context, log *landscape.Reader, run string) (barriers []string, err error) {
	origins, err := log.Sources(ctx, run)
	for _, origin := range origins {
		ended, err := endedByClock(ctx, log, run, origin.Source)
		if err != nil {
			return nil, err
		}
		if ended {
			barriers = append(barriers, origin.Source)
		}
	}
	return barriers, err
}

func endedByClock(ctx context.Context, log *landscape.Reader, run, node string) (bool, error) {
	folds, err := log.Folds(ctx, run, node)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(folds, func(f landscape.FoldRecord) bool { return f.Kind == landscape.TickFold }) {
		return true, nil
	}
	for _, trigger := range []string{barrier.FiredByAfter, barrier.FiredByTimeout} {
		if fired, err := log.FoldsFiredBy(ctx, run, node, trigger); err != nil || len(fired) > 0 {
			return len(fired) > 0, err
		}
	}
	return false, nil
}

// storedSource gives the records that a run stored.
type storedSource struct {
	plugin.Source
	name string
	run  *Rerun
}

// Version is that of the document's source.
func (s *storedSource) Version() int { return plugin.VersionOf(s.Source) }

// Stat returns what there was to read.
func (s *storedSource) Stat(context.Context) (plugin.SourceInfo, error) {
	return s.run.pins[s.name], nil
}

// Open returns a Reader that continues behind the stored chunk that ends at the cursor.
func (s *storedSource) Open(ctx context.Context, at plugin.Cursor, _ plugin.SourceInfo) (plugin.Reader, error) {
	r := &storedReader{source: s, at: at}
	for chunk, err := range s.run.Log.Chunks(ctx, s.run.Run.ID, s.name) {
		if err != nil {
			return nil, err
		}
		r.chunks = append(r.chunks, chunk)
	}
	return r, r.seek()
}

// storedReader reads the stored chunks of a source, one after the other.
type storedReader struct {
	source *storedSource
	chunks []landscape.Chunk // the next one first
	at     plugin.Cursor
}

// seek leaves out the chunks before the cursor.
func (r *storedReader) seek() error {
	if reflect.DeepEqual(r.at, plugin.Cursor{}) {
		return nil
	}
	for i := range r.chunks {
		end, err := r.chunks[i].End()
		if err != nil {
			return err
		}
		if reflect.DeepEqual(end, r.at) {
			r.chunks = r.chunks[i+1:]
			return nil
		}
	}
	return fmt.Errorf("source %s: no chunk of run %s ends at row %d", r.source.name, r.source.run.Run.ID, r.at.Row)
}

// Next gives the next chunk as it was read, whatever the limits are.
func (r *storedReader) Next(ctx context.Context, _ plugin.Limits, c *plugin.Chunk) error {
	c.Reset()
	if len(r.chunks) == 0 {
		return io.EOF
	}
	in, err := Chunk(ctx, r.source.run.Log, r.source.run.Payloads, nil, r.chunks[0])
	if err != nil {
		return err
	}
	if r.at, err = r.chunks[0].End(); err != nil {
		return err
	}
	*c, r.chunks = *in.Chunk, r.chunks[1:]
	return nil
}

// Cursor returns the cursor that is recorded with the chunk before.
func (r *storedReader) Cursor() plugin.Cursor { return r.at }

// Digests returns those of the files that the run read.
func (r *storedReader) Digests(context.Context) (digests []string, err error) {
	err = json.Unmarshal([]byte(r.source.run.ends[r.source.name].Digests), &digests)
	return digests, err
}

// Close does nothing.
func (*storedReader) Close() error { return nil }

// nowhere is a sink that encodes rows as the document's does, and keeps nothing.
type nowhere struct {
	plugin.Sink
	name string
	run  *Rerun

	reading sync.Mutex
	refused map[int64]landscape.Effect // the writes of the run of which its target refused rows, by ordinal; nil: not read yet
}

// Version is that of the document's sink.
func (s *nowhere) Version() int { return plugin.VersionOf(s.Sink) }

// TypedEncoder returns the encoder of the document's sink.
func (s *nowhere) TypedEncoder(fields []plugin.Field, open bool) (plugin.Encoder, error) {
	if typed, is := s.Sink.(plugin.Typed); is {
		return typed.TypedEncoder(fields, open)
	}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	return s.Encoder(names, open)
}

// Target returns the target that takes everything.
func (s *nowhere) Target(string) plugin.Target { return (*nowhereTarget)(s) }

// refusedWrites returns the writes of the run of which its target refused rows, by ordinal.
func (s *nowhere) refusedWrites(ctx context.Context) (map[int64]landscape.Effect, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.refused != nil {
		return s.refused, nil
	}
	effects, err := s.run.Log.Effects(ctx, s.run.Run.ID)
	if err != nil {
		return nil, err
	}
	s.refused = map[int64]landscape.Effect{}
	for _, effect := range effects {
		if effect.Sink == s.name && effect.Refused > 0 && effect.Ordinal != nil {
			s.refused[*effect.Ordinal] = effect
		}
	}
	return s.refused, nil
}

// nowhereTarget takes every part, refuses the rows that the run's target refused, and holds nothing.
type nowhereTarget nowhere

func (*nowhereTarget) Open(context.Context, []byte) (bool, error)       { return false, nil }
func (*nowhereTarget) Write(context.Context, plugin.Part, []byte) error { return nil }
func (*nowhereTarget) Discard(context.Context) error                    { return nil }
func (*nowhereTarget) Check(context.Context, plugin.Part) (plugin.Applied, error) {
	return plugin.NotApplied, nil
}

// Publish describes what would be there: the digest is that of the parts' digests, in order.
func (t *nowhereTarget) Publish(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	refused, err := (*nowhere)(t).refusedWrites(ctx)
	if err != nil {
		return plugin.Artifact{}, err
	}
	artifact, sum := plugin.Artifact{Path: "nowhere", Bytes: int64(len(header))}, sha256.New()
	for _, part := range parts {
		artifact.Bytes += part.Bytes
		artifact.Rows += part.Rows - refused[part.Ordinal].Refused
		sum.Write(part.SHA256[:])
	}
	artifact.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return artifact, nil
}

// Verify describes the same.
func (t *nowhereTarget) Verify(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	return t.Publish(ctx, header, parts)
}

// Rejected returns the rows of a part that the run's target refused, for the same reasons.
func (t *nowhereTarget) Rejected(ctx context.Context, part plugin.Part) ([]plugin.RejectedRow, error) {
	writes, err := (*nowhere)(t).refusedWrites(ctx)
	write, is := writes[part.Ordinal]
	if err != nil || !is {
		return nil, err
	}
	tokens, err := t.run.Log.SinkTokens(ctx, write.EffectKey)
	if err != nil {
		return nil, err
	}
	var rejected []plugin.RejectedRow
	for i, token := range tokens {
		found, err := t.run.Log.LateRowError(ctx, write.Run, token, landscape.Way{Sink: t.name})
		if err != nil {
			return nil, err
		}
		if found != nil {
			rejected = append(rejected, plugin.RejectedRow{Row: int64(i), Rejection: plugin.Rejection{Code: found.Code, Field: found.Field, Message: found.Message}})
		}
	}
	return rejected, nil
}
