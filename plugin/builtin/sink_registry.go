package builtin

import (
	"fmt"

	"waymark/pipeline"
	"waymark/plugin"
)

// NewSink returns the sink that one entry of a document's sinks describes. name is the entry's name. All files are below
// root's folders. The error names the option at fault and what to write instead; nothing on disk is looked at or changed.
func NewSink(name string, spec pipeline.Sink, root *Root) (plugin.Sink, error) {
	var sink plugin.Sink
	var err error
	switch {
	case spec.CSV != nil:
		sink, err = newCSVSink(name, *spec.CSV, root)
	case spec.JSONL != nil:
		sink, err = newJSONLSink(name, *spec.JSONL, root)
	default:
		err = fmt.Errorf("has no format; give it csv or jsonl")
	}
	if err != nil {
		return nil, fmt.Errorf("sinks.%s: %w", name, err)
	}
	return sink, nil
}
