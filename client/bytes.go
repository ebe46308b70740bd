package client

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// sourceBytes returns how many bytes the sources of a plan hold, or 0 if that is not known.
func sourceBytes(ctx context.Context, compiled *plan.Plan) int64 {
	var total int64
	for _, i := range compiled.Sources() {
		spec, _ := compiled.Document.Pipeline.Sources.Get(compiled.Nodes[i].Name)
		info, err := compiled.Nodes[i].Source.Stat(ctx)
		if err != nil {
			return 0
		}
		bytes, known := plainBytes(spec, info)
		if !known {
			return 0
		}
		total += bytes
	}
	return total
}

// recordedBytes is the same of a recorded run.
func recordedBytes(ctx context.Context, log *landscape.Reader, run landscape.Run) (int64, error) {
	description, err := PlanOf(run)
	if err != nil {
		return 0, err
	}
	specs := map[string]pipeline.Source{}
	for _, node := range description.Nodes {
		var spec pipeline.Source
		if node.Kind == plan.Source && json.Unmarshal(node.Config, &spec) == nil {
			specs[node.Name] = spec
		}
	}
	sources, err := log.Sources(ctx, run.ID) // and barriers, of which there is no spec
	if err != nil {
		return 0, err
	}
	var total int64
	for _, source := range sources {
		spec, ok := specs[source.Source]
		if !ok {
			continue
		}
		var info plugin.SourceInfo
		if err := json.Unmarshal([]byte(source.Info), &info); err != nil {
			return 0, fmt.Errorf("run %s: source %s on record: %w", run.ID, source.Source, err)
		}
		bytes, known := plainBytes(spec, info)
		if !known {
			return 0, nil
		}
		total += bytes
	}
	return total, nil
}

// plainBytes returns how many bytes of text there are to read, if that is known: chunks are counted in decoded text, and the length of
// a compressed file says little about that.
func plainBytes(spec pipeline.Source, info plugin.SourceInfo) (total int64, known bool) {
	if info.List != "" || spec.CSV == nil && spec.JSONL == nil {
		return 0, false // it reads some of the records
	}
	for _, file := range info.Files {
		if !plainText(filesOf(spec), file.Path) {
			return 0, false
		}
		total += file.Bytes
	}
	return total, true
}

func filesOf(spec pipeline.Source) pipeline.Files {
	if spec.CSV != nil {
		return spec.CSV.Files
	}
	return spec.JSONL.Files
}

// plainText reports whether a file's bytes are those of its text.
func plainText(files pipeline.Files, path string) bool {
	if strings.HasPrefix(files.Encoding, "utf-16") {
		return false
	}
	switch files.Compression {
	case "none":
		return true
	case "", "auto":
		return !slices.Contains([]string{".gz", ".zst", ".bz2", ".zip"}, filepath.Ext(path))
	}
	return false
}
