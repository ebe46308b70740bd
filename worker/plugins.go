package worker

import (
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/builtin"
	"waymark/plugin/parquet"
	"waymark/plugin/postgres"
)

// plugins makes the sources, sinks and tables of one document, each in the package that knows its format. What no other
// package knows is builtin's, which also says what is wrong with an entry without a format.
type plugins struct {
	builtin.Plugins
	postgres postgres.Access
}

// Source makes the source that the one format field of spec describes.
func (p plugins) Source(name string, spec pipeline.Source) (plugin.Source, error) {
	switch {
	case spec.Parquet != nil:
		return parquet.NewSource(name, spec, p.Plugins)
	case spec.Postgres != nil:
		return postgres.NewSource(name, *spec.Postgres, spec.Schema, p.postgres)
	default:
		return p.Plugins.Source(name, spec)
	}
}

// Sink makes the sink that the one format field of spec describes.
func (p plugins) Sink(name string, spec pipeline.Sink) (plugin.Sink, error) {
	switch {
	case spec.Parquet != nil:
		return parquet.NewSink(name, spec, p.Plugins)
	case spec.Postgres != nil:
		return postgres.NewSink(name, *spec.Postgres, p.postgres)
	default:
		return p.Plugins.Sink(name, spec)
	}
}
