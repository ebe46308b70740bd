package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// jsonSource reads the elements of one array in a JSON document, each as a JSON Lines source reads a line.
type jsonSource struct {
	fileSource
	records *Records
}

func newJSONSource(base fileSource, spec pipeline.JSONSource) *jsonSource {
	s := &jsonSource{fileSource: base, records: newRecords(base.schema)}
	s.format = format{dialect: dialect{newline: '\n', maxRecord: maxRecordBytes}, checkStart: refuseWide, array: &arrayFormat{}}
	if spec.Records != "" {
		s.format.array.path = strings.Split(spec.Records, ".")
	}
	return s
}

// Parser returns a parser. The context says nothing: every element names its keys.
func (s *jsonSource) Parser([]byte) (plugin.Parser, error) { return s.records.Parser(), nil }

// arrayFormat says where in a document the array of records is.
type arrayFormat struct {
	path []string // keys, from the outermost object to the one that holds the array; empty: the document is the array
}

// arrayState is what comes next in the array. It travels in cursors; never change a value.
type arrayState byte

const (
	arrayBegins arrayState = '[' // the first element, or the end of the array
	arrayGoesOn arrayState = ',' // an element
	arrayBroken arrayState = '!' // behind an element that ended with its line: perhaps a comma
	arrayEnded  arrayState = ']' // what follows the array
)

