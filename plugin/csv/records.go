package csv

import (
	"bytes"
	"fmt"
	"unsafe"

	"waymark/plugin"
	"waymark/plugin/file"
)

// quotedRecord returns the record at the beginning of text, whose first line has a quote in it. A record with a defect is
// just that line. ok is false if text ends too early to tell. What it finds depends on no more than MaxRecord+2 bytes, so
// that it is the same wherever text ends.
func (d *dialect) quotedRecord(text []byte, line file.Found, final bool) (f file.Found, ok bool) {
	text = text[:min(len(text), d.maxRecord+2)]
	final = final || len(text) == d.maxRecord+2
	view := unsafe.String(unsafe.SliceData(text), len(text))
	for at := 0; ; {
		c, code := d.cell(view, at)
		switch {
		case !final && c.next >= len(text)-1:
			return file.Found{}, false
		case code != "":
			line.Defect = &plugin.Rejection{Code: code, Message: d.defectMessage(code, c)}
			return line, true
		case c.next < len(text) && text[c.next] == d.delimiter:
			at = c.next + 1
		case c.next > d.maxRecord:
			line.Defect = &plugin.Rejection{Code: file.CodeRowTooLarge, Message: fmt.Sprintf("the record is longer than %d bytes", d.maxRecord)}
			return line, true
		default:
			return d.complete(text, c.next), true
		}
	}
}

// complete returns the record text[:end].
func (d *dialect) complete(text []byte, end int) file.Found {
	f := file.Found{Record: end, Size: end, Lines: 1 + bytes.Count(text[:end], []byte{d.newline})}
	if f.Size < len(text) && text[f.Size] == '\r' && d.newline == '\n' {
		f.Size++
	}
	if f.Size < len(text) {
		f.Size++
	}
	return f
}

func (d *dialect) defectMessage(code string, c cell) string {
	switch code {
	case codeBareQuote:
		return fmt.Sprintf("a quote inside an unquoted cell, at byte %d of the record; quote the whole cell and double the quotes in it", c.fault)
	case codeTextAfterQuote:
		return fmt.Sprintf("text after the closing quote of a cell, at byte %d of the record; double the quotes inside a cell", c.fault)
	}
	return fmt.Sprintf("the quote at byte %d of the record is not closed before the end of the file or the limit of %d bytes", c.start-1, d.maxRecord)
}

// lines returns the dialect as what tells lines apart.
func (d *dialect) lines() file.Lines {
	return file.Lines{Newline: d.newline, Comment: d.comment, MaxRecord: d.maxRecord, Quote: d.quote, Quoted: d.quotedRecord}
}
