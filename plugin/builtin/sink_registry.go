package builtin

import (
	"errors"
	"fmt"

	"waymark/pipeline"
	"waymark/plugin"
)

// NewSink returns the sink that one entry of a document's sinks describes. name is the entry's name. All files are below
// root's folders. The error names the option at fault and what to write instead; nothing on disk is looked at or changed.
func NewSink(name string, spec pipeline.Sink, root *Root) (plugin.Sink, error) {
	return Plugins{Root: root}.Sink(name, spec)
}

// Sink is NewSink with what else the Plugins have, and with the output's name as Beside says.
func (p Plugins) Sink(name string, spec pipeline.Sink) (plugin.Sink, error) {
	if p.Beside != "" {
		spec = beside(spec, p.Beside)
	}
	var sink plugin.Sink
	var err error
	switch {
	case spec.CSV != nil:
		sink, err = newCSVSink(name, *spec.CSV, p)
		err = AtPath("csv", err)
	case spec.JSONL != nil:
		sink, err = newJSONLSink(name, *spec.JSONL, p)
		err = AtPath("jsonl", err)
	default:
		err = fmt.Errorf("has no format; give it csv or jsonl")
	}
	if err != nil {
		return nil, fmt.Errorf("sinks.%s: %w", name, err)
	}
	return sink, nil
}

// AtPath puts the option before an error that is a path's, a *RefusedError: path, of the format with this key. It returns any
// other error as it is.
func AtPath(format string, err error) error {
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		return fmt.Errorf("%s.path: %w", format, err)
	}
	return err
}
