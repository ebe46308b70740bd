package builtin

import (
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// newJSONLSink returns a sink that writes one JSON object per line.
func newJSONLSink(name string, spec pipeline.JSONLSink, p Plugins) (*fileSink, error) {
	at, err := p.Place(name, ".jsonl", spec.FileTarget)
	if err != nil {
		return nil, err
	}
	encoder := func([]string, bool) (plugin.Encoder, error) { return jsonlEncoder{}, nil }
	return &fileSink{at, encoder}, nil
}

// jsonlEncoder writes every field that a row has, in the row's order. Any row can be written.
type jsonlEncoder struct{}

func (jsonlEncoder) Header() []byte { return nil }

func (jsonlEncoder) Append(dst []byte, r row.Row) ([]byte, error) {
	return append(row.AppendJSON(dst, r), '\n'), nil
}
