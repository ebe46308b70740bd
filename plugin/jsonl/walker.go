package jsonl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// walker reads what is around the array. It keeps no more of it than a key.
type walker struct {
	text  *file.Text
	ctx   context.Context
	at    int // in the window
	lines int
}

// next returns the next byte. The error is that of the text.
func (w *walker) next() (byte, error) {
	if w.at == len(w.text.Window()) {
		w.flush()
		if !w.text.More(w.ctx) {
			return 0, w.text.Err()
		}
	}
	b := w.text.Window()[w.at]
	w.at++
	if b == '\n' {
		w.lines++
	}
	return b, nil
}

// flush drops what was read.
func (w *walker) flush() {
	w.text.Drop(w.at)
	w.at = 0
}

// sign returns the next byte that is no white space.
func (w *walker) sign() (byte, error) {
	for {
		if b, err := w.next(); err != nil || strings.IndexByte(jsonSpace, b) < 0 {
			return b, err
		}
	}
}

// expect reads the sign, or fails.
func (w *walker) expect(sign byte) error {
	b, err := w.sign()
	if err == nil && b != sign {
		err = w.unexpected(b, fmt.Sprintf("%q", sign))
	}
	return err
}

func (w *walker) unexpected(found byte, wanted string) error {
	return &plugin.SourceError{Code: codeCorruptJSON, Message: fmt.Sprintf("expected %s, found %q", wanted, found)}
}

// maxKeyBytes is how long a key beside the array may be.
const maxKeyBytes = 64 << 10

// key reads a key, after its first quote, and the colon after it.
func (w *walker) key() (string, error) {
	literal := []byte{'"'}
	for escaped := false; ; {
		b, err := w.next()
		if err != nil {
			return "", err
		}
		literal = append(literal, b)
		if b == '"' && !escaped {
			break
		}
		escaped = b == '\\' && !escaped
		if len(literal) > maxKeyBytes {
			return "", &plugin.SourceError{Code: codeJSONTooLarge,
				Message: fmt.Sprintf("a key beside the records has more than %d bytes, the limit", maxKeyBytes)}
		}
	}
	var key string
	if err := json.Unmarshal(literal, &key); err != nil {
		return "", &plugin.SourceError{Code: codeCorruptJSON, Message: fmt.Sprintf("%s is no key: %v", file.Excerpt(string(literal)), err)}
	}
	return key, w.expect(':')
}

// skip reads a value of which nothing is wanted.
func (w *walker) skip() error {
	b, err := w.sign()
	if err != nil {
		return err
	}
	var open []byte // the brackets that close what is open
	for first := true; ; first = false {
		switch {
		case b == '"':
			err = w.skipString()
		case b == '{':
			open = append(open, '}')
		case b == '[':
			open = append(open, ']')
		case len(open) > 0 && b == open[len(open)-1]:
			open = open[:len(open)-1]
		case b == '}' || b == ']' || first && !isScalar(b):
			return w.unexpected(b, "a value")
		}
		if err != nil || len(open) == 0 && !isScalar(b) {
			return err
		}
		if len(open) > row.MaxJSONDepth {
			return &plugin.SourceError{Code: codeJSONTooLarge,
				Message: fmt.Sprintf("a value beside the records is nested deeper than %d, the limit",
					row.MaxJSONDepth)}
		}
		if b, err = w.next(); err != nil {
			return err
		}
		if len(open) == 0 && !isScalar(b) {
			w.back(b)
			return nil
		}
	}
}

// isScalar reports whether the byte may be one of a number or a word.
func isScalar(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '+' || b == '.'
}

// back takes the byte that was just read back.
func (w *walker) back(b byte) {
	w.at--
	if b == '\n' {
		w.lines--
	}
}

func (w *walker) skipString() error {
	for escaped := false; ; {
		b, err := w.next()
		if err != nil || b == '"' && !escaped {
			return err
		}
		escaped = b == '\\' && !escaped
	}
}

// errNothing says that a file holds nothing but white space.
var errNothing = errors.New("the file holds nothing")

func (w *walker) findArray(path []string) error {
	b, err := w.sign()
	if err == io.EOF {
		return errNothing
	}
	for _, key := range path {
		if err != nil {
			return err
		}
		if b != '{' {
			return noArray("expected an object with the key %s, found %q; mend records", file.Excerpt(key), b)
		}
		if err := w.findKey(key); err != nil {
			return err
		}
		b, err = w.sign()
	}
	switch {
	case err != nil || b == '[':
		return err
	case b == '{' && len(path) == 0:
		return noArray("the document is an object and no array: say with records which of its keys has the array, as in records: items")
	}
	return noArray("expected an array, found %q; say with records where it is", b)
}

func noArray(format string, args ...any) error {
	return &plugin.SourceError{Code: codeNoRecords, Message: fmt.Sprintf(format, args...)}
}

// findKey reads an object, behind its bracket, up to the value of the key.
func (w *walker) findKey(wanted string) error {
	b, err := w.sign()
	for err == nil && b == '"' {
		key, err := w.key()
		if err != nil || key == wanted {
			return err
		}
		if err := w.skip(); err != nil {
			return err
		}
		if b, err = w.sign(); err != nil {
			return err
		}
		if b == '}' {
			break
		}
		if b != ',' {
			return w.unexpected(b, "',' or '}'")
		}
		if b, err = w.sign(); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case b == '}':
		return noArray("the object has no key %s; mend records", file.Excerpt(wanted))
	}
	return w.unexpected(b, "a key in double quotes")
}

func (w *walker) close(path []string) error {
	for i := len(path) - 1; i >= 0; i-- {
		if err := w.closeObject(path[i]); err != nil {
			return err
		}
	}
	switch b, err := w.sign(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	default:
		return w.unexpected(b, "the end of the file")
	}
}

// closeObject reads the rest of an object, in which the key must not come again.
func (w *walker) closeObject(had string) error {
	for {
		b, err := w.sign()
		switch {
		case err != nil || b == '}':
			return err
		case b != ',':
			return w.unexpected(b, "',' or '}'")
		}
		if err := w.expect('"'); err != nil {
			return err
		}
		key, err := w.key()
		if err != nil {
			return err
		}
		if key == had {
			return &plugin.SourceError{Code: codeCorruptJSON, Message: fmt.Sprintf("the key %s is there twice", file.Excerpt(key))}
		}
		if err := w.skip(); err != nil {
			return err
		}
	}
}

// located returns the error of a walk with its line, where it is the walker's own. lines were passed before the walk.
func (w *walker) located(err error, lines int) error {
	fault, ok := err.(*plugin.SourceError) //nolint:errorlint // the text wraps its own, which says its line itself
	switch {
	case err == io.EOF:
		return w.text.Fault(&plugin.SourceError{Code: file.CodeTruncated,
			Message: "the file ends too early: it was cut off, or is still being written; fetch it again"},
			lines+w.lines)
	case ok && fault.File == "":
		return w.text.Fault(fault, lines+w.lines)
	}
	return err
}
