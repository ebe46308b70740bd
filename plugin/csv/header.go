package csv

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// layout says where the columns of a file go in a row: first the declared fields, then the other columns in the file's
// order. A declared field that the file lacks is null.
type layout struct {
	shape   *row.Shape
	columns []column
}

type column struct {
	field  *file.Field
	target int // position of the value in the row
}

// headerNames returns the names in a header record as the file has them.
func (s *Source) headerNames(header string) ([]string, *plugin.SourceError) {
	switch {
	case !utf8.ValidString(header):
		return nil, &plugin.SourceError{Code: file.CodeEncoding, Message: "the header is not valid UTF-8; set encoding to what the file is in"}
	case strings.Contains(header, file.ThreeNULs):
		return nil, file.NotUTF32()
	case strings.IndexByte(header, 0) >= 0:
		return nil, &plugin.SourceError{Code: file.CodeEncoding, Message: "the header holds NUL bytes; if the file is UTF-16, set encoding: utf-16le or utf-16be"}
	}
	var names []string
	for at := 0; ; {
		c, defect := s.dialect.cell(header, at)
		if defect != "" {
			return nil, &plugin.SourceError{Code: file.CodeHeaderUnreadable, Message: defect}
		}
		name := s.dialect.value(header, c)
		if s.options.TrimSpace && !c.quoted {
			name = strings.Trim(name, " ")
		}
		names = append(names, name)
		if c.next == len(header) {
			break
		}
		at = c.next + 1
	}
	if s.options.TrailingDelimiter && len(names) > 1 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	if len(names) > file.MaxColumns {
		return nil, &plugin.SourceError{Code: codeTooManyColumns, Message: fmt.Sprintf("the header has %d columns, more than %d", len(names), file.MaxColumns)}
	}
	return names, nil
}

// layout returns the layout of files with this header record. A file of blank lines has none, and no records either.
func (s *Source) layout(header string) (*layout, *plugin.SourceError) {
	switch {
	case s.Format.CheckHeader == nil:
		return s.arrange(s.columns, s.columns)
	case header == "":
		return &layout{shape: row.NewShape(s.Schema.Names(nil))}, nil
	}
	names, fault := s.headerNames(header)
	if fault != nil {
		return nil, fault
	}
	if len(header) == len("sep=;") && strings.HasPrefix(header, "sep=") {
		return nil, &plugin.SourceError{
			Code:    codeHeaderMismatch,
			Message: fmt.Sprintf("the first line is a hint for Excel and no header; set skip_lines: 1 and delimiter: %q", header[4:]),
		}
	}
	columns := make([]string, len(names))
	for i, name := range names {
		columns[i] = s.columnName(name)
	}
	if fault := checkUnclear(names, columns); fault != nil {
		return nil, fault
	}
	return s.arrange(names, columns)
}

// columnName returns the name by which the document knows a column, or a field's from.
func (s *Source) columnName(name string) string {
	if s.options.Header == "exact" || s.options.Header == "none" {
		return name
	}
	return normalized(name)
}

// normalized returns name in lower case with one _ for each run of characters that are no letters, marks or digits, and
// none at the ends.
func normalized(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

// checkUnclear fails if a column has no name, or two have the same. names are those in the file.
func checkUnclear(names, columns []string) *plugin.SourceError {
	first := make(map[string]int, len(columns))
	for i, name := range columns {
		if name == "" {
			return &plugin.SourceError{
				Code:    codeHeaderEmpty,
				Message: fmt.Sprintf("column %d (%s) has no name; name it, or set header: none and columns", i+1, file.Excerpt(names[i])),
			}
		}
		if other, twice := first[name]; twice {
			return &plugin.SourceError{
				Code:    codeHeaderCollision,
				Message: fmt.Sprintf("columns %d (%s) and %d (%s) are both named %s", other+1, file.Excerpt(names[other]), i+1, file.Excerpt(names[i]), file.Excerpt(name)),
			}
		}
		first[name] = i
	}
	return nil
}

// arrange matches the columns with the schema.
func (s *Source) arrange(names, columns []string) (*layout, *plugin.SourceError) {
	wanted := make(map[string]int, len(s.Schema.Fields))
	var missing []string
	for i, f := range s.Schema.Fields {
		name := s.columnName(f.From)
		wanted[name] = i
		if !f.Optional && !slices.Contains(columns, name) {
			missing = append(missing, name)
		}
	}
	l := &layout{columns: make([]column, len(columns))}
	var others, unexpected []string
	for i, name := range columns {
		if target, ok := wanted[name]; ok {
			l.columns[i] = column{&s.Schema.Fields[target], target}
			continue
		}
		l.columns[i] = column{&file.Field{Name: name, Kind: row.String, Optional: true}, len(s.Schema.Fields) + len(others)}
		others, unexpected = append(others, name), append(unexpected, names[i])
	}
	if len(missing) > 0 || len(unexpected) > 0 && !s.Schema.Open {
		return nil, s.mismatch(names, missing, unexpected)
	}
	for i, name := range others {
		if f := s.Schema.Named(name); f != nil {
			return nil, &plugin.SourceError{
				Code:    codeHeaderCollision,
				Message: fmt.Sprintf("column %s has the name of the field that is read from %s", file.Excerpt(unexpected[i]), file.Excerpt(f.From)),
			}
		}
	}
	l.shape = row.NewShape(s.Schema.Names(others))
	return l, nil
}

// mismatch says which columns are missing and which are not expected, and guesses why.
func (s *Source) mismatch(names, missing, unexpected []string) *plugin.SourceError {
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, "missing: "+file.Listed(missing))
	}
	if len(unexpected) > 0 && !s.Schema.Open {
		parts = append(parts, "unexpected: "+file.Listed(unexpected))
	}
	if len(names) == 1 {
		if guess := otherDelimiter(names[0], s.dialect.delimiter); guess != "" {
			parts = append(parts, "the header has one column; is the delimiter "+guess+"?")
		}
	} else if len(unexpected) > 0 {
		parts = append(parts, "declare them, or set schema.mode: flexible")
	}
	return &plugin.SourceError{Code: codeHeaderMismatch, Message: "the header does not have the declared columns; " + strings.Join(parts, "; ")}
}

// otherDelimiter returns the delimiter that name, a whole header, seems to be divided by.
func otherDelimiter(name string, delimiter byte) string {
	best, most := "", 0
	for _, candidate := range []struct{ char, word string }{{",", `","`}, {";", `";"`}, {"\t", "tab"}, {"|", `"|"`}} {
		if n := strings.Count(name, candidate.char); n > most && candidate.char[0] != delimiter {
			best, most = candidate.word, n
		}
	}
	return best
}
