package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Sink writes rows into a table. It is safe for concurrent use.
type Sink struct {
	name     string
	spec     pipeline.PostgresSink
	table    pipeline.TableName
	database *database
	patience string // how long a part waits for another attempt at it, as Postgres writes times
	moment   func(string)
}

// NewSink makes the sink that a document's entry with this name describes. The error names the option at fault; no connection is made.
// access is what the document's DSN may use.
func NewSink(name string, spec pipeline.PostgresSink, access Access) (plugin.Sink, error) {
	s, err := newSink(name, spec, access)
	if err != nil {
		return nil, fmt.Errorf("sinks.%s: postgres.%w", name, err)
	}
	return s, nil
}

func newSink(name string, spec pipeline.PostgresSink, access Access) (*Sink, error) {
	d, err := newDatabase(spec.DSN, access)
	if err != nil {
		return nil, err
	}
	s := &Sink{name: name, spec: spec, table: pipeline.ParseTableName(spec.Table), database: d, patience: "10s", moment: func(string) {}}
	if slices.Contains([]string{outputsTable, partsTable, erasedTable}, s.table.Table) {
		return nil, fmt.Errorf("table: %s is where Waymark keeps its record: give another table", s.table)
	}
	return s, nil
}

// Determinism says that the sink writes into a database.
func (s *Sink) Determinism() pipeline.Determinism { return pipeline.WritesIO }

// Guarantee says that rows and their receipt are written in one transaction.
func (s *Sink) Guarantee() plugin.Guarantee { return plugin.Transactional }

// InOrder says that which of the rows with one key stays depends on the order of the parts.
func (s *Sink) InOrder() bool { return s.spec.Upserts() }

// Location returns the table as a URL without secrets.
func (s *Sink) Location() string { return s.database.place + "/" + s.table.String() }

// Exclusive is the table if rows take the place of others: which one stays would depend on which run came later. Rows that are inserted
// take the place of none.
func (s *Sink) Exclusive() string {
	if s.spec.Upserts() {
		return s.Location()
	}
	return ""
}

// Target returns the table as the run's sink writes to it.
func (s *Sink) Target(run string) plugin.Target { return &target{Sink: s, run: run} }

// header describes what the sink writes, and is what stands before the first row.
type header struct {
	Mode    string         `json:"mode"`
	Columns []headerColumn `json:"columns"`
	Key     []string       `json:"key,omitempty"`

	published bool // of the output that it begins, when it was last looked at
}

type headerColumn struct {
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"`     // the kind of the values, if it is known
	NotNull bool   `json:"not_null,omitempty"` // no row has null there
}

func (h *header) names() []string {
	names := make([]string, len(h.Columns))
	for i, c := range h.Columns {
		names[i] = c.Name
	}
	return names
}

// Encoder is TypedEncoder for fields of unknown types.
func (s *Sink) Encoder(fields []string, open bool) (plugin.Encoder, error) {
	typed := make([]plugin.Field, len(fields))
	for i, field := range fields {
		typed[i] = plugin.Field{Name: field, Optional: true}
	}
	return s.TypedEncoder(typed, open)
}

// TypedEncoder returns an encoder of COPY's text format.
func (s *Sink) TypedEncoder(fields []plugin.Field, open bool) (plugin.Encoder, error) {
	columns := fields
	if s.spec.Columns != nil {
		columns = nil
		for _, name := range s.spec.Columns {
			i := slices.IndexFunc(fields, func(f plugin.Field) bool { return f.Name == name })
			switch {
			case i >= 0:
				columns = append(columns, fields[i])
			case open:
				columns = append(columns, plugin.Field{Name: name, Optional: true})
			default:
				return nil, s.problem("columns: rows have no field %s; they have %s", excerpt(name), fieldNames(fields))
			}
		}
	} else if open {
		return nil, s.problem("rows may carry fields that are not declared, and a table has fixed columns: list them in columns, or select them in a step")
	}
	if len(columns) == 0 {
		return nil, s.problem("rows have no fields to write")
	}
	h, err := s.header(columns)
	if err != nil {
		return nil, err
	}
	return newEncoder(h, s.spec.Columns == nil)
}

func (s *Sink) header(columns []plugin.Field) (*header, error) {
	h := &header{Mode: pipeline.InsertMode, Key: s.spec.Key}
	if s.spec.Upserts() {
		h.Mode = pipeline.UpsertMode
	}
	for _, c := range columns {
		switch {
		case len(c.Name) > maxNameBytes:
			return nil, s.problem("the field %s has a name of %d bytes, and a column's has at most %d: rename it in a step", excerpt(c.Name), len(c.Name), maxNameBytes)
		case c.Name == "" || strings.Contains(c.Name, "\x00"):
			return nil, s.problem("the field %s cannot name a column: rename it in a step", excerpt(c.Name))
		case s.spec.Create && c.Kind == row.Null:
			return nil, s.problem("create: nobody knows the type of %s: declare the field in the source's schema, or make the table yourself", excerpt(c.Name))
		}
		column := headerColumn{Name: c.Name, NotNull: !c.Optional}
		if c.Kind != row.Null {
			column.Type = c.Kind.String()
		}
		h.Columns = append(h.Columns, column)
	}
	for _, key := range h.Key {
		if !slices.Contains(h.names(), key) {
			return nil, s.problem("key: rows have no field %s; they have %s", excerpt(key), fieldNames(columns))
		}
	}
	return h, nil
}

// maxNameBytes is how long a name may be in Postgres.
const maxNameBytes = 63

func (s *Sink) problem(format string, args ...any) error {
	return fmt.Errorf("sinks.%s: postgres: %w", s.name, fmt.Errorf(format, args...))
}

func fieldNames(fields []plugin.Field) string {
	columns := make([]column, len(fields))
	for i, f := range fields {
		columns[i].name = f.Name
	}
	return named(columns)
}

// encode returns the header as one line of JSON.
func (h *header) encode() ([]byte, error) {
	text, err := json.Marshal(h)
	return append(text, '\n'), err
}

func parseHeader(text []byte) (*header, error) {
	h := new(header)
	if err := json.Unmarshal(text, h); err != nil || len(h.Columns) == 0 {
		return nil, errors.New("the header is none of a table's")
	}
	return h, nil
}
