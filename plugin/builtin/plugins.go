package builtin

import (
	"waymark/pipeline"
	"waymark/plugin"
)

// Plugins makes the sources, tables and sinks of one document, whose files lie in one Root. It is safe for concurrent use.
type Plugins struct {
	Root *Root
	// Tables are the contents of the files of lookups, by the lookup's name, as they are on disk. The file of a lookup
	// that is in it is not looked at. It may be nil, and must not be changed.
	Tables map[string][]byte
}

// Source is NewSource in the Root.
func (p Plugins) Source(name string, spec pipeline.Source) (plugin.Source, error) {
	return NewSource(name, spec, p.Root)
}

// Sink is NewSink in the Root.
func (p Plugins) Sink(name string, spec pipeline.Sink) (plugin.Sink, error) {
	return NewSink(name, spec, p.Root)
}
