package row

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxJSONDepth is how deep JSON may be nested: [] has depth 1.
const MaxJSONDepth = 128

// A scanner reads one JSON text from front to back. With normal it also writes the normal form to out (json_normal.go).
type scanner struct {
	text    string
	pos     int
	depth   int
	members []member // of all open objects, the innermost last

	normal bool
	out    []byte
	marked bool // a key begins with $: the canonical form will differ from out
}

// A member is one key of an open object.
type member struct {
	key        string // decoded
	pos        int    // of the key in text
	start, end int    // of key and value in out
}

// scanners keeps the memory of scanners for the next text.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

func newScanner(text string) *scanner {
	s := scanners.Get().(*scanner)
	*s = scanner{text: text, members: s.members[:0], out: s.out[:0]}
	return s
}

// What release keeps at most: more, after an unusual text, would only be cleared again and again.
const (
	keptMembers  = 256
	keptOutBytes = 64 << 10
)

// release gives s back. Nothing that s returned shares its memory, and it keeps nothing of the text alive.
func (s *scanner) release() {
	if cap(s.members) > keptMembers || cap(s.out) > keptOutBytes {
		return
	}
	if len(s.members) > 0 { // an error ended the scan
		clear(s.members[:cap(s.members)])
	}
	s.text = ""
	scanners.Put(s)
}

func (s *scanner) fail(code, msg string) error { return s.failAt(s.pos, code, msg) }

func (s *scanner) failAt(pos int, code, msg string) error {
	return &JSONError{Code: code, Offset: pos, Msg: msg}
}

// unexpected says what stands at pos instead of what was expected there.
func (s *scanner) unexpected(expected string) error {
	found := "the end of the text"
	if rest := s.text[s.pos:]; strings.HasPrefix(rest, "\ufeff") {
		found = "a byte order mark"
	} else if rest != "" {
		r, _ := utf8.DecodeRuneInString(rest)
		found = fmt.Sprintf("%q", r)
	}
	return s.fail(CodeSyntax, "expected "+expected+", found "+found)
}

// peek returns the byte at pos, and 0 at the end: a NUL is nowhere allowed, so that both are unexpected.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// end checks that nothing but white space is left.
func (s *scanner) end() error {
	if s.skipSpace(); s.pos < len(s.text) {
		return s.unexpected("the end after one JSON value")
	}
	return nil
}

// value reads the value that begins at pos.
func (s *scanner) value() (raw RawValue, err error) {
	start := s.pos
	switch s.peek() {
	case '{':
		raw.Kind, err = JSON, s.object(nil)
	case '[':
		raw.Kind, err = JSON, s.array()
	case '"':
		raw.Kind = String
		raw.escaped, err = s.string()
	case 't':
		raw.Kind, err = Bool, s.word("true")
	case 'f':
		raw.Kind, err = Bool, s.word("false")
	case 'n':
		raw.Kind, err = Null, s.word("null")
	default:
		raw.Kind, err = s.number()
	}
	if err != nil {
		return RawValue{}, err
	}
	raw.Literal = s.text[start:s.pos]
	if s.normal && raw.Kind != JSON {
		err = s.writeScalar(raw, start)
	}
	return raw, err
}

func (s *scanner) word(word string) error {
	if !strings.HasPrefix(s.text[s.pos:], word) {
		return s.unexpected("a JSON value")
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) number() (Kind, error) {
	end, integer := numberEnd(s.text, s.pos)
	if end == s.pos {
		return Null, s.unexpected("a JSON value")
	}
	literal := s.text[s.pos:end]
	if s.pos = end; !isDigit(s.text[end-1]) {
		return Null, s.unexpected("a digit")
	}
	if integer {
		if _, fits := parseInt(literal); fits {
			return Int, nil
		}
	}
	return Decimal, nil
}

// array reads the array that begins at pos.
func (s *scanner) array() error {
	if err := s.open('['); err != nil {
		return err
	}
	for more := s.peek() != ']'; more; {
		if _, err := s.value(); err != nil {
			return err
		}
		var err error
		if more, err = s.more(']'); err != nil {
			return err
		}
	}
	s.close(']')
	return nil
}

// object reads the object that begins at pos. It calls visit, if there is one, for each member.
func (s *scanner) object(visit func(string, RawValue) error) error {
	if err := s.open('{'); err != nil {
		return err
	}
	first := len(s.members)
	for more := s.peek() != '}'; more; {
		raw, err := s.member()
		if err == nil && visit != nil {
			err = visit(s.members[len(s.members)-1].key, raw)
		}
		if err != nil {
			return err
		}
		if more, err = s.more('}'); err != nil {
			return err
		}
	}
	if err := s.distinct(s.members[first:]); err != nil {
		return err
	}
	clear(s.members[first:])
	s.members = s.members[:first]
	s.close('}')
	return nil
}

// open steps over the bracket at pos and the white space after it.
func (s *scanner) open(bracket byte) error {
	if s.depth++; s.depth > MaxJSONDepth {
		return s.fail(CodeDepth, fmt.Sprintf("nested deeper than %d", MaxJSONDepth))
	}
	s.pos++
	s.skipSpace()
	s.write(bracket)
	return nil
}

// more steps over the comma after an element and reports true, or reports false at the closing bracket.
func (s *scanner) more(bracket byte) (bool, error) {
	s.skipSpace()
	switch s.peek() {
	case ',':
		s.pos++
		s.skipSpace()
		s.write(',')
		return true, nil
	case bracket:
		return false, nil
	}
	return false, s.unexpected(fmt.Sprintf("',' or %q", bracket))
}

// close steps over the closing bracket at pos.
func (s *scanner) close(bracket byte) {
	s.depth--
	s.pos++
	s.write(bracket)
}

// member reads the key, colon and value that begin at pos, and puts the member on the stack.
func (s *scanner) member() (RawValue, error) {
	m := member{pos: s.pos, start: len(s.out)}
	if s.peek() != '"' {
		return RawValue{}, s.unexpected("a key in double quotes")
	}
	escaped, err := s.string()
	if err != nil {
		return RawValue{}, err
	}
	m.key = RawValue{Literal: s.text[m.pos:s.pos], escaped: escaped}.text()
	if s.skipSpace(); s.peek() != ':' {
		return RawValue{}, s.unexpected("':'")
	}
	s.pos++
	s.skipSpace()
	s.writeKey(m.key)
	raw, err := s.value()
	m.end = len(s.out)
	s.members = append(s.members, m)
	return raw, err
}
