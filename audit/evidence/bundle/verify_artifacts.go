package bundle

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"waymark/audit/evidence/strictzip"
	"waymark/landscape"
)

// partsManifest is what of the manifest of an output in parts the bundle is compared with. docs/sinks.md describes it.
type partsManifest struct {
	Waymark string `json:"waymark"`
	Parts   []struct {
		Bytes  int64  `json:"bytes"`
		SHA256 string `json:"sha256"`
	} `json:"parts"`
}

// artifactsAre compares the outputs in the bundle with what is recorded of them: each is there, in all its parts, unless a gap says why not, and nothing else is.
func (v *verification) artifactsAre() error {
	if v.badOutput != "" {
		return fmt.Errorf("%s: its SHA-256 is not its name", v.badOutput)
	}
	there := map[string]strictzip.Member{}
	for _, m := range v.zip.Members() {
		if digest, is := strings.CutPrefix(m.Name, artifactFolder); is {
			there[digest] = m
		}
	}
	if !v.manifest.Artifacts {
		for digest := range there {
			return fmt.Errorf("%s: the manifest says that no output is here", artifactName(digest))
		}
		return nil
	}
	outputs, err := landscape.Select[landscape.ArtifactRecord](context.Background(), v.records, v.Run)
	if err != nil {
		return err
	}
	published := map[string]bool{}
	for _, output := range outputs {
		if err := v.artifact(output, there, published); err != nil {
			return fmt.Errorf("output of %s: %w", output.Sink, err)
		}
	}
	for digest := range there {
		if !published[digest] {
			return fmt.Errorf("%s: the run published no such file", artifactName(digest))
		}
	}
	return nil
}

// artifact looks for the files of one output, and notes them.
func (v *verification) artifact(output landscape.ArtifactRecord, there map[string]strictzip.Member, published map[string]bool) error {
	m, ok := there[output.SHA256]
	if !ok {
		return v.missing(output.SHA256)
	}
	published[output.SHA256] = true
	parts, isManifest := partsManifest{}, false
	if m.Size <= maxText {
		text, err := v.whole(m, maxText)
		if err != nil {
			return err
		}
		isManifest = json.Unmarshal(text, &parts) == nil && parts.Waymark == partsFormat
	}
	if !isManifest {
		if m.Size != uint64(output.Bytes) {
			return fmt.Errorf("%s: it has %d bytes, and %d are recorded", m.Name, m.Size, output.Bytes)
		}
		return v.rowsFit(output, []strictzip.Member{m})
	}
	var files []strictzip.Member
	for _, part := range parts.Parts {
		published[part.SHA256] = true
		m, ok := there[part.SHA256]
		if !ok {
			if err := v.missing(part.SHA256); err != nil {
				return err
			}
		} else if m.Size != uint64(part.Bytes) {
			return fmt.Errorf("%s: it has %d bytes, and its manifest says %d", m.Name, m.Size, part.Bytes)
		} else {
			files = append(files, m)
		}
	}
	return v.rowsFit(output, files)
}

// partsFormat is what a manifest of an output says that it is.
const partsFormat = "parts-v1"

// missing refuses a file that is not here without a gap that says why.
func (v *verification) missing(digest string) error {
	if v.manifest.lacks(artifactName(digest)) {
		return nil
	}
	return fmt.Errorf("%s: it is not here, and no gap says why", artifactName(digest))
}
