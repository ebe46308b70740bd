package builtin

import (
	"waymark/pipeline"
	"waymark/plugin"
)

// Plugins makes the sources and sinks of one document, whose files lie in one Root. It is safe for concurrent use.
type Plugins struct{ Root *Root }

// Source is NewSource in the Root.
func (p Plugins) Source(name string, spec pipeline.Source) (plugin.Source, error) {
	return NewSource(name, spec, p.Root)
}

// Sink is NewSink in the Root.
func (p Plugins) Sink(name string, spec pipeline.Sink) (plugin.Sink, error) {
	return NewSink(name, spec, p.Root)
}
