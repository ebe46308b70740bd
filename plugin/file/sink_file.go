package file

import (
	"errors"
	"fmt"
	"io/fs"

	"waymark/pipeline"
	"waymark/plugin"
)

// A Place is where the output of a sink goes. It is safe for concurrent use.
type Place interface {
	// Target returns the place that the sink of this run writes to.
	Target(run string) plugin.Target
	// Location names the place for people: a path or a URI without secrets.
	Location() string
	// OnHost reports whether only workers that see the same files can reach the place.
	OnHost() bool
}

// fileSink is what the sinks that write files have in common: rows are encoded by the format, and bytes go to one file or to
// parts of their own.
type fileSink struct {
	Place
	encoder func(fields []string, open bool) (plugin.Encoder, error)
}

func (s *fileSink) Determinism() pipeline.Determinism { return pipeline.WritesIO }

func (s *fileSink) Guarantee() plugin.Guarantee { return plugin.Idempotent }

func (s *fileSink) Encoder(fields []string, open bool) (plugin.Encoder, error) {
	return s.encoder(fields, open)
}

// NewSink returns a sink whose output goes to the place. encoder is the sink's Encoder.
func NewSink(place Place, encoder func(fields []string, open bool) (plugin.Encoder, error)) plugin.Sink {
	return &fileSink{place, encoder}
}

// Place returns where the output of the sink with this name goes, under the name that Beside says. extension is that of part files, such
// as .csv. The error is about the target; nothing is looked at or changed.
func (a Access) Place(sink, extension string, target pipeline.FileTarget) (Place, error) {
	if a.Beside != "" {
		target.Path = besidePath(target.Path, a.Beside)
	}
	switch scheme := pipeline.Scheme(target.Path); {
	case target.Path == pipeline.Stdio:
		return a.Stdio.output(sink, extension)
	case scheme != "" && a.Remote == nil:
		return nil, fmt.Errorf("path: %q: only files on this host can be written here", target.Path)
	case scheme != "":
		return a.Remote.Place(sink, extension, target)
	}
	at, err := newPlace(a.Root, target)
	if err != nil {
		return nil, err
	}
	return filePlace{place: at, sink: sink, parts: target.Parts, extension: extension}, nil
}

// filePlace is a file on disk, or a folder of parts.
type filePlace struct {
	place
	sink      string
	parts     bool
	extension string // of part files
}

func (p filePlace) Target(run string) plugin.Target {
	t := &fileTarget{place: p.place, staging: p.hidden(run, staged), layout: oneFile{p.place}}
	if p.parts {
		t.kind = fs.ModeDir
		t.layout = partsFolder{place: p.place, sink: p.sink, extension: p.extension,
			old: p.hidden(run, "old"), trash: p.hidden(run, "trash")}
	}
	return t
}

func (p filePlace) Location() string { return p.String() }

func (filePlace) OnHost() bool { return true }

// AtPath puts the option before an error that is a path's, a *DeniedError: path, of the format with this key. It returns any
// other error as it is.
func AtPath(format string, err error) error {
	if refused := (*DeniedError)(nil); errors.As(err, &refused) {
		return fmt.Errorf("%s.path: %w", format, err)
	}
	return err
}
