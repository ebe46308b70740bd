package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// verifyArtifacts reads every published output again. One that a later run replaced is no problem; one that cannot be asked for want
// of its sink is noted.
func (v *verification) verifyArtifacts(ctx context.Context) error {
	artifacts, err := v.log.Artifacts(ctx, v.run.ID)
	if err != nil {
		return err
	}
	for _, record := range artifacts {
		v.report.Artifacts++
		if v.compiled == nil && !isFile(record.Path) {
			v.skipped(CheckedOutput, record.Sink, "only its sink can ask %s, and the document cannot be used here%s", record.Path, needs(v.run, nil))
			continue
		}
		err := v.guard(ctx, record.Sink, func(ctx context.Context) error {
			return errors.Join(v.verifyFields(ctx, record), v.verifyOutput(ctx, record), v.verifyLatest(ctx, record))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyFields compares the schema of an output with the one that follows from the document and from what is recorded of its parts. That their rows are as
// recorded is for who computes them again.
func (v *verification) verifyFields(ctx context.Context, record landscape.ArtifactRecord) error {
	if v.compiled == nil {
		return nil
	}
	i := v.compiled.Find(record.Sink)
	if i == plan.None || v.compiled.Nodes[i].Kind != plan.Sink {
		return nil // who asks the sink says so
	}
	encoder, err := v.compiled.Nodes[i].Encoder()
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	writes, err := recompute.Writes(ctx, v.log, v.run.ID, record.Sink)
	if err != nil {
		return err
	}
	follows, err := recompute.SchemaOf(&v.compiled.Nodes[i], encoder, writes)
	switch {
	case err != nil:
		v.add(RecordDiffers, record.Sink, "what is recorded of the fields of its parts makes no sense: %v", err)
	case follows.String() != record.Schema:
		v.add(RecordDiffers, record.Sink, "the record has the schema %s, of the document and its parts follows %s", record.Schema, follows)
	}
	return nil
}

// verifyOutput reads one published output again. One that could not be reached is not checked.
func (v *verification) verifyOutput(ctx context.Context, record landscape.ArtifactRecord) error {
	wrong, differs := v.verifyArtifact(ctx, record.Artifact(), record.Sink)
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case wrong == nil:
		what := "%s, read again, against the parts that the run wrote"
		if v.compiled != nil {
			what += ", and its schema, against the document and these"
		}
		v.compared(CheckedOutput, record.Sink, what, record.Path)
		v.skipRows(record)
		return nil
	case errors.Is(wrong, landscape.ErrUnavailable):
		return wrong
	}
	later, err := v.log.ReplacedBy(ctx, record)
	switch {
	case err != nil:
		return err
	case later != "":
		v.skipped(CheckedOutput, record.Sink, "%s was replaced by run %s", record.Path, later)
	case differs:
		v.add(ArtifactDiffers, record.Sink, "%v", wrong)
	default:
		v.skipped(CheckedOutput, record.Sink, "%v", wrong)
	}
	return nil
}

// skipRows says of an output in a table what was not read again of it.
func (v *verification) skipRows(record landscape.ArtifactRecord) {
	if v.isTable(record.Sink) {
		v.skipped(CheckedOutput, record.Sink, "the entries that the run left beside %s were compared, not the rows of the table: others may change these", record.Path)
	}
}

// isFile reports whether an output's path is one of files: not a URI, and not the standard output.
func isFile(path string) bool { return path != pipeline.Stdio && !strings.Contains(path, "://") }

// verifyArtifact asks the sink if the plan is to be had, and reads the files themselves otherwise. It says what is wrong, and whether the
// output differs, or could not be reached.
func (v *verification) verifyArtifact(ctx context.Context, recorded plugin.Artifact, sink string) (wrong error, differs bool) {
	if v.compiled != nil {
		if i := v.compiled.Find(sink); i != plan.None && v.compiled.Nodes[i].Kind == plan.Sink {
			return v.askSink(ctx, &v.compiled.Nodes[i], recorded)
		}
		return fmt.Errorf("%s: the document has no sink %q", recorded.Path, sink), true
	}
	info, err := os.Lstat(recorded.Path)
	switch {
	case err != nil:
		wrong = err
	case info.IsDir():
		wrong = verifyFolder(ctx, recorded)
	case info.Mode().IsRegular() && info.Size() != recorded.Bytes:
		wrong = fmt.Errorf("%s has %d bytes, on record are %d", recorded.Path, info.Size(), recorded.Bytes)
	default:
		wrong = verifyContent(ctx, recorded.Path, recorded.SHA256)
	}
	path, unread := errors.AsType[*fs.PathError](wrong)
	return wrong, !unread || errors.Is(path, fs.ErrNotExist)
}

// targetChanged is the code with which a target says that it does not hold what the run wrote.
const targetChanged = "TARGET_CHANGED"

func (v *verification) askSink(ctx context.Context, node *plan.Node, recorded plugin.Artifact) (wrong error, differs bool) {
	encoder, err := node.Encoder()
	if err != nil {
		return err, false
	}
	parts, err := recompute.Parts(ctx, v.log, v.run.ID, node.Name)
	if err != nil {
		return err, true
	}
	found, err := node.Sink.Target(v.run.ID).Verify(ctx, encoder.Header(), parts)
	if err != nil {
		fault, ok := errors.AsType[*plugin.TargetError](err)
		return err, ok && fault.Code == targetChanged || !contiguous(parts)
	}
	if found.Bytes == recorded.Bytes && found.SHA256 == recorded.SHA256 && found.Rows != recorded.Rows {
		return fmt.Errorf("%s is as it was written, with %d rows, and the record says %d: somebody changed the record", recorded.Path, found.Rows, recorded.Rows), true
	}
	if found != recorded {
		return fmt.Errorf("%s holds %d bytes with digest %s, on record are %d with %s", recorded.Path, found.Bytes, found.SHA256, recorded.Bytes, recorded.SHA256), true
	}
	return nil, false
}

// contiguous reports whether parts, in their order, follow each other.
func contiguous(parts []plugin.Part) bool {
	for i, part := range parts {
		if part.Ordinal != int64(i) || i > 0 && part.Offset != parts[i-1].Offset+parts[i-1].Bytes {
			return false
		}
	}
	return true
}

// verifyContent reads a regular file.
func verifyContent(ctx context.Context, path, recorded string) error {
	if err := isRegular(path); err != nil {
		return err
	}
	sum, err := fileDigest(ctx, path)
	if err == nil && sum != recorded {
		err = fmt.Errorf("%s hashes to %s, the record has %s", path, sum, recorded)
	}
	return err
}

// verifyFolder compares the manifest of an output in parts with the record, and the parts with the manifest.
func verifyFolder(ctx context.Context, recorded plugin.Artifact) error {
	if err := verifyContent(ctx, manifestIn(recorded.Path), recorded.SHA256); err != nil {
		return err
	}
	manifest, err := readManifest(recorded.Path)
	if err != nil {
		return err
	}
	var wrong []error
	for _, part := range manifest.Parts {
		wrong = append(wrong, verifyContent(ctx, filepath.Join(recorded.Path, filepath.Base(part.File)), part.SHA256))
	}
	return errors.Join(wrong...)
}
