package builtin

import (
	"errors"
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/plugin"
)

// csvSource reads delimited text.
type csvSource struct {
	fileSource
	options pipeline.CSVSource
	columns []string // with header: none
	empty   bool     // an unquoted empty cell is null
}

// newCSVSource checks the options and prepares the source.
func newCSVSource(base fileSource, options pipeline.CSVSource) (*csvSource, error) {
	s := &csvSource{fileSource: base, options: options, empty: options.EmptyIsNull == nil || *options.EmptyIsNull}
	dialect, err := newDialect(options)
	if err != nil {
		return nil, err
	}
	if options.SkipLines < 0 || options.SkipLines > 1000 {
		return nil, fmt.Errorf("skip_lines: %d is not 0 to 1,000", options.SkipLines)
	}
	s.format = format{
		dialect: dialect, header: options.Header != "none", skipLines: options.SkipLines,
		checkStart: s.checkStart, checkHeader: s.checkHeader,
	}
	if err := s.setColumns(); err != nil {
		return nil, err
	}
	return s, s.refuseSameColumn()
}

func newDialect(options pipeline.CSVSource) (dialect, error) {
	d := dialect{newline: '\n', maxRecord: maxRecordBytes}
	switch options.Newline {
	case "", "auto":
	case "cr":
		d.newline = '\r'
	default:
		return d, fmt.Errorf("newline: %q is not auto or cr", options.Newline)
	}
	var err error
	if d.delimiter, err = character("delimiter", options.Delimiter, ",", "tab", '\t'); err != nil {
		return d, err
	}
	if d.quote, err = character("quote", options.Quote, `"`, "none", 0); err != nil {
		return d, err
	}
	if d.comment, err = character("comment", options.Comment, "", "", 0); err != nil {
		return d, err
	}
	if d.delimiter == d.quote || d.comment != 0 && (d.comment == d.delimiter || d.comment == d.quote) {
		return d, errors.New("delimiter, quote and comment: must differ")
	}
	if d.delimiter == ' ' && options.TrimSpace {
		return d, errors.New("trim_space: would remove the delimiter")
	}
	return d, nil
}

// character returns the one ASCII character that text names; text defaults to def, and word is a name for special.
func character(option, text, def, word string, special byte) (byte, error) {
	if text == "" {
		text = def
	}
	if text == word {
		return special, nil
	}
	if len(text) != 1 || text[0] == 0 || text[0] >= 0x7f || text[0] == '\n' || text[0] == '\r' {
		return 0, fmt.Errorf("%s: %q is not one ASCII character", option, text)
	}
	return text[0], nil
}

// setColumns settles the columns of files without header.
func (s *csvSource) setColumns() error {
	columns := s.options.Columns
	switch s.options.Header {
	case "", "normalized", "exact":
		if len(columns) > 0 {
			return errors.New("columns: only with header: none")
		}
		return nil
	case "none":
	default:
		return fmt.Errorf("header: %q is not normalized, exact or none", s.options.Header)
	}
	if len(columns) == 0 {
		for _, f := range s.schema.fields {
			columns = append(columns, f.from)
		}
	}
	if len(columns) == 0 || len(columns) > maxColumns {
		return fmt.Errorf("columns: needs 1 to %d names with header: none, has %d", maxColumns, len(columns))
	}
	s.columns = slices.Clone(columns)
	s.format.emptyRecords = len(columns) == 1
	if fault := refuseUnclear(columns, columns); fault != nil {
		return fmt.Errorf("columns: %s", fault.Message)
	}
	if _, fault := s.arrange(columns, columns); fault != nil {
		return fmt.Errorf("columns: %s", fault.Message)
	}
	return nil
}

// refuseSameColumn fails if two fields are read from columns that are the same once they are normalized.
func (s *csvSource) refuseSameColumn() error {
	fields := make(map[string]string, len(s.schema.fields))
	for _, f := range s.schema.fields {
		name := s.columnName(f.from)
		if other, twice := fields[name]; twice {
			return fmt.Errorf("header: fields %q and %q are both read from column %q, as names are normalized", other, f.name, name)
		}
		fields[name] = f.name
	}
	return nil
}

// checkStart refuses files whose lines end otherwise than declared.
func (s *csvSource) checkStart(line string) *plugin.SourceError {
	if !s.format.strayIn(line) {
		return nil
	}
	cure := "the lines end with a carriage return alone; set newline: cr"
	if s.format.stray() == '\n' {
		cure = "the lines end with line feeds; remove newline: cr"
	}
	return &plugin.SourceError{Code: codeLineEnding, Message: cure}
}

func (s *csvSource) checkHeader(header string) (int, *plugin.SourceError) {
	l, fault := s.layout(header)
	if fault != nil {
		return 0, fault
	}
	return len(l.columns), nil
}

// Parser returns a parser for files with this header record. The error is a *plugin.SourceError if the record is no
// header of this source; a Reader has refused the file then.
func (s *csvSource) Parser(context []byte) (plugin.Parser, error) {
	l, fault := s.layout(string(context))
	if fault != nil {
		fault.File = s.files.Path
		return nil, fault
	}
	return &csvParser{
		dialect: s.format.dialect, layout: l, cells: make([]cell, 0, len(l.columns)),
		emptyIsNull: s.empty, trim: s.options.TrimSpace, trailing: s.options.TrailingDelimiter,
	}, nil
}
