package csv

import (
	"slices"
	"strings"
	"unicode/utf8"

	"waymark/internal/text"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// parser parses the records of files with one layout.
type parser struct {
	dialect
	layout      *layout
	cells       []cell // of the record at hand
	emptyIsNull bool
	trim        bool
	trailing    bool // every record ends with one extra delimiter
}

// Parse parses one record. Strings share text's memory, unless they have doubled quotes.
func (p *parser) Parse(text string, values []row.Value) (row.Row, error) {
	if rejection := p.splitCells(text); rejection != nil {
		return row.Row{}, rejection
	}
	values = slices.Grow(values[:0], p.layout.shape.Len())[:p.layout.shape.Len()]
	if len(p.cells) < len(values) {
		clear(values)
	}
	for i := range p.cells {
		column := &p.layout.columns[i]
		value, rejection := p.parseCell(text, &p.cells[i], column.field)
		if rejection != nil {
			return row.Row{}, rejection
		}
		values[column.target] = value
	}
	return row.Row{Shape: p.layout.shape, Values: values}, nil
}

// splitCells finds the cells of the record.
func (p *parser) splitCells(text string) *plugin.Rejection {
	if !utf8.ValidString(text) {
		return p.invalidUTF8(text)
	}
	if p.trailing {
		if len(text) == 0 || text[len(text)-1] != p.delimiter {
			return file.Reject(file.CodeFieldCount, "", "the record does not end with the delimiter, as trailing_delimiter says")
		}
		text = text[:len(text)-1]
	}
	p.cells = p.cells[:0]
	var rejection *plugin.Rejection
	var count int
	if p.quote != 0 && strings.IndexByte(text, p.quote) >= 0 {
		count, rejection = p.splitQuoted(text)
	} else {
		count, rejection = p.splitPlain(text)
	}
	if rejection == nil && count != len(p.layout.columns) {
		return p.otherCount(count)
	}
	return rejection
}

// otherCount refuses a record with this number of cells, which is not that of the header.
func (p *parser) otherCount(cells int) *plugin.Rejection {
	has := text.Count(int64(cells), "cell")
	return file.Reject(file.CodeFieldCount, "", "the record has %s, the header %d", has, len(p.layout.columns))
}

// splitPlain finds the cells of a record without quotes, and returns how many there are.
func (p *parser) splitPlain(text string) (int, *plugin.Rejection) {
	if i := strings.IndexByte(text, p.stray()); i >= 0 {
		return 0, p.strayAt(i)
	}
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] != p.delimiter {
			continue
		}
		if len(p.cells) == len(p.layout.columns) {
			return 1 + strings.Count(text, string(p.delimiter)), nil
		}
		p.cells = append(p.cells, cell{start: start, end: i})
		start = i + 1
	}
	p.cells = append(p.cells, cell{start: start, end: len(text)})
	return len(p.cells), nil
}

// splitQuoted finds the cells of a record with quotes, and returns how many there are.
func (p *parser) splitQuoted(text string) (count int, rejection *plugin.Rejection) {
	for at := 0; ; {
		c, defect := p.cell(text, at)
		count++
		if defect != "" {
			return 0, file.Reject(defect, "", "at byte %d of the record", c.fault)
		}
		if i := strings.IndexByte(text[c.start:c.end], p.stray()); i >= 0 && !c.quoted {
			return 0, p.strayAt(c.start + i)
		}
		if count <= len(p.layout.columns) {
			p.cells = append(p.cells, c)
		}
		if c.next == len(text) {
			return count, nil
		}
		if text[c.next] != p.delimiter {
			return 0, p.strayAt(c.next)
		}
		at = c.next + 1
	}
}

func (p *parser) strayAt(i int) *plugin.Rejection {
	if p.newline == '\n' {
		return file.Reject(codeBareCR, "", "a carriage return that ends no line, at byte %d of the record; quote the cell", i)
	}
	return file.Reject(codeBareLF, "", "a line feed that ends no line, at byte %d of the record; quote the cell", i)
}

func (p *parser) invalidUTF8(text string) *plugin.Rejection {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return file.Reject(file.CodeInvalidUTF8, "", `byte %d of the record, "0x%02X", is no text in the encoding of the file`, at, text[at])
}

// parseCell returns the value of one cell.
func (p *parser) parseCell(text string, c *cell, f *file.Field) (row.Value, *plugin.Rejection) {
	if c.end-c.start > file.MaxCellBytes {
		return row.Value{}, file.Reject(file.CodeCellTooLarge, f.Name, "the cell has %d bytes, more than %d", c.end-c.start, file.MaxCellBytes)
	}
	content := text[c.start:c.end]
	if c.doubled {
		content = p.value(text, *c)
	} else if p.trim && !c.quoted {
		content = strings.Trim(content, " ")
	}
	if content == "" && !c.quoted && p.emptyIsNull {
		if f.Optional {
			return row.Value{}, nil
		}
		if f.Kind != row.String {
			return row.Value{}, f.Missing("the cell is empty")
		}
	}
	if f.Kind == row.String { // the whole record is valid UTF-8
		return f.Check(row.StringValue(content))
	}
	value, err := row.Parse(f.Kind, content)
	if err != nil {
		return row.Value{}, file.RejectError(f.Name, err)
	}
	return f.Check(value)
}
