package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/activities"
	"waymark/engine"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plan"
	"waymark/plugin"
)

// Report is what a verification looked at and what it found.
type Report struct {
	Run       string    `json:"run"`
	Status    string    `json:"status"`
	Chunks    int64     `json:"chunks"`    // whose records were read again and sent through the steps again
	Rows      int64     `json:"rows"`      // in these chunks
	Hashes    int64     `json:"hashes"`    // computed again and compared
	Artifacts int       `json:"artifacts"` // read again
	Problems  []Problem `json:"problems"`  // empty, not nil, if everything on record is true
	Note      string    `json:"note,omitempty"`
}

// Problem is one thing on record that is not true, or not to be had.
type Problem struct {
	Kind   string `json:"kind"` // a word of the constants below, or the name of an audit check
	Where  string `json:"where"`
	Detail string `json:"detail"`
}

// Kinds of problems.
const (
	PayloadMissing   = "payload_missing"
	PayloadCorrupt   = "payload_corrupt"
	RecordDiffers    = "record_differs"    // the engine, given the stored records, comes to another result than is on record
	ArtifactDiffers  = "artifact_differs"  // a published file is missing or holds other bytes
	DocumentUnusable = "document_unusable" // the run's document does not compile to the run's plan here
)

// maxProblems bounds a report: what is wrong in a thousand places needs no longer list.
const maxProblems = 1000

// Verify holds a run against everything that can be checked: the audit sweep over every token, every payload's bytes, the
// results of the steps and the errors computed again, and the published files. It reads only. The error says that the verification could
// not be done; what it found is in the report.
func (a *Auditor) Verify(ctx context.Context, id string) (*Report, error) {
	run, err := a.log.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	report := &Report{Run: run.ID, Status: string(run.Status), Problems: []Problem{}}
	if err := a.sweep(ctx, report); err != nil {
		return nil, err
	}
	if err := a.verifyChunks(ctx, report, run); err != nil {
		return nil, err
	}
	return report, a.verifyArtifacts(ctx, report, run)
}

func (r *Report) add(kind, where, format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{kind, where, fmt.Sprintf(format, args...)})
	}
}

// sweep checks the record against itself. A run that is not concluded has open tokens by right: its sweep is left out.
func (a *Auditor) sweep(ctx context.Context, report *Report) error {
	if !concluded(report.Status) {
		report.Note = "the run is " + report.Status + ": open rows are no problem of its record"
		return nil
	}
	findings, err := a.log.Sweep(ctx, report.Run, true)
	for _, finding := range findings {
		report.add(finding.Check, place(finding.Source, finding.Chunk), "%s", finding.String())
	}
	return err
}

func concluded(status string) bool {
	return slices.Contains([]string{"completed", "completed_with_failures", "empty"}, status)
}

func place(source string, chunk int64) string {
	if chunk < 0 {
		return source
	}
	return fmt.Sprintf("%s chunk %d", source, chunk)
}

func (a *Auditor) verifyChunks(ctx context.Context, report *Report, run landscape.Run) error {
	compiled, problem := a.plan(run)
	if problem != "" {
		report.add(DocumentUnusable, run.Pipeline, "%s", problem)
	}
	writes, err := a.writes(ctx, run.ID)
	if err != nil {
		return err
	}
	sources, err := a.log.Sources(ctx, run.ID)
	if err != nil {
		return err
	}
	for _, source := range sources {
		for record, err := range a.log.Chunks(ctx, run.ID, source.Source) {
			if err != nil {
				return err
			}
			if err := a.verifyChunk(ctx, report, compiled, record, writes); err != nil {
				return err
			}
		}
	}
	return nil
}

// writes returns the digests of the planned bytes by sink, source and chunk.
func (a *Auditor) writes(ctx context.Context, run string) (map[landscape.EffectKey]string, error) {
	effects, err := a.log.Effects(ctx, run)
	digests := map[landscape.EffectKey]string{}
	for _, effect := range effects {
		if effect.Kind == landscape.WriteEffect {
			digests[effect.EffectKey] = effect.SHA256
		}
	}
	return digests, err
}

