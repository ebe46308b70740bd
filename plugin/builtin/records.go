package builtin

import (
	"slices"

	"waymark/pipeline"
	"waymark/plugin"
)

// Records are records of one JSON object each, which are parsed as the lines of a JSON Lines source are. Sources of other
// packages make such records of what they read, so that their rows are like those of a file. It is safe for concurrent use.
type Records struct {
	schema schema
	index  map[string]int // key → position of the declared field that it is read into
}

// NewRecords prepares a document's schema. The error names the field at fault.
func NewRecords(spec pipeline.Schema) (*Records, error) {
	prepared, err := newSchema(spec)
	if err != nil {
		return nil, err
	}
	return newRecords(prepared), nil
}

func newRecords(s schema) *Records {
	r := &Records{schema: s, index: make(map[string]int, len(s.fields))}
	for i, f := range s.fields {
		r.index[f.from] = i
	}
	return r
}

// Fields returns the declared fields, and whether records may hold others: what plugin.Source.Fields wants.
func (r *Records) Fields() (declared []pipeline.Named[pipeline.Field], open bool) {
	return slices.Clone(r.schema.declared), r.schema.open
}

// Parser returns a parser, whose rejections have the codes of a JSON Lines source.
func (r *Records) Parser() plugin.Parser { return newJSONLParser(r) }
