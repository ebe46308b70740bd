package builtin

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/pipeline/row"
	"waymark/plugin"
)

// csvLayout says where the columns of a file go in a row: first the declared fields, then the other columns in the file's
// order. A declared field that the file lacks is null.
type csvLayout struct {
	shape   *row.Shape
	columns []column
}

type column struct {
	field  *field
	target int // position of the value in the row
}

// headerNames returns the names in a header record as the file has them.
func (s *csvSource) headerNames(header string) ([]string, *plugin.SourceError) {
	switch {
	case !utf8.ValidString(header):
		return nil, &plugin.SourceError{Code: codeEncoding, Message: "the header is not valid UTF-8; set encoding to what the file is in"}
	case strings.Contains(header, threeNULs):
		return nil, notUTF32()
	case strings.IndexByte(header, 0) >= 0:
		return nil, &plugin.SourceError{Code: codeEncoding, Message: "the header holds NUL bytes; if the file is UTF-16, set encoding: utf-16le or utf-16be"}
	}
	var names []string
	for at := 0; ; {
		c, defect := s.format.cell(header, at)
		if defect != "" {
			return nil, &plugin.SourceError{Code: codeHeaderUnreadable, Message: defect}
		}
		name := s.format.value(header, c)
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
	if len(names) > maxColumns {
		return nil, &plugin.SourceError{Code: codeTooManyColumns, Message: fmt.Sprintf("the header has %d columns, more than %d", len(names), maxColumns)}
	}
	return names, nil
}

// layout returns the layout of files with this header record. A file of blank lines has none, and no records either.
func (s *csvSource) layout(header string) (*csvLayout, *plugin.SourceError) {
	switch {
	case !s.format.header:
		return s.arrange(s.columns, s.columns)
	case header == "":
		return &csvLayout{shape: row.NewShape(s.schema.names(nil))}, nil
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
	if fault := refuseUnclear(names, columns); fault != nil {
		return nil, fault
	}
	return s.arrange(names, columns)
}

// columnName returns the name by which the document knows a column, or a field's from.
func (s *csvSource) columnName(name string) string {
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

// refuseUnclear fails if a column has no name, or two have the same. names are those in the file.
func refuseUnclear(names, columns []string) *plugin.SourceError {
	first := make(map[string]int, len(columns))
	for i, name := range columns {
		if name == "" {
			return &plugin.SourceError{
				Code:    codeHeaderEmpty,
				Message: fmt.Sprintf("column %d (%s) has no name; name it, or set header: none and columns", i+1, excerpt(names[i])),
			}
		}
		if other, twice := first[name]; twice {
			return &plugin.SourceError{
				Code:    codeHeaderCollision,
				Message: fmt.Sprintf("columns %d (%s) and %d (%s) are both named %s", other+1, excerpt(names[other]), i+1, excerpt(names[i]), excerpt(name)),
			}
		}
		first[name] = i
	}
	return nil
}

// arrange matches the columns with the schema.
func (s *csvSource) arrange(names, columns []string) (*csvLayout, *plugin.SourceError) {
	wanted := make(map[string]int, len(s.schema.fields))
	var missing []string
	for i, f := range s.schema.fields {
		name := s.columnName(f.from)
		wanted[name] = i
		if !f.optional && !slices.Contains(columns, name) {
			missing = append(missing, name)
		}
	}
	l := &csvLayout{columns: make([]column, len(columns))}
	var others, unexpected []string
	for i, name := range columns {
		if target, ok := wanted[name]; ok {
			l.columns[i] = column{&s.schema.fields[target], target}
			continue
		}
		l.columns[i] = column{&field{name: name, kind: row.String, optional: true}, len(s.schema.fields) + len(others)}
		others, unexpected = append(others, name), append(unexpected, names[i])
	}
	if len(missing) > 0 || len(unexpected) > 0 && !s.schema.open {
		return nil, s.mismatch(names, missing, unexpected)
	}
	for i, name := range others {
		if f := s.schema.named(name); f != nil {
			return nil, &plugin.SourceError{
				Code:    codeHeaderCollision,
				Message: fmt.Sprintf("column %s has the name of the field that is read from %s", excerpt(unexpected[i]), excerpt(f.from)),
			}
		}
	}
	l.shape = row.NewShape(s.schema.names(others))
	return l, nil
}

// mismatch says which columns are missing and which are not expected, and guesses why.
func (s *csvSource) mismatch(names, missing, unexpected []string) *plugin.SourceError {
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, "missing: "+listed(missing))
	}
	if len(unexpected) > 0 && !s.schema.open {
		parts = append(parts, "unexpected: "+listed(unexpected))
	}
	if len(names) == 1 {
		if guess := otherDelimiter(names[0], s.format.delimiter); guess != "" {
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

// listed returns the names for a message, at most 20. Characters that may pass for others are spelled out.
func listed(names []string) string {
	const most = 20
	var parts []string
	for _, name := range names[:min(len(names), most)] {
		parts = append(parts, excerpt(name)+codePoints(name))
	}
	if len(names) > most {
		parts = append(parts, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(parts, ", ")
}

// codePoints returns the characters of name that are not ASCII as (U+0430), at most eight, or "".
func codePoints(name string) string {
	var points []string
	for _, r := range name {
		if r >= utf8.RuneSelf && len(points) < 8 {
			points = append(points, fmt.Sprintf("%U", r))
		}
	}
	if len(points) == 0 {
		return ""
	}
	return " (" + strings.Join(points, " ") + ")"
}
