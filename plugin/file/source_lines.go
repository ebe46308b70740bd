package file

import (
	"bytes"
	"fmt"

	"waymark/plugin"
)

// Lines says how text is divided into records of one line each, or of more where Quoted says so. It copies nothing. All its
// characters are ASCII.
type Lines struct {
	Newline   byte // '\n', which includes "\r\n"; or '\r'
	Comment   byte // a line that begins with it is not a record; 0: there are none
	MaxRecord int  // bytes
	// Quote, if not 0, is a character with which a line may hold more, or something else, than it seems.
	Quote byte
	// Quoted returns the record at the beginning of text, whose first line, as found, has a Quote in it. ok is false if text ends too
	// early to tell; final says that nothing comes after text. What it finds is the same wherever text ends.
	Quoted func(text []byte, line Found, final bool) (f Found, ok bool)
	// EmptyRecords says that an empty line is a record, because rows have one column; with a header that decides.
	EmptyRecords bool

	line int // physical lines of the chunk before what Split sees next
}

// Found is what stands at the beginning of a text.
type Found struct {
	Record int // bytes of the record, without its line end
	Size   int // bytes with the line end
	Lines  int // physical lines
	Defect *plugin.Rejection
}

// Split finds the records at the beginning of text, which goes after c.Data, and adds them to c, but for c.Data. It stops
// at the limits, at a line that is too long or at a record that text does not hold to its end; final says that nothing
// comes after text. It returns how many bytes it used, and whether a line that is too long comes next.
func (s *Lines) Split(text []byte, final bool, limits plugin.Limits, c *plugin.Chunk) (used int, long bool) {
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
		case f.Record == 0 && !s.EmptyRecords:
			c.Blank++
		default:
			if quote < used {
				quote = used + s.indexQuote(rest)
			}
			if quote < used+f.Record {
				if f, ok = s.Quoted(rest, f, final); !ok {
					return used, false
				}
			}
			AddRecord(c, len(c.Data)+used, s.line, f)
		}
		used += f.Size
		s.line += f.Lines
	}
	return used, false
}

// Begin makes the next Split one of a new chunk.
func (s *Lines) Begin() { s.line = 0 }

// physicalLine returns the line at the beginning of text. ok is false if text does not hold all of it, and long is true
// if that is because no record may be so long.
func (s *Lines) physicalLine(text []byte, final bool) (f Found, ok, long bool) {
	end := bytes.IndexByte(text, s.Newline)
	switch {
	case end >= 0:
		f = Found{Record: len(trimCR(text[:end], s.Newline)), Size: end + 1, Lines: 1}
	case final:
		f = Found{Record: len(text), Size: len(text), Lines: 1}
	default:
		return Found{}, false, len(text) >= s.MaxRecord+2
	}
	long = f.Record > s.MaxRecord
	return f, !long, long
}

func (s *Lines) isComment(text []byte) bool { return s.Comment != 0 && text[0] == s.Comment }

// indexQuote returns where the first quote in text is, and len(text) if there is none.
func (s *Lines) indexQuote(text []byte) int {
	if s.Quote == 0 {
		return len(text)
	}
	if i := bytes.IndexByte(text, s.Quote); i >= 0 {
		return i
	}
	return len(text)
}

// AddRecord adds a record that begins at offset of c.Data, and in this physical line of the chunk, counted from 0.
func AddRecord(c *plugin.Chunk, offset, line int, f Found) {
	i := len(c.Offsets)
	if c.Lines == nil && line != i {
		c.Lines = make([]uint32, i, i+i/8+64)
		for j := range c.Lines {
			c.Lines[j] = uint32(j)
		}
	}
	if c.Lines != nil {
		c.Lines = append(c.Lines, uint32(line))
	}
	c.Offsets = append(c.Offsets, uint32(offset))
	c.Lengths = append(c.Lengths, uint32(f.Record))
	if f.Defect != nil {
		c.Bad = append(c.Bad, plugin.BadRecord{Index: i, Rejection: *f.Defect})
	}
}

// TooLarge is the rejection of a record that is longer than it may be, of which kept bytes are kept. what it is, such as line.
func TooLarge(what string, size int64, most int, sum []byte, kept int) *plugin.Rejection {
	return &plugin.Rejection{
		Code:    CodeRowTooLarge,
		Message: fmt.Sprintf("the %s has %d bytes, more than %d; its SHA-256 is \"%x\"; the first %d bytes are kept", what, size, most, sum, kept),
	}
}
