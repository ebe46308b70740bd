package jsonl

import (
	"fmt"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// Records are records of one JSON object each, which are parsed as the lines of a JSON Lines source are. Sources of other
// packages make such records of what they read, so that their rows are like those of a file. It is safe for concurrent use.
type Records struct {
	schema file.Schema
	index  map[string]int // key → position of the declared field that it is read into
}

// NewRecords prepares a document's schema. The error names the field at fault.
func NewRecords(spec pipeline.Schema) (*Records, error) {
	prepared, err := file.NewSchema(spec)
	if err != nil {
		return nil, err
	}
	return newRecords(prepared), nil
}

func newRecords(s file.Schema) *Records {
	r := &Records{schema: s, index: make(map[string]int, len(s.Fields))}
	for i, f := range s.Fields {
		r.index[f.From] = i
	}
	return r
}

// Fields returns the declared fields, and whether records may hold others: what plugin.Source.Fields wants.
func (r *Records) Fields() (declared []pipeline.Named[pipeline.Field], open bool) {
	return r.schema.Declared()
}

// Parser returns a parser, whose rejections have the codes of a JSON Lines source.
func (r *Records) Parser() plugin.Parser { return newParser(r) }

// A Column is a column of a source that knows the kinds of its values.
type Column struct {
	Name string
	Kind row.Kind // Null if a record in JSON shows it
}

// Context returns what TypedParser has to know of records with these columns: as one JSON object, the kinds of those that are
// not declared. It is nil if there are none.
func (r *Records) Context(columns []Column) (context []byte) {
	for _, c := range columns {
		if _, declared := r.index[c.Name]; declared || !r.schema.Open || c.Kind == row.Null {
			continue
		}
		context = append(row.AppendJSONValue(append(context, ','), row.StringValue(c.Name)), ':')
		context = row.AppendJSONValue(context, row.StringValue(c.Kind.String()))
	}
	if context != nil {
		context = append(context, '}')
		context[0] = '{'
	}
	return context
}

// TypedParser returns a parser of records of chunks with this Context, whose fields have the kinds of their columns.
func (r *Records) TypedParser(context []byte) (plugin.Parser, error) {
	p := newParser(r)
	if len(context) == 0 {
		return p, nil
	}
	p.kinds = map[string]row.Kind{}
	err := row.ScanObject(string(context), func(name string, raw row.RawValue) error {
		word, err := raw.As(row.String)
		kind, known := row.ParseKind(word.Text())
		if err == nil && !known {
			err = fmt.Errorf("there is no kind %q", word.Text())
		}
		p.kinds[name] = kind
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the kinds of a chunk's columns: %w", err)
	}
	return p, nil
}
