// Package formats makes the sources, sinks and tables of documents, each in the package that knows its format. It is the list of all there
// are.
package formats

import (
	"errors"
	"fmt"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/csv"
	"waymark/plugin/egress"
	"waymark/plugin/file"
	"waymark/plugin/jsonl"
	"waymark/plugin/lookup"
	"waymark/plugin/parquet"
	"waymark/plugin/postgres"
	"waymark/plugin/webhook"
)

// Formats makes the sources, sinks and tables of one document. It is a plan.Plugins, and safe for concurrent use.
type Formats struct {
	Files    file.Access
	Postgres postgres.Access
	// Delivered reads the payloads in which deliveries are; nil rejects documents that read some.
	Delivered webhook.Read
	// Tables are the contents of the files of lookups that are not to be read again.
	Tables lookup.Kept
	// Cargo returns what a source or sink carries of secrets: its path in the document says which it is. The error says
	// why they may not go where it leads, and begins with the option. nil is for documents without secrets.
	Cargo func(at string) (egress.Cargo, error)
	// Remote returns Files.Remote for sources that carry secrets.
	Remote func(egress.Cargo) file.Remote
}

// loaded returns the Formats of a source or sink, with what it carries.
func (f Formats) loaded(at string) (Formats, error) {
	if f.Cargo == nil {
		return f, nil
	}
	cargo, err := f.Cargo(at)
	if err != nil {
		return f, fmt.Errorf("%s: %w", at, err)
	}
	if len(cargo.Secrets) > 0 {
		f.Postgres.Cargo, f.Files.Remote = cargo, f.Remote(cargo)
	}
	return f, nil
}

// Source makes the source that the one format field of spec describes.
func (f Formats) Source(name string, spec pipeline.Source) (plugin.Source, error) {
	f, err := f.loaded(pipeline.Key("sources", name))
	switch {
	case err != nil:
		return nil, err
	case spec.CSV != nil && spec.JSONL != nil:
		return nil, fmt.Errorf("sources.%s: has both csv and jsonl; make two sources of it", name)
	case spec.CSV != nil:
		return csv.NewSource(name, spec, f.Files)
	case spec.JSONL != nil, spec.JSON != nil:
		return jsonl.NewSource(name, spec, f.Files)
	case spec.Parquet != nil:
		return parquet.NewSource(name, spec, f.Files)
	case spec.Postgres != nil:
		return postgres.NewSource(name, *spec.Postgres, spec.Schema, f.Postgres, f.Delivered)
	case spec.Webhook != nil:
		return webhook.NewSource(name, *spec.Webhook, spec.Schema, f.Delivered)
	}
	return nil, fmt.Errorf("sources.%s: %w", name, errNoFormat)
}

// Sink makes the sink that the one format field of spec describes.
func (f Formats) Sink(name string, spec pipeline.Sink) (plugin.Sink, error) {
	f, err := f.loaded(pipeline.Key("sinks", name))
	switch {
	case err != nil:
		return nil, err
	case spec.CSV != nil:
		return csv.NewSink(name, spec, f.Files)
	case spec.JSONL != nil:
		return jsonl.NewSink(name, spec, f.Files)
	case spec.Parquet != nil:
		return parquet.NewSink(name, spec, f.Files)
	case spec.Postgres != nil:
		return postgres.NewSink(name, *spec.Postgres, f.Postgres)
	}
	return nil, fmt.Errorf("sinks.%s: %w", name, errNoFormat)
}

var errNoFormat = errors.New("has no format; give it csv or jsonl")

// Table reads the table of a lookup.
func (f Formats) Table(name string, spec pipeline.Lookup) (*plugin.Table, error) {
	return lookup.Table(name, spec, f.Files.Root, f.Tables)
}