// verifyChunk checks the chunk's payload, and sends its records through the steps again if the plan is to be had.
func (a *Auditor) verifyChunk(ctx context.Context, report *Report, compiled *plan.Plan, record landscape.Chunk, writes map[landscape.EffectKey]string) error {
	where := place(record.Source, record.Chunk)
	chunk, err := activities.Chunk(ctx, a.log, a.payloads, record)
	switch {
	case errors.Is(err, payload.ErrNotFound):
		report.add(PayloadMissing, where, "%v", err)
		return nil
	case errors.Is(err, payload.ErrCorrupt):
		report.add(PayloadCorrupt, where, "%v", err)
		return nil
	case err != nil:
		return err
	}
	report.Chunks++
	report.Rows += int64(chunk.Len())
	same, err := a.verifyRecords(ctx, report, record, chunk)
	if err != nil || !same || compiled == nil {
		return err // other records than were read say nothing about what became of those
	}
	return a.recompute(ctx, report, compiled, record, chunk, writes)
}

// verifyRecords compares the chunk's records with the index of those that were read, and reports whether they are the same.
func (a *Auditor) verifyRecords(ctx context.Context, report *Report, record landscape.Chunk, chunk *plugin.Chunk) (same bool, err error) {
	rows, err := a.log.Records(ctx, record.Run, record.Source, record.Chunk)
	if err != nil {
		return false, err
	}
	same = true
	for i, hash := range hashesOf(activities.RecordHashes(chunk)) {
		report.Hashes++
		row, recorded := record.FirstRow+int64(i), rows.Hashes[32*i:32*i+32]
		if rows.Offsets[i] != chunk.Offsets[i] || rows.Lengths[i] != chunk.Lengths[i] {
			same = false
			report.add(RecordDiffers, place(record.Source, record.Chunk), "row %d: the stored record has %d bytes at byte %d, on record are %d at %d",
				row, chunk.Lengths[i], chunk.Offsets[i], rows.Lengths[i], rows.Offsets[i])
		}
		if hash != [32]byte(recorded) {
			same = false
			report.add(RecordDiffers, place(record.Source, record.Chunk), "row %d: the stored record hashes to %x, on record is %x", row, hash, recorded)
		}
	}
	return same, nil
}

// recompute sends the chunk through the steps again and compares ways, hashes and planned bytes.
func (a *Auditor) recompute(ctx context.Context, report *Report, compiled *plan.Plan, record landscape.Chunk, chunk *plugin.Chunk, writes map[landscape.EffectKey]string) error {
	routes, err := a.log.Routes(ctx, record.Run, record.Source, record.Chunk)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil // the chunk was read and has not gone through the steps
	}
	if err != nil {
		return err
	}
	hashes, err := a.log.Hashes(ctx, record.Run, record.Source, record.Chunk)
	if err != nil {
		return err
	}
	result, err := a.result(ctx, compiled, record, chunk)
	if err != nil {
		return err
	}
	computed := activities.PassageOf(compiled, record.Run, record.Source, record.Chunk, chunk, result)
	compareWays(report, record, routes, computed.Routes)
	compareHashes(report, record, hashes, computed.Hashes)
	if err := a.compareErrors(ctx, report, record, computed); err != nil {
		return err
	}
	for _, write := range computed.Writes {
		key := landscape.EffectKey{Run: record.Run, Sink: write.Sink, Source: record.Source, Chunk: record.Chunk}
		if writes[key] != write.SHA256 {
			report.add(RecordDiffers, place(record.Source, record.Chunk), "the bytes for sink %s hash to %s, on record is %s", write.Sink, write.SHA256, writes[key])
		}
	}
	return nil
}

func (a *Auditor) result(ctx context.Context, compiled *plan.Plan, record landscape.Chunk, chunk *plugin.Chunk) (*engine.Result, error) {
	runner, err := engine.NewRunner(compiled)
	if err != nil {
		return nil, err
	}
	values, err := runner.UniqueValues(chunk)
	if err != nil {
		return nil, err
	}
	duplicates, err := activities.Claim(ctx, a.log, record.Run, record.Source, record.FirstRow, values)
	if err != nil {
		return nil, err
	}
	return runner.Run(chunk, duplicates)
}

func compareWays(report *Report, record landscape.Chunk, recorded, computed landscape.Routes) {
	for i := range computed.Codes {
		was, is := signature(recorded, i), signature(computed, i)
		if was != is {
			report.add(RecordDiffers, place(record.Source, record.Chunk), "row %d goes %s, on record is %s", record.FirstRow+int64(i), is, was)
		}
	}
}

