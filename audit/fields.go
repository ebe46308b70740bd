package audit

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin"
)

// Piece is where in a record a field is.
type Piece = plugin.Piece

// fields says where in the record its fields are, if the plan is to be had.
func (i *explaining) fields(record []byte) error {
	if i.compiled == nil {
		return nil
	}
	source := &i.explanation.Source
	node := i.compiled.Nodes[i.in.Origin]
	if node.Kind != plan.Source { // the record is a row in canonical form
		source.Made, source.Fields = true, plugin.ObjectPieces(string(record), func(key string) string { return key })
		return nil
	}
	source.Made = madeRecords(i.compiled.Document, node.Name)
	parser, err := node.Source.Parser(i.in.Chunk.Context)
	if _, senseless := errors.AsType[*plugin.SourceError](err); senseless { // a header that somebody changed: verify says so
		return nil
	}
	if divided, ok := parser.(plugin.Divided); ok {
		source.Fields = divided.Pieces(string(record))
	}
	return err
}

// madeRecords reports whether the records of a source are made of what it reads, and not pieces of a file.
func madeRecords(document *pipeline.Document, source string) bool {
	read, _ := document.Pipeline.Sources.Get(source)
	return read.Postgres != nil || read.Parquet != nil
}

// WriteFields writes where in the record its fields are, for people, with the bytes of each as they were read. Control characters are escaped.
func (s *Explanation) WriteFields(w io.Writer) error {
	var b strings.Builder
	b.WriteString("\nfields of the record\n")
	switch {
	case s.Source.State != Stored:
		fmt.Fprintf(&b, "  its payload is %s\n", s.Source.State)
	case len(s.Source.Fields) == 0:
		b.WriteString("  it cannot be taken apart\n")
	default:
		b.WriteString("  offset   bytes  field, as written\n")
	}
	record := s.Source.Record()
	for _, piece := range s.Source.Fields {
		fmt.Fprintf(&b, "  %6d  %6d  %s  %s\n", piece.Offset, piece.Length, escape(piece.Field), escape(record[piece.Offset:piece.Offset+piece.Length]))
	}
	if s.Source.Made {
		b.WriteString("  These are bytes of the record that was made of a row: what was read has none for a field.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Record returns the record as read; empty if its payload is not to be had.
func (o *Origin) Record() string { return o.Raw + string(o.RawBase64) }
