package jsonl

import (
	"fmt"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// NewSink makes the sink that a document's entry describes by its jsonl field: one JSON object per line. name is the entry's name. The error
// names the option at fault and what to write instead; nothing on disk is looked at or changed.
func NewSink(name string, spec pipeline.Sink, files file.Access) (plugin.Sink, error) {
	place, err := files.Destination(name, ".jsonl", spec.JSONL.FileTarget)
	if err != nil {
		return nil, fmt.Errorf("sinks.%s: %w", name, file.AtPath("jsonl", err))
	}
	return file.NewSink(place, func([]string, bool) (plugin.Encoder, error) { return encoder{}, nil }), nil
}

// encoder writes every field that a row has, in the row's order. Any row can be written.
type encoder struct{}

func (encoder) Header() []byte { return nil }

func (encoder) Append(dst []byte, r row.Row) ([]byte, error) {
	return append(row.AppendJSON(dst, r), '\n'), nil
}
