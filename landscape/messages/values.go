// Package messages finds what messages of one kind do not have in common: the values that they quote.
package messages

import "strings"

// The expressions of what a message may quote.
const (
	Text   = "\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|'[^']*'" // in quotes
	Number = `[0-9]+(?:[.,][0-9]+)*`

	// Possessive is a word with an apostrophe, as in "the server's settings", which quotes nothing: it must be tried
	// before Text. Letters as in the E'…' of SQL are fewer.
	Possessive = `[A-Za-z]{3}'s(?:[ ,.;:]|$)`
)

// Values finds what a message says that differs between messages of one kind: texts in quotes, SQLSTATEs, which
// WithoutValue keeps, and numbers. Digits of a name are none. Error groups ask it of each refused row, so it does by
// hand what an expression says in its test.
type Values struct {
	message string
	at      int // where the next one is looked for
	unended int // texts in double quotes that begin before this do not end
}

// Of returns the values of a message.
func Of(message string) *Values { return &Values{message: message} }

// Next returns where the next value begins and ends; ok is false if there is none.
func (v *Values) Next() (begin, end int, ok bool) {
	for i := v.at; i < len(v.message); i++ {
		switch c := v.message[i]; {
		case c == '"' && i >= v.unended:
			end = v.afterText(i)
		case c == '\'' && v.isPossessive(i):
		case c == '`', c == '\'':
			end = i + 2 + strings.IndexByte(v.message[i+1:], c)
			if end == i+1 {
				end = 0
			}
		case c == 'S' && v.beginsWord(i):
			end = v.afterState(i)
		case isDigit(c) && v.beginsWord(i):
			end = v.afterNumber(i)
		}
		if end > 0 {
			v.at = end
			return i, end, true
		}
	}
	v.at = len(v.message)
	return 0, 0, false
}

// afterText returns where a text in double quotes ends that begins there; 0 if it does not end. Then those do not end either that begin in it: it
// has them escaped.
func (v *Values) afterText(i int) int {
	for k := i + 1; k < len(v.message); k++ {
		switch v.message[k] {
		case '"':
			return k + 1
		case '\\':
			if k++; k < len(v.message) && v.message[k] == '\n' {
				v.unended = k
				return 0
			}
		}
	}
	v.unended = len(v.message)
	return 0
}

// isPossessive reports whether the apostrophe there is that of a word.
func (v *Values) isPossessive(i int) bool {
	m := v.message
	if i-3 < v.at || i+1 == len(m) || m[i+1] != 's' || i+2 < len(m) && !strings.Contains(" ,.;:", m[i+2:i+3]) {
		return false
	}
	for _, c := range []byte(m[i-3 : i]) {
		if !isWord(c) || isDigit(c) || c == '_' {
			return false
		}
	}
	return true
}

// afterState returns where an SQLSTATE ends that begins there; 0 if there is none.
func (v *Values) afterState(i int) int {
	const word = "SQLSTATE "
	end := i + len(word) + 5
	if !strings.HasPrefix(v.message[i:], word) || end > len(v.message) || end < len(v.message) && isWord(v.message[end]) {
		return 0
	}
	for _, c := range []byte(v.message[i+len(word) : end]) {
		if !isWord(c) {
			return 0
		}
	}
	return end
}

// afterNumber returns where a number ends that begins there; 0 if a name does.
func (v *Values) afterNumber(i int) (end int) {
	m := v.message
	for {
		for i < len(m) && isDigit(m[i]) {
			i++
		}
		if i == len(m) || !isWord(m[i]) {
			end = i
		}
		if i+1 >= len(m) || m[i] != '.' && m[i] != ',' || !isDigit(m[i+1]) {
			return end
		}
		i++
	}
}

// beginsWord reports whether what stands before is no part of a word.
func (v *Values) beginsWord(i int) bool { return i == 0 || !isWord(v.message[i-1]) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// In returns the values in a message, in order; nil if there is none.
func In(message string) (all []string) {
	for v := Of(message); ; {
		begin, end, ok := v.Next()
		if !ok {
			return all
		}
		all = append(all, message[begin:end])
	}
}

// AppendReplaced appends a message in which other returns what stands for each value.
func AppendReplaced(to []byte, message string, other func(value string) string) []byte {
	written := 0
	for v := Of(message); ; {
		begin, end, ok := v.Next()
		if !ok {
			return append(to, message[written:]...)
		}
		to = append(append(to, message[written:begin]...), other(message[begin:end])...)
		written = end
	}
}

// Outline returns what a message has in common with others: it is without values, places and counts.
func Outline(message string) string { return string(AppendReplaced(nil, message, WithoutValue)) }

// WithoutValue returns what stands for a value in an outline.
func WithoutValue(value string) string {
	switch value[0] {
	case 'S': // SQLSTATE
		return value
	case '"', '`', '\'':
		return `"…"`
	}
	return "N"
}
