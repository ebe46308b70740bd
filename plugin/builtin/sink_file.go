package builtin

import (
	"io/fs"

	"waymark/pipeline"
	"waymark/plugin"
)

// fileSink is what the sinks that write files have in common: rows are encoded by the format, and bytes go to one file or
// to a folder of parts.
type fileSink struct {
	name      string
	place     place
	parts     bool
	extension string // of part files
	encoder   func(fields []string, open bool) (plugin.Encoder, error)
}

func (s *fileSink) Determinism() pipeline.Determinism { return pipeline.WritesIO }

func (s *fileSink) Guarantee() plugin.Guarantee { return plugin.Idempotent }

func (s *fileSink) Encoder(fields []string, open bool) (plugin.Encoder, error) {
	return s.encoder(fields, open)
}

func (s *fileSink) Target(run string) plugin.Target {
	t := &fileTarget{place: s.place, staging: s.place.hidden(run, "partial"), layout: oneFile{s.place}}
	if s.parts {
		t.kind = fs.ModeDir
		t.layout = partsFolder{place: s.place, sink: s.name, extension: s.extension,
			old: s.place.hidden(run, "old"), trash: s.place.hidden(run, "trash")}
	}
	return t
}

func (s *fileSink) Location() string { return s.place.String() }