// signature returns the way of a row of the chunk. What is on record may make no sense.
func signature(routes landscape.Routes, i int) string {
	if i >= len(routes.Codes) || int(routes.Codes[i]) >= len(routes.Ways) {
		return "no way"
	}
	return routes.Ways[routes.Codes[i]].Signature()
}

// compareErrors compares why each row was refused. Errors of rows that were not are found by the sweep, which counts.
func (a *Auditor) compareErrors(ctx context.Context, report *Report, record landscape.Chunk, computed landscape.Passage) error {
	for _, refusal := range computed.Errors {
		row := record.FirstRow + int64(refusal.Index)
		recorded, err := a.log.ErrorsOf(ctx, record.Run, record.Source, row)
		if err != nil {
			return err
		}
		way := computed.Ways[computed.Codes[refusal.Index]]
		if len(recorded) != 1 || !sameError(recorded[0], way, refusal) {
			report.add(RecordDiffers, place(record.Source, record.Chunk), "row %d is refused by %s with %s, on record is another error or none", row, way.Last(), refusal.Code)
		}
	}
	return nil
}

func sameError(e landscape.RowError, way landscape.Way, r landscape.Refusal) bool {
	raw := r.Raw[:min(len(r.Raw), landscape.MaxRawBytes)]
	return e.Node == way.Last() && e.SentTo == way.Sink && e.Code == r.Code && e.Field == r.Field && e.Message == r.Message &&
		bytes.Equal(e.Raw, raw) && e.RawBytes == r.Bytes && e.Line == r.Line && e.ByteOffset == r.Offset
}

func compareHashes(report *Report, record landscape.Chunk, recorded, computed []landscape.NodeHashes) {
	stored := map[string]landscape.NodeHashes{}
	for _, column := range recorded {
		stored[column.Node] = column
	}
	for _, column := range computed {
		other := stored[column.Node]
		delete(stored, column.Node)
		if len(column.Hashes) != len(other.Hashes) {
			report.add(RecordDiffers, place(record.Source, record.Chunk), "no row comes out of %s on record, computed again some do", column.Node)
			continue
		}
		compareColumn(report, record, column, other)
	}
	for node := range stored {
		report.add(RecordDiffers, place(record.Source, record.Chunk), "no row comes out of %s, on record some do", node)
	}
}

func compareColumn(report *Report, record landscape.Chunk, computed, recorded landscape.NodeHashes) {
	was := hashesOf(recorded.Hashes)
	for i, hash := range hashesOf(computed.Hashes) {
		report.Hashes++
		if hash != was[i] {
			report.add(RecordDiffers, place(record.Source, record.Chunk), "row %d comes out of %s as %x, on record is %x",
				record.FirstRow+int64(i), computed.Node, hash, was[i])
		}
	}
}

func hashesOf(column []byte) [][32]byte {
	hashes := make([][32]byte, 0, len(column)/32)
	for hash := range slices.Chunk(column, 32) {
		hashes = append(hashes, [32]byte(hash))
	}
	return hashes
}

// verifyArtifacts reads every published output again.
func (a *Auditor) verifyArtifacts(ctx context.Context, report *Report, run landscape.Run) error {
	artifacts, err := a.log.Artifacts(ctx, run.ID)
	if err != nil || len(artifacts) == 0 {
		return err
	}
	compiled, problem := a.plan(run)
	if problem != "" {
		return nil // said already
	}
	for _, artifact := range artifacts {
		node := &compiled.Nodes[compiled.Find(artifact.Sink)]
		if err := a.verifyArtifact(ctx, run.ID, node, artifact.Artifact()); err != nil {
			report.add(ArtifactDiffers, artifact.Sink, "%v", err)
		}
		report.Artifacts++
	}
	return nil
}

func (a *Auditor) verifyArtifact(ctx context.Context, run string, node *plan.Node, artifact plugin.Artifact) error {
	encoder, err := node.Encoder()
	if err != nil {
		return err
	}
	parts, err := activities.Parts(ctx, a.log, run, node.Name)
	if err != nil {
		return err
	}
	found, err := node.Sink.Target(run).Verify(ctx, encoder.Header(), parts)
	if err == nil && found != artifact {
		err = fmt.Errorf("%s holds %d bytes with digest %s, on record are %d with %s", artifact.Path, found.Bytes, found.SHA256, artifact.Bytes, artifact.SHA256)
	}
	return err
}