// arrayScan divides the array of the open file into elements.
type arrayScan struct {
	state  arrayState
	closed bool  // what follows the array has been read
	fault  error // what is wrong with that
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
func (a *arrayScan) split(s *splitter, text []byte, limits plugin.Limits, c *plugin.Chunk) (used int, long bool) {
	for len(c.Offsets) < limits.Rows && len(c.Data)+used < limits.Bytes && a.state != arrayEnded {
		space := len(text) - used - len(bytes.TrimLeft(text[used:], jsonSpace))
		s.line += bytes.Count(text[used:used+space], []byte{'\n'})
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
		if end > s.maxRecord {
			return used, true
		}
		if next == 0 {
			return used, false
		}
		s.add(c, len(c.Data)+used, found{record: len(bytes.TrimRight(rest[:end], jsonSpace))})
		s.line += bytes.Count(rest[:end+1], []byte{'\n'})
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

// endOfElement returns how long the element at the beginning of text is, with the white space behind it, and what comes then; 0
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

// resumeArray goes on where a cursor with this state stands.
func (r *reader) resumeArray(state string) error {
	if len(state) != 1 {
		return fmt.Errorf("source %s: %s: the cursor does not say where in the array it stands", r.source.name, r.path())
	}
	r.array = &arrayScan{state: arrayState(state[0])}
	return nil
}

// fillArray is fill for an array.
func (r *reader) fillArray(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	for c.Len() < limits.Rows && len(c.Data) < limits.Bytes {
		if r.array.state == arrayEnded {
			if c.Len() > 0 {
				return nil // the cursor stands behind the array: what follows is read at once, or again
			}
			return r.closeArray(ctx)
		}
		window := r.text.window()
		used, long := r.array.split(&r.splitter, window, limits, c)
		c.Data = append(c.Data, window[:used]...)
		r.text.drop(used)
		if c.Len() == 0 { // white space alone is no part of a chunk
			c.Data, c.FirstOffset = c.Data[:0], r.text.offset
		}
		switch {
		case long && c.Len() > 0:
			return nil
		case long:
			return r.longElement(ctx, c)
		case used > 0 || r.array.state == arrayEnded || r.text.more(ctx):
		case r.text.err != io.EOF:
			return r.textError()
		default:
			return r.locate(&plugin.SourceError{Code: codeTruncated, Message: "the file ends within the array; fetch it again"}, r.at.Line+int64(r.splitter.line)+1)
		}
	}
	return nil
}

// longElement reads an element that is longer than a record may be, of which the record keeps the first bytes only. It is a
// chunk of its own.
func (r *reader) longElement(ctx context.Context, c *plugin.Chunk) error {
	kept := bytes.Clone(r.text.window()[:min(keptBytes, r.splitter.maxRecord)])
	var scan elementScan
	sum, size, lines := sha256.New(), int64(0), 0
	for {
		window := r.text.window()
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
		r.text.drop(drop)
		if next != 0 {
			r.array.state = next
			break
		}
		if r.text.more(ctx) {
			continue
		}
		if r.text.err != io.EOF {
			return r.textError()
		}
		return r.locate(&plugin.SourceError{Code: codeTruncated, Message: fmt.Sprintf("the file ends within an element, after %d bytes of it; fetch it again", size)}, r.at.Line+int64(r.splitter.line)+1)
	}
	r.splitter.add(c, 0, found{record: len(kept), defect: &plugin.Rejection{
		Code:    codeRowTooLarge,
		Message: fmt.Sprintf("the element has %d bytes, more than %d; its SHA-256 is %x; the first %d bytes are kept", size, r.splitter.maxRecord, sum.Sum(nil), len(kept)),
	}})
	c.Data = append(c.Data, kept...)
	r.splitter.line += lines
	return nil
}

// walker reads what is around the array. It keeps no more of it than a key.
type walker struct {
	r     *reader
	ctx   context.Context
	at    int // in the window
	lines int
}

// next returns the next byte. The error is that of the text.
func (w *walker) next() (byte, error) {
	if w.at == len(w.r.text.window()) {
		w.flush()
		if !w.r.text.more(w.ctx) {
			return 0, w.r.text.err
		}
	}
	b := w.r.text.window()[w.at]
	w.at++
	if b == '\n' {
		w.lines++
	}
	return b, nil
}

// flush drops what was read.
func (w *walker) flush() {
	w.r.text.drop(w.at)
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

// key reads a key, behind its first quote, and the colon behind it.
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
			return "", &plugin.SourceError{Code: codeCorruptJSON, Message: fmt.Sprintf("a key has more than %d bytes", maxKeyBytes)}
		}
	}
	var key string
	if err := json.Unmarshal(literal, &key); err != nil {
		return "", &plugin.SourceError{Code: codeCorruptJSON, Message: fmt.Sprintf("%s is no key: %v", excerpt(string(literal)), err)}
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
			return &plugin.SourceError{Code: codeCorruptJSON, Message: fmt.Sprintf("nested deeper than %d", row.MaxJSONDepth)}
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

// openArray reads what comes before the first element. A file that holds nothing is left to refuseEmpty.
func (r *reader) openArray(ctx context.Context) error {
	w := &walker{r: r, ctx: ctx}
	err := w.findArray(r.source.format.array.path)
	w.flush()
	if err == errNothing { //nolint:errorlint // it is never wrapped
		r.array = &arrayScan{state: arrayEnded, closed: true}
		return nil
	}
	if err = r.walked(w, err); err == nil {
		r.array = &arrayScan{state: arrayBegins}
		r.at.Line += int64(w.lines)
	}
	return err
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
			return noArray("expected an object with the key %s, found %q; mend records", excerpt(key), b)
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
		return noArray("the object has no key %s; mend records", excerpt(wanted))
	}
	return w.unexpected(b, "a key in double quotes")
}

// closeArray reads what follows the array, to the end of the file, and returns io.EOF if that is in order.
func (r *reader) closeArray(ctx context.Context) error {
	if r.array.fault == nil && !r.array.closed {
		w := &walker{r: r, ctx: ctx}
		err := w.close(r.source.format.array.path)
		w.flush()
		if err = r.walked(w, err); err == nil {
			r.array.closed = true
			r.splitter.line += w.lines
		}
		r.array.fault = err
	}
	if r.array.fault != nil {
		return r.array.fault
	}
	return io.EOF
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
			return &plugin.SourceError{Code: codeCorruptJSON, Message: fmt.Sprintf("the key %s is there twice", excerpt(key))}
		}
		if err := w.skip(); err != nil {
			return err
		}
	}
}

// walked returns the error of a walk as one of the reader.
func (r *reader) walked(w *walker, err error) error {
	line := r.at.Line + int64(r.splitter.line) + int64(w.lines) + 1
	fault, is := err.(*plugin.SourceError) //nolint:errorlint // the text wraps its own, which says its line itself
	switch {
	case err == nil:
		return nil
	case err == io.EOF:
		return r.locate(&plugin.SourceError{Code: codeTruncated, Message: "the file ends too early; fetch it again"}, line)
	case is && fault.File == "":
		return r.locate(fault, line)
	}
	return r.textError()
}
