package row

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// string steps over the string that begins at pos and reports whether it has escapes.
func (s *scanner) string() (escaped bool, err error) {
	for s.pos++; ; {
		s.pos = plainEnd(s.text, s.pos)
		switch c := s.peek(); {
		case c == '"':
			s.pos++
			return escaped, nil
		case c == '\\':
			escaped = true
			err = s.escape()
		case c >= utf8.RuneSelf:
			err = s.character()
		case s.pos == len(s.text):
			err = s.unexpected("a closing quote")
		default:
			err = s.unexpected("a string without raw control characters")
		}
		if err != nil {
			return false, err
		}
	}
}

// plainEnd returns the index after the printable ASCII characters at pos that stand for themselves in a string.
func plainEnd(text string, pos int) int {
	for pos < len(text) && text[pos] >= 0x20 && text[pos] < utf8.RuneSelf && text[pos] != '"' && text[pos] != '\\' {
		pos++
	}
	return pos
}

// character steps over the non-ASCII character at pos.
func (s *scanner) character() error {
	r, size := utf8.DecodeRuneInString(s.text[s.pos:])
	if r == utf8.RuneError && size == 1 {
		return s.fail(CodeEncoding, "a string is not valid UTF-8")
	}
	s.pos += size
	return nil
}

// escape steps over the escape that begins at pos.
func (s *scanner) escape() error {
	if rest := s.text[s.pos+1:]; rest == "" || rest[0] != 'u' {
		if rest == "" || strings.IndexByte(`"\/bfnrt`, rest[0]) < 0 {
			s.pos++
			return s.unexpected(`one of "\/bfnrtu after \`)
		}
		s.pos += 2
		return nil
	}
	unit := hexUnit(s.text[s.pos:])
	if unit < 0 {
		return s.fail(CodeSyntax, `\u needs four hexadecimal digits`)
	}
	if utf16.IsSurrogate(unit) {
		if utf16.DecodeRune(unit, hexUnit(s.text[s.pos+6:])) == utf8.RuneError {
			return s.fail(CodeSurrogate, `\u names one half of a surrogate pair`)
		}
		s.pos += 6
	}
	s.pos += 6
	return nil
}

// hexUnit returns the UTF-16 code unit of the \uXXXX at the front of text, or -1 if there is none.
func hexUnit(text string) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit := rune(0)
	for _, c := range []byte(text[2:6]) {
		digit := strings.IndexByte(hexDigits, c|0x20) // |0x20 makes letters lower-case and leaves digits
		if digit < 0 || c < '0' {
			return -1
		}
		unit = unit<<4 | rune(digit)
	}
	return unit
}

// unescape returns the content of a checked string.
func unescape(inner string) string {
	out := make([]byte, 0, len(inner))
	for inner != "" {
		next := strings.IndexByte(inner, '\\')
		if next < 0 {
			next = len(inner)
		}
		out = append(out, inner[:next]...)
		if inner = inner[next:]; inner == "" {
			break
		}
		if inner[1] != 'u' {
			out = append(out, unescaped(inner[1]))
			inner = inner[2:]
			continue
		}
		r := hexUnit(inner)
		inner = inner[6:]
		if utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hexUnit(inner))
			inner = inner[6:]
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// unescaped returns the character that a backslash and letter stand for.
func unescaped(letter byte) byte {
	if i := strings.IndexByte("bfnrt", letter); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return letter
}
