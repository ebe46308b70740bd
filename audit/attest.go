package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// AttestOptions say what is looked at.
type AttestOptions struct {
	Sink   string // empty for all
	Sample int64  // of each output only parts, drawn by lot, that have so many rows together; 0 for all
}

// Attest reads the targets of a run's published outputs again, and returns what became of each, by sink; nil if there is none. It changes nothing, and sets neither
// Seq nor Actor nor At. A target that cannot be looked at is unknown; the error says that the record could not be read, or is a *QuestionError if the run has no such
// sink.
func (a *Auditor) Attest(ctx context.Context, run landscape.Run, o AttestOptions) ([]landscape.Attestation, error) {
	if o.Sink != "" {
		if err := a.hasSink(ctx, run.ID, o.Sink); err != nil {
			return nil, err
		}
	}
	artifacts, err := a.log.Artifacts(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	compiled, problem, err := a.plan(ctx, run)
	if err != nil {
		return nil, err
	}
	attesting := &attesting{verification: &verification{Auditor: a, run: run, compiled: compiled}, options: o, problem: problem}
	var found []landscape.Attestation
	for _, artifact := range artifacts {
		if o.Sink != "" && artifact.Sink != o.Sink {
			continue
		}
		one, err := attesting.output(ctx, artifact)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

// attesting is a look at the outputs of a run.
type attesting struct {
	*verification
	options AttestOptions
	problem string // why there is no plan
	erasing bool   // rows that are to be deleted are known
}

// output looks at one output, and at the name that leads to it.
func (a *attesting) output(ctx context.Context, record landscape.ArtifactRecord) (landscape.Attestation, error) {
	found, err := a.look(ctx, record)
	if err != nil {
		return landscape.Attestation{}, err
	}
	if err := a.pointer(ctx, record, &found); err != nil {
		return landscape.Attestation{}, err
	}
	attestation := landscape.Attestation{
		Run: record.Run, Sink: record.Sink, Path: record.Path, Unit: found.Unit, Sample: a.options.Sample, LookedAt: found.LookedAt, Equal: found.Equal,
		Changed: found.Changed, Missing: found.Missing, Replaced: found.Replaced, Unknown: found.Unknown, Result: landscape.ResultOf(found), Findings: "[]",
	}
	if found.Findings != nil {
		text, err := json.Marshal(found.Findings)
		if err != nil {
			return landscape.Attestation{}, err
		}
		attestation.Findings = string(text)
	}
	for _, f := range found.Findings {
		if f.State == plugin.Replaced {
			attestation.ReplacedBy = f.Run
		}
	}
	return attestation, nil
}

// look compares the target with what the run wrote. What a later run replaced is not a change.
func (a *attesting) look(ctx context.Context, record landscape.ArtifactRecord) (plugin.Condition, error) {
	found, err := a.ask(ctx, record)
	if ended := ctx.Err(); ended != nil || errors.Is(err, landscape.ErrUnavailable) {
		return found, errors.Join(err, ended)
	}
	if err != nil {
		found = plugin.Condition{Unit: plugin.Pieces}
		if a.isTable(record.Sink) || strings.HasPrefix(record.Path, "postgres://") {
			found.Unit = plugin.Rows
		}
		found.Add(1, plugin.Finding{State: plugin.NotKnown, Why: strings.ReplaceAll(err.Error(), "\n", "; ")})
	}
	if found.Changed+found.Missing == 0 || !isFile(record.Path) { // tables and buckets say themselves what another run wrote
		return found, nil
	}
	return a.orReplaced(ctx, record, found)
}

// orReplaced says of a file or folder that is not as the run wrote it that a later run replaced it, if it is as the last run wrote it that published there.
func (a *attesting) orReplaced(ctx context.Context, record landscape.ArtifactRecord, found plugin.Condition) (plugin.Condition, error) {
	later, err := a.laterThan(ctx, record)
	if err != nil || later == nil {
		return found, err
	}
	there, err := a.asWrittenBy(ctx, *later)
	if ended := ctx.Err(); ended != nil || errors.Is(err, landscape.ErrUnavailable) {
		return found, errors.Join(err, ended)
	}
	if err != nil { // such as that the run is archived, and its bundle away
		there = plugin.Finding{State: plugin.NotKnown, Why: err.Error()}
	}
	switch there.State {
	case plugin.AsWritten:
		return instead(found, plugin.Finding{State: plugin.Replaced, Run: later.Run, Why: "a later run published there"}), nil
	case plugin.NotKnown:
		why := fmt.Sprintf("run %s published there since, and what it wrote cannot be compared: %s", later.Run, there.Why)
		return instead(found, plugin.Finding{State: plugin.NotKnown, Why: why}), nil
	case plugin.Changed, plugin.Missing, plugin.Replaced:
	}
	for i := range found.Findings {
		if notAsWritten(found.Findings[i]) {
			found.Findings[i].Why += fmt.Sprintf("; and the output is not that of run %s either, which published there since", later.Run)
		}
	}
	return found, nil
}

// laterThan returns what was published last where an output was published, if another run did since; else nil.
func (a *attesting) laterThan(ctx context.Context, record landscape.ArtifactRecord) (*landscape.ArtifactRecord, error) {
	run, err := a.log.ReplacedBy(ctx, record)
	if err != nil || run == "" {
		return nil, err
	}
	artifacts, err := a.log.Artifacts(ctx, run)
	i := slices.IndexFunc(artifacts, func(other landscape.ArtifactRecord) bool { return other.Path == record.Path })
	if err != nil || i < 0 {
		return nil, err
	}
	return &artifacts[i], nil
}

// asWrittenBy looks whether an output of another run is as that run wrote it.
func (a *attesting) asWrittenBy(ctx context.Context, record landscape.ArtifactRecord) (plugin.Finding, error) {
	run, err := a.log.Run(ctx, record.Run)
	if err != nil {
		return plugin.Finding{}, err
	}
	compiled, _, err := a.plan(ctx, run)
	if err != nil {
		return plugin.Finding{}, err
	}
	other := &attesting{verification: &verification{Auditor: a.Auditor, run: run, compiled: compiled}}
	return other.whole(ctx, record), ctx.Err()
}

// instead says one thing of all pieces that are not as the run wrote them.
func instead(of plugin.Condition, told plugin.Finding) plugin.Condition {
	pieces := of.Changed + of.Missing
	of.LookedAt, of.Changed, of.Missing = of.LookedAt-pieces, 0, 0
	of.Findings = slices.DeleteFunc(of.Findings, notAsWritten)
	of.Add(pieces, told)
	return of
}

// notAsWritten reports whether something was changed, or is missing.
func notAsWritten(f plugin.Finding) bool {
	return f.State == plugin.Changed || f.State == plugin.Missing
}

// ask asks the sink or, without one that can tell, reads the files.
func (a *attesting) ask(ctx context.Context, record landscape.ArtifactRecord) (plugin.Condition, error) {
	if a.compiled != nil {
		if i := a.compiled.Find(record.Sink); i != plan.None && a.compiled.Nodes[i].Kind == plan.Sink {
			written, target, err := a.written(ctx, a.compiled, i, record)
			if attester, can := target.(plugin.Attester); err != nil || can {
				if err != nil {
					return plugin.Condition{}, err
				}
				return attester.Attest(ctx, written)
			}
		}
	} else if !isFile(record.Path) {
		return plugin.Condition{}, fmt.Errorf("only its sink can ask %s, and %s", record.Path, a.problem)
	}
	found := plugin.Condition{Unit: plugin.Pieces}
	found.Add(1, a.whole(ctx, record))
	return found, nil
}

// whole looks at an output as one piece.
func (a *attesting) whole(ctx context.Context, record landscape.ArtifactRecord) plugin.Finding {
	wrong, differs := a.verifyArtifact(ctx, record.Artifact(), record.Sink)
	switch {
	case wrong == nil:
		return plugin.Finding{State: plugin.AsWritten}
	case errors.Is(wrong, fs.ErrNotExist):
		return plugin.Finding{State: plugin.Missing, Why: wrong.Error()}
	case differs:
		return plugin.Finding{State: plugin.Changed, Why: wrong.Error()}
	}
	return plugin.Finding{State: plugin.NotKnown, Why: wrong.Error()}
}

// written is what a run wrote with one of the sinks of its plan.
func (a *attesting) written(ctx context.Context, compiled *plan.Plan, node int, record landscape.ArtifactRecord) (plugin.Written, plugin.Target, error) {
	sink := &compiled.Nodes[node]
	target := sink.Sink.Target(record.Run)
	encoder, err := sink.Encoder()
	if err != nil {
		return plugin.Written{}, target, err
	}
	parts, err := recompute.Parts(ctx, a.log, record.Run, sink.Name)
	if err != nil {
		return plugin.Written{}, target, err
	}
	_, packed := encoder.(plugin.Finisher)
	chunks, refused, err := a.chunksOf(ctx, record)
	written := plugin.Written{
		Artifact: record.Artifact(), Header: encoder.Header(), Parts: parts, Refused: refused, Look: sampled(parts, a.options.Sample), Lines: !packed,
		Data: func(ctx context.Context, part plugin.Part) ([]byte, error) {
			return a.bytesOf(ctx, compiled, node, record.Run, chunks[part.Ordinal], part)
		},
		Later: func(ctx context.Context) ([]plugin.WrittenBy, error) {
			return a.others(ctx, record, func(other landscape.ArtifactRecord) bool {
				return other.Published > record.Published && other.Run != record.Run
			})
		},
		Others: func(ctx context.Context) ([]plugin.WrittenBy, error) {
			return a.others(ctx, record, func(other landscape.ArtifactRecord) bool { return other.Run != record.Run || other.Sink != record.Sink })
		},
	}
	if !packed {
		written.Rows = func(ctx context.Context, part plugin.Part) (plugin.PartRows, error) {
			of := landscape.EffectKey{Run: record.Run, Sink: sink.Name, Source: chunks[part.Ordinal].Source, Chunk: chunks[part.Ordinal].Chunk}
			return a.rowsOf(ctx, writtenPart{part, compiled, node, of, written.RowsBefore(part)})
		}
	}
	return written, target, err
}

// sampled draws parts that have so many rows together.
func sampled(parts []plugin.Part, rows int64) func(plugin.Part) bool {
	if rows == 0 {
		return func(plugin.Part) bool { return true }
	}
	drawn := map[int64]bool{}
	for _, i := range rand.Perm(len(parts)) {
		if rows <= 0 {
			break
		}
		drawn[parts[i].Ordinal] = true
		rows -= parts[i].Rows
	}
	return func(part plugin.Part) bool { return drawn[part.Ordinal] }
}

// chunksOf returns of which chunk each part of an output is, and how many of its rows the target refused, by the ordinal of the part.
func (a *attesting) chunksOf(ctx context.Context, record landscape.ArtifactRecord) (chunks map[int64]landscape.ChunkKey, refused map[int64]int64, err error) {
	effects, err := a.log.SinkEffects(ctx, record.Run, record.Sink)
	chunks, refused = map[int64]landscape.ChunkKey{}, map[int64]int64{}
	for _, e := range effects {
		if e.Kind == landscape.WriteEffect && e.Ordinal != nil {
			chunks[*e.Ordinal], refused[*e.Ordinal] = landscape.ChunkKey{Source: e.Source, Chunk: e.Chunk}, e.Refused
		}
	}
	return chunks, refused, err
}

// bytesOf computes the bytes of a part again. The error says why they are not to be had.
func (a *attesting) bytesOf(ctx context.Context, compiled *plan.Plan, node int, run string, key landscape.ChunkKey, part plugin.Part) ([]byte, error) {
	record, err := a.log.Chunk(ctx, run, key)
	if err != nil {
		return nil, err
	}
	in, err := recompute.Chunk(ctx, a.log, a.payloads, compiled, record)
	if err != nil {
		return nil, err
	}
	if in.Firsts, err = recompute.Repeats(ctx, a.log, compiled, run, key.Chunk, in); err != nil {
		return nil, err
	}
	runner, err := engine.NewRunner(compiled)
	if err != nil {
		return nil, err
	}
	result, err := runner.Run(in)
	if err != nil {
		return nil, err
	}
	if result.Parts[node].SHA256 != part.SHA256 {
		return nil, fmt.Errorf("part %d, computed again, has other bytes than are recorded: waymark verify %s says where", part.Ordinal, run)
	}
	return result.Parts[node].Data, nil
}

// others returns the outputs that are wanted of those that were published at the same place as one, the newest first.
func (a *attesting) others(ctx context.Context, record landscape.ArtifactRecord, wanted func(landscape.ArtifactRecord) bool) (others []plugin.WrittenBy, err error) {
	published, err := a.log.Publications(ctx, func(path string) bool { return path == record.Path })
	if err != nil {
		return nil, err
	}
	for _, other := range published {
		if !wanted(other) {
			continue
		}
		by := plugin.WrittenBy{Run: other.Run, Sink: other.Sink, Written: plugin.Written{Artifact: other.Artifact()}} // without a header: its rows are not known
		run, err := a.log.Run(ctx, other.Run)
		if err != nil {
			return nil, err
		}
		compiled, _, err := a.plan(ctx, run)
		if err != nil {
			return nil, err
		}
		if compiled != nil {
			if by.Written, _, err = a.written(ctx, compiled, compiled.Find(other.Sink), other); err != nil {
				return nil, err
			}
		}
		others = append(others, by)
	}
	return others, nil
}

// pointer looks where the name of the latest output leads. That it leads to the output of a later run is as it should be.
func (a *attesting) pointer(ctx context.Context, record landscape.ArtifactRecord, found *plugin.Condition) error {
	if record.Latest == "" || a.compiled == nil {
		return nil
	}
	latest, err := a.log.LatestOutput(ctx, record.Latest)
	if err != nil {
		return err
	}
	state, led := plugin.Finding{State: plugin.AsWritten}, led(ctx, a.compiled, record.Sink, latest)
	switch {
	case led.There:
	case !led.Known:
		state = plugin.Finding{State: plugin.NotKnown, Why: led.Why}
	default:
		state = plugin.Finding{State: plugin.Changed, Why: led.Why}
	}
	found.Add(1, state)
	return ctx.Err()
}
