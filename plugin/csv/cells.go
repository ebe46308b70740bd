package csv

import "strings"

// dialect says how text is divided into lines and cells. All its characters are ASCII.
type dialect struct {
	newline   byte // '\n', which includes "\r\n"; or '\r'
	delimiter byte
	quote     byte // 0: no cell is quoted
	comment   byte // 0: no line is a comment
	maxRecord int  // bytes
}

// stray returns the character that ends lines in other files, and none outside quotes in this dialect.
func (d *dialect) stray() byte {
	if d.newline == '\n' {
		return '\r'
	}
	return '\n'
}

// cell is one cell of a text: text[start:end] without its quotes.
type cell struct {
	start, end int
	next       int  // index of what ends the cell: a delimiter, a line end, or the end of the text
	fault      int  // index of what is wrong
	quoted     bool // it is quoted
	doubled    bool // it holds doubled quotes
}

// cell reads the cell that begins at text[at]. defect is the code of what breaks the quoting rules, or "".
func (d *dialect) cell(text string, at int) (c cell, defect string) {
	if at < len(text) && text[at] == d.quote && d.quote != 0 {
		return d.quotedCell(text, at)
	}
	for i := at; i < len(text); i++ {
		switch b := text[i]; {
		case b == d.delimiter:
			return cell{start: at, end: i, next: i}, ""
		case b == d.newline:
			if b == '\n' && i > at && text[i-1] == '\r' {
				i--
			}
			return cell{start: at, end: i, next: i}, ""
		case b == d.quote && b != 0:
			return cell{start: at, next: i, fault: i}, codeBareQuote
		}
	}
	return cell{start: at, end: len(text), next: len(text)}, ""
}

// quotedCell reads the cell whose opening quote is text[at].
func (d *dialect) quotedCell(text string, at int) (c cell, defect string) {
	c = cell{start: at + 1, quoted: true}
	for i := c.start; ; {
		n := strings.IndexByte(text[i:], d.quote)
		if n < 0 {
			c.next, c.fault = len(text), at
			return c, codeUnterminatedQuote
		}
		c.end = i + n
		if i = c.end + 1; i == len(text) || text[i] != d.quote {
			break
		}
		c.doubled = true
		i++
	}
	c.next = c.end + 1
	if rest := text[c.next:]; rest == "" || rest[0] == d.delimiter || d.endsLine(rest) {
		return c, ""
	}
	c.fault = c.next
	return c, codeTextAfterQuote
}

// endsLine reports whether rest begins with a line end.
func (d *dialect) endsLine(rest string) bool {
	return rest[0] == d.newline || d.newline == '\n' && strings.HasPrefix(rest, "\r\n")
}

// value returns the cell's text, in which doubled quotes are single.
func (d *dialect) value(text string, c cell) string {
	if !c.doubled {
		return text[c.start:c.end]
	}
	q := string(d.quote)
	return strings.ReplaceAll(text[c.start:c.end], q+q, q)
}

// strayIn reports whether the line holds the stray character outside quotes.
func (d *dialect) strayIn(line string) bool {
	for at := 0; ; {
		c, defect := d.cell(line, at)
		if defect != "" {
			return line[c.fault] == d.stray()
		}
		if !c.quoted && strings.IndexByte(line[c.start:c.end], d.stray()) >= 0 {
			return true
		}
		if c.next >= len(line) || line[c.next] != d.delimiter {
			return false
		}
		at = c.next + 1
	}
}
