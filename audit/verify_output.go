package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plan"
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
			v.note("%s: %s is not checked: only its sink can ask it, and the document cannot be used here%s", record.Sink, record.Path, needs(v.run, nil))
			continue
		}
		v.noteEntries(record)
		wrong := v.verifyArtifact(ctx, record.Artifact(), record.Sink)
		if err := ctx.Err(); err != nil {
			return err
		}
		if wrong == nil {
			continue
		}
		later, err := v.replacedBy(ctx, record)
		if err != nil {
			return err
		}
		if later != "" {
			v.note("%s: %s was replaced by run %s", record.Sink, record.Path, later)
			continue
		}
		v.add(ArtifactDiffers, record.Sink, "%v", wrong)
	}
	return nil
}

// noteEntries says of an output that is no file of ours what was read again of it.
func (v *verification) noteEntries(record landscape.ArtifactRecord) {
	if v.compiled == nil {
		return
	}
	if i := v.compiled.Find(record.Sink); i != plan.None && v.compiled.Nodes[i].Kind == plan.Sink && v.compiled.Nodes[i].Sink.Guarantee() == plugin.Transactional {
		v.note("%s: the entries that the run left beside %s were compared, not the rows of the table: others may change these", record.Sink, record.Path)
	}
}

// isFile reports whether an output's path is one of files: not a URI, and not the standard output.
func isFile(path string) bool { return path != pipeline.Stdio && !strings.Contains(path, "://") }

// replacedBy returns the last run that published the same output later; "" if there is none.
func (v *verification) replacedBy(ctx context.Context, record landscape.ArtifactRecord) (string, error) {
	runs, err := v.log.Runs(ctx)
	if err != nil {
		return "", err
	}
	last, later := record.Published, ""
	for _, run := range runs {
		others, err := v.log.Artifacts(ctx, run.ID)
		if err != nil {
			return "", err
		}
		for _, other := range others {
			if run.ID != v.run.ID && other.Path == record.Path && other.Published > last {
				last, later = other.Published, run.ID
			}
		}
	}
	return later, nil
}

// verifyArtifact asks the sink if the plan is to be had, and reads the files themselves otherwise.
func (v *verification) verifyArtifact(ctx context.Context, recorded plugin.Artifact, sink string) error {
	if v.compiled != nil {
		if i := v.compiled.Find(sink); i != plan.None && v.compiled.Nodes[i].Kind == plan.Sink {
			return v.askSink(ctx, &v.compiled.Nodes[i], recorded)
		}
		return fmt.Errorf("%s: the document has no sink %q", recorded.Path, sink)
	}
	info, err := os.Stat(recorded.Path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return verifyFolder(ctx, recorded)
	case info.Size() != recorded.Bytes:
		return fmt.Errorf("%s has %d bytes, on record are %d", recorded.Path, info.Size(), recorded.Bytes)
	}
	return verifyContent(ctx, recorded.Path, recorded.SHA256)
}

func (v *verification) askSink(ctx context.Context, node *plan.Node, recorded plugin.Artifact) error {
	encoder, err := node.Encoder()
	if err != nil {
		return err
	}
	parts, err := activities.Parts(ctx, v.log, v.run.ID, node.Name)
	if err != nil {
		return err
	}
	found, err := node.Sink.Target(v.run.ID).Verify(ctx, encoder.Header(), parts)
	if err == nil && found != recorded {
		err = fmt.Errorf("%s holds %d bytes with digest %s, on record are %d with %s", recorded.Path, found.Bytes, found.SHA256, recorded.Bytes, recorded.SHA256)
	}
	return err
}

func verifyContent(ctx context.Context, path, recorded string) error {
	sum, err := fileDigest(ctx, path)
	if err == nil && sum != recorded {
		err = fmt.Errorf("%s hashes to %s, on record is %s", path, sum, recorded)
	}
	return err
}

// verifyFolder holds the manifest of an output in parts against the record, and the parts against the manifest. The format
// of manifests is in docs/sinks.md.
func verifyFolder(ctx context.Context, recorded plugin.Artifact) error {
	path := filepath.Join(recorded.Path, "manifest.json")
	if err := verifyContent(ctx, path, recorded.SHA256); err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var manifest struct {
		Parts []struct {
			File   string `json:"file"`
			SHA256 string `json:"sha256"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var wrong []error
	for _, part := range manifest.Parts {
		wrong = append(wrong, verifyContent(ctx, filepath.Join(recorded.Path, filepath.Base(part.File)), part.SHA256))
	}
	return errors.Join(wrong...)
}
