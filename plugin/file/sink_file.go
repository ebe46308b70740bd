package file

import (
	"errors"
	"fmt"
	"io/fs"

	"waymark/pipeline"
	"waymark/plugin"
)

// A Destination is where the output of a sink goes. It is safe for concurrent use.
type Destination interface {
	// Target returns the place that the sink of this run writes to.
	Target(run string) plugin.Target
	// Location names the place for people: a path or a URI without secrets.
	Location() string
	// Exclusive is what plugin.Sink says.
	Exclusive() string
	// Latest returns the name that leads to the latest output; nil if there is none.
	Latest() plugin.Pointer
	// OnHost reports whether only workers that see the same files can reach the place.
	OnHost() bool
}

// fileSink is what the sinks that write files have in common: rows are encoded by the format, and bytes go to one file or to
// parts of their own.
type fileSink struct {
	Destination
	encoder func(fields []string, open bool) (plugin.Encoder, error)
}

func (s *fileSink) Determinism() pipeline.Determinism { return pipeline.WritesIO }

func (s *fileSink) Guarantee() plugin.Guarantee { return plugin.Idempotent }

func (s *fileSink) Encoder(fields []string, open bool) (plugin.Encoder, error) {
	return s.encoder(fields, open)
}

// NewSink returns a sink whose output goes to the place. encoder is the sink's Encoder.
func NewSink(place Destination, encoder func(fields []string, open bool) (plugin.Encoder, error)) plugin.Sink {
	return &fileSink{place, encoder}
}

// Destination returns where the output of the sink with this name goes, under the name that Beside says. extension is that of part files, such
// as .csv. The error is about the target; nothing is looked at or changed.
func (a Access) Destination(sink, extension string, target pipeline.FileTarget) (Destination, error) {
	if a.Beside != "" {
		target.Path, target.Latest = besidePath(target.Path, a.Beside), ""
	}
	switch scheme := pipeline.Scheme(target.Path); {
	case target.Path == pipeline.Stdio:
		return a.Stdio.output(sink, extension)
	case scheme != "" && a.Remote == nil:
		return nil, fmt.Errorf("path: %q: only files on this host can be written here", target.Path)
	case scheme != "":
		return a.Remote.Destination(sink, extension, target)
	}
	at, err := newLocation(a.Root, target)
	if err != nil {
		return nil, err
	}
	real, err := a.Root.real(target.Path)
	if err != nil {
		return nil, err
	}
	latest, err := newLink(a.Root, target.Latest)
	return fileDestination{location: at, real: real, latest: latest, sink: sink, parts: target.Parts, extension: extension}, err
}

// fileDestination is a file on disk, or a folder of parts.
type fileDestination struct {
	location
	real      string         // path without symbolic links on the way
	latest    plugin.Pointer // nil for none
	sink      string
	parts     bool
	extension string // of part files
}

func (p fileDestination) Target(run string) plugin.Target {
	t := &fileTarget{location: p.location, staging: p.hidden(run, staged), layout: oneFile{p.location}}
	if p.parts {
		t.kind = fs.ModeDir
		t.layout = partsFolder{location: p.location, sink: p.sink, extension: p.extension,
			old: p.hidden(run, "old"), trash: p.hidden(run, "trash")}
	}
	return t
}

func (p fileDestination) Location() string { return p.String() }

// Exclusive is the path without symbolic links: below the document's folder there are none, or the target cannot be opened.
func (p fileDestination) Exclusive() string { return p.real }

func (p fileDestination) Latest() plugin.Pointer { return p.latest }

func (fileDestination) OnHost() bool { return true }

// AtPath puts the option before an error that is a path's, a *DeniedError: path, of the format with this key. It returns any
// other error as it is.
func AtPath(format string, err error) error {
	if refused := (*DeniedError)(nil); errors.As(err, &refused) {
		return fmt.Errorf("%s.path: %w", format, err)
	}
	return err
}
