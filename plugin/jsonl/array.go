package jsonl

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"waymark/plugin"
	"waymark/plugin/file"
)

// readArray makes the records those of the array at the path: keys, from the outermost object to the one that holds the array, with dots
// between them. "" is a document that is the array.
func (s *Source) readArray(path string) {
	var keys []string
	if path != "" {
		keys = strings.Split(path, ".")
	}
	s.Format.Divider = func() file.Divider { return &arrayScan{path: keys, maxRecord: s.Format.MaxRecord} }
}

// arrayState is what comes next in the array. It travels in cursors; never change a value.
type arrayState byte

const (
	arrayBegins arrayState = '[' // the first element, or the end of the array
	arrayGoesOn arrayState = ',' // an element
	arrayBroken arrayState = '!' // behind an element that ended with its line: perhaps a comma
	arrayEnded  arrayState = ']' // what follows the array
)

// arrayScan divides the array of a file into elements. It is a file.Divider.
type arrayScan struct {
	path      []string // keys, from the outermost object to the one that holds the array; empty: the document is the array
	maxRecord int
	state     arrayState
	line      int   // line ends since Fill began
	closed    bool  // what follows the array has been read
	fault     error // what is wrong with that
}

// elementScan finds the end of an element, a byte at a time. It knows strings and brackets and nothing else of JSON, so that an
// element that is none costs itself alone. No string has a line end in it: one that is not closed ends there, with its element.
type elementScan struct {
	depth             int
	inString, escaped bool
}

// step takes one byte, and returns what comes behind the element if it ends before that byte; 0 if it does not.
func (s *elementScan) step(b byte) arrayState {
	switch {
	case s.inString && b == '\n':
		return arrayBroken
	case s.escaped:
		s.escaped = false
	case s.inString && b == '\\':
		s.escaped = true
	case b == '"':
		s.inString = !s.inString
	case s.inString:
	case b == '{' || b == '[':
		s.depth++
	case s.depth > 0 && (b == '}' || b == ']'):
		s.depth--
	case b == ']':
		return arrayEnded
	case b == ',' && s.depth == 0:
		return arrayGoesOn
	}
	return 0
}

const jsonSpace = " \t\n\r"

// split finds the elements at the beginning of text, which goes after c.Data, and adds them to c, but for c.Data. It returns
// how many bytes it used, and whether an element that is too long comes next.
func (a *arrayScan) split(text []byte, limits plugin.Limits, c *plugin.Chunk) (used int, long bool) {
	for len(c.Offsets) < limits.Rows && len(c.Data)+used < limits.Bytes && a.state != arrayEnded {
		space := len(text) - used - len(bytes.TrimLeft(text[used:], jsonSpace))
		a.line += bytes.Count(text[used:used+space], []byte{'\n'})
		used += space
		rest := text[used:]
		if len(rest) == 0 {
			return used, false
		}
		if a.skips(rest[0]) {
			used++
			continue
		}
		end, next := endOfElement(rest)
		if end > a.maxRecord {
			return used, true
		}
		if next == 0 {
			return used, false
		}
		file.AddRecord(c, len(c.Data)+used, a.line, file.Found{Record: len(bytes.TrimRight(rest[:end], jsonSpace))})
		a.line += bytes.Count(rest[:end+1], []byte{'\n'})
		used += end + 1
		a.state = next
	}
	return used, false
}

// skips reports whether the byte, which stands where an element could begin, is a sign of the array itself, and notes it.
func (a *arrayScan) skips(b byte) bool {
	switch {
	case b == ']' && a.state != arrayGoesOn:
		a.state = arrayEnded
		return true
	case b == ',' && a.state == arrayBroken:
		a.state = arrayGoesOn
		return true
	}
	return false
}

// endOfElement returns how long the element at the beginning of text is, with the white space after it, and what comes then; 0
// if text does not hold it to its end.
func endOfElement(text []byte) (end int, next arrayState) {
	var scan elementScan
	for i, b := range text {
		if next := scan.step(b); next != 0 {
			return i, next
		}
	}
	return len(text), 0
}

// State is what comes next in the array.
func (a *arrayScan) State() string { return string(a.state) }

