package jsonl

import (
	"waymark/pipeline"
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
