package builtin

import (
	"bytes"
	"fmt"
	"unsafe"

	"waymark/plugin"
)

// splitter divides text into records. It copies nothing.
type splitter struct {
	dialect
	emptyRecords bool // an empty line is a record: the file has one column
	line         int  // physical lines of the chunk before what split sees next
}

// found is what stands at the beginning of a text.
type found struct {
	record int // bytes of the record, without its line end
	size   int // bytes with the line end
	lines  int // physical lines
	defect *plugin.Rejection
}

// split finds the records at the beginning of text, which goes after c.Data, and adds them to c, but for c.Data. It stops
// at the limits, at a line that is too long or at a record that text does not hold to its end; final says that nothing
// comes after text. It returns how many bytes it used, and whether a line that is too long comes next.
func (s *splitter) split(text []byte, final bool, limits plugin.Limits, c *plugin.Chunk) (used int, long bool) {
	quote := -1 // where the next quote is
	for len(c.Offsets) < limits.Rows && len(c.Data)+used < limits.Bytes && used < len(text) {
		rest := text[used:]
		f, ok, long := s.physicalLine(rest, final)
		if !ok {
			return used, long
		}
		switch {
		case s.isComment(rest):
			c.Comments++
		case f.record == 0 && !s.emptyRecords:
			c.Blank++
		default:
			if quote < used {
				quote = used + s.indexQuote(rest)
			}
			if quote < used+f.record {
				if f, ok = s.quotedRecord(rest, f, final); !ok {
					return used, false
				}
			}
			s.add(c, len(c.Data)+used, f)
		}
		used += f.size
		s.line += f.lines
	}
	return used, false
}

// physicalLine returns the line at the beginning of text. ok is false if text does not hold all of it, and long is true
// if that is because no record may be so long.
func (s *splitter) physicalLine(text []byte, final bool) (f found, ok, long bool) {
	end := bytes.IndexByte(text, s.newline)
	switch {
	case end >= 0:
		f = found{record: len(trimCR(text[:end], s.newline)), size: end + 1, lines: 1}
	case final:
		f = found{record: len(text), size: len(text), lines: 1}
	default:
		return found{}, false, len(text) >= s.maxRecord+2
	}
	long = f.record > s.maxRecord
	return f, !long, long
}

func (s *splitter) isComment(text []byte) bool { return s.comment != 0 && text[0] == s.comment }

// indexQuote returns where the first quote in text is, and len(text) if there is none.
func (s *splitter) indexQuote(text []byte) int {
	if s.quote == 0 {
		return len(text)
	}
	if i := bytes.IndexByte(text, s.quote); i >= 0 {
		return i
	}
	return len(text)
}

// quotedRecord returns the record at the beginning of text, whose first line has a quote in it. A record with a defect is
// just that line. ok is false if text ends too early to tell. What it finds depends on no more than maxRecord+2 bytes, so
// that it is the same wherever text ends.
func (s *splitter) quotedRecord(text []byte, line found, final bool) (f found, ok bool) {
	text = text[:min(len(text), s.maxRecord+2)]
	final = final || len(text) == s.maxRecord+2
	view := unsafe.String(unsafe.SliceData(text), len(text))
	for at := 0; ; {
		c, code := s.cell(view, at)
		switch {
		case !final && c.next >= len(text)-1:
			return found{}, false
		case code != "":
			line.defect = &plugin.Rejection{Code: code, Message: s.defectMessage(code, c)}
			return line, true
		case c.next < len(text) && text[c.next] == s.delimiter:
			at = c.next + 1
		case c.next > s.maxRecord:
			line.defect = &plugin.Rejection{Code: codeRowTooLarge, Message: fmt.Sprintf("the record is longer than %d bytes", s.maxRecord)}
			return line, true
		default:
			return s.complete(text, c.next), true
		}
	}
}

// complete returns the record text[:end].
func (s *splitter) complete(text []byte, end int) found {
	f := found{record: end, size: end, lines: 1 + bytes.Count(text[:end], []byte{s.newline})}
	if f.size < len(text) && text[f.size] == '\r' && s.newline == '\n' {
		f.size++
	}
	if f.size < len(text) {
		f.size++
	}
	return f
}

func (s *splitter) defectMessage(code string, c cell) string {
	switch code {
	case codeBareQuote:
		return fmt.Sprintf("a quote inside an unquoted cell, at byte %d of the record; quote the whole cell and double the quotes in it", c.fault)
	case codeTextAfterQuote:
		return fmt.Sprintf("text after the closing quote of a cell, at byte %d of the record; double the quotes inside a cell", c.fault)
	}
	return fmt.Sprintf("the quote at byte %d of the record is not closed before the end of the file or the limit of %d bytes", c.start-1, s.maxRecord)
}

// add adds a record that begins at offset of c.Data.
func (s *splitter) add(c *plugin.Chunk, offset int, f found) {
	i := len(c.Offsets)
	if c.Lines == nil && s.line != i {
		c.Lines = make([]uint32, i, i+i/8+64)
		for j := range c.Lines {
			c.Lines[j] = uint32(j)
		}
	}
	if c.Lines != nil {
		c.Lines = append(c.Lines, uint32(s.line))
	}
	c.Offsets = append(c.Offsets, uint32(offset))
	c.Lengths = append(c.Lengths, uint32(f.record))
	if f.defect != nil {
		c.Bad = append(c.Bad, plugin.BadRecord{Index: i, Rejection: *f.defect})
	}
}
