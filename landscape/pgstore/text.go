package pgstore

import (
	"encoding/hex"
	"reflect"
	"strings"
	"unicode/utf8"
)

// escape begins two hex digits: a byte that a text of Postgres cannot hold. It is the picture of the character ESC.
const escape = "␛"

// encode returns a text as Postgres holds it. NUL and what is not UTF-8 cannot be there, and come with file names and with
// messages of others: each such byte, and each byte of an escape, becomes an escape. All other texts are themselves.
func encode(text string) string {
	if utf8.ValidString(text) && !strings.ContainsAny(text, "\x00"+escape) {
		return text
	}
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		piece := text[:size]
		text = text[size:]
		if r != 0 && piece != escape && (r != utf8.RuneError || size > 1) {
			b.WriteString(piece)
			continue
		}
		for _, c := range []byte(piece) {
			b.WriteString(escape + hex.EncodeToString([]byte{c}))
		}
	}
	return b.String()
}

// decode returns the text that was encoded.
func decode(text string) string {
	head, rest, found := strings.Cut(text, escape)
	if !found {
		return text
	}
	var b strings.Builder
	for ; found; head, rest, found = strings.Cut(rest, escape) {
		b.WriteString(head)
		if len(rest) >= 2 {
			if c, err := hex.DecodeString(rest[:2]); err == nil {
				b.Write(c)
				rest = rest[2:]
				continue
			}
		}
		b.WriteString(escape) // somebody else's
	}
	b.WriteString(head)
	return b.String()
}

// encodeAny encodes a value if it is a text.
func encodeAny(value any) any {
	if v := reflect.ValueOf(value); v.Kind() == reflect.String {
		return encode(v.String())
	}
	return value
}