// Resume continues where State was this.
func (a *arrayScan) Resume(state string) error {
	if len(state) != 1 {
		return errors.New("the cursor does not say where in the array it stands")
	}
	a.state = arrayState(state[0])
	return nil
}

// Open reads what comes before the first element.
func (a *arrayScan) Open(ctx context.Context, t *file.Text) (lines int, nothing bool, err error) {
	w := &walker{text: t, ctx: ctx}
	err = w.findArray(a.path)
	w.flush()
	if err == errNothing { //nolint:errorlint // it is never wrapped
		a.state, a.closed = arrayEnded, true
		return 0, true, nil
	}
	a.state = arrayBegins
	return w.lines, false, w.located(err, 0)
}

// Fill adds elements to the chunk.
func (a *arrayScan) Fill(ctx context.Context, t *file.Text, limits plugin.Limits, c *plugin.Chunk) (lines int, err error) {
	a.line = 0
	err = a.fill(ctx, t, limits, c)
	return a.line, err
}

func (a *arrayScan) fill(ctx context.Context, t *file.Text, limits plugin.Limits, c *plugin.Chunk) error {
	for c.Len() < limits.Rows && len(c.Data) < limits.Bytes {
		if a.state == arrayEnded {
			if c.Len() > 0 {
				return nil // the cursor stands behind the array: what follows is read at once, or again
			}
			return a.close(ctx, t)
		}
		window := t.Window()
		used, long := a.split(window, limits, c)
		c.Data = append(c.Data, window[:used]...)
		t.Drop(used)
		if c.Len() == 0 { // white space alone is no part of a chunk
			c.Data, c.FirstOffset = c.Data[:0], t.Offset()
		}
		switch {
		case long && c.Len() > 0:
			return nil
		case long:
			return a.longElement(ctx, t, c)
		case used > 0 || a.state == arrayEnded || t.More(ctx):
		case t.Err() != io.EOF:
			return t.Err()
		default:
			return t.Fault(&plugin.SourceError{Code: file.CodeTruncated,
				Message: "the file ends within the array: it was cut off, or is still being written; fetch it again"},
				a.line)
		}
	}
	return nil
}

// longElement reads an element that is longer than a record may be, of which the record keeps the first bytes only. It is a
// chunk of its own.
func (a *arrayScan) longElement(ctx context.Context, t *file.Text, c *plugin.Chunk) error {
	kept := bytes.Clone(t.Window()[:min(file.KeptBytes, a.maxRecord)])
	var scan elementScan
	sum, size, lines := sha256.New(), int64(0), 0
	for {
		window := t.Window()
		end, next := len(window), arrayState(0)
		for i, b := range window {
			if next = scan.step(b); next != 0 {
				end = i
				break
			}
		}
		sum.Write(window[:end])
		size += int64(end)
		drop := end
		if next != 0 {
			drop++
		}
		lines += bytes.Count(window[:drop], []byte{'\n'})
		t.Drop(drop)
		if next != 0 {
			a.state = next
			break
		}
		if t.More(ctx) {
			continue
		}
		if t.Err() != io.EOF {
			return t.Err()
		}
		return t.Fault(&plugin.SourceError{Code: file.CodeTruncated, Message: fmt.Sprintf("the file ends within an element, after %d bytes of it; fetch it again", size)}, a.line)
	}
	file.AddRecord(c, 0, a.line, file.Found{Record: len(kept), Defect: file.TooLarge("element", size, a.maxRecord, sum.Sum(nil), len(kept))})
	c.Data = append(c.Data, kept...)
	a.line += lines
	return nil
}

// close reads what follows the array, to the end of the file, and returns io.EOF if that is in order.
func (a *arrayScan) close(ctx context.Context, t *file.Text) error {
	if a.fault == nil && !a.closed {
		w := &walker{text: t, ctx: ctx}
		err := w.close(a.path)
		w.flush()
		if err = w.located(err, a.line); err == nil {
			a.closed = true
			a.line += w.lines
		}
		a.fault = err
	}
	if a.fault != nil {
		return a.fault
	}
	return io.EOF
}
