package builtin

import (
	"waymark/pipeline"
	"waymark/plugin"
)

// PartsSink returns a sink that writes parts and a manifest, for formats that other packages encode. name is the name of the
// sink's entry, extension that of the parts, such as .parquet; encoder is the sink's Encoder. The output's name is as Beside says.
// The error is about the target's path; nothing is looked at or changed.
func (p Plugins) PartsSink(name string, target pipeline.FileTarget, extension string, encoder func(fields []string, open bool) (plugin.Encoder, error)) (plugin.Sink, error) {
	target.Parts = true
	if p.Beside != "" {
		target.Path = besidePath(target.Path, p.Beside)
	}
	at, err := p.Place(name, extension, target)
	if err != nil {
		return nil, err
	}
	return &fileSink{at, encoder}, nil
}
