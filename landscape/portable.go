package landscape

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// TextEscape begins two hex digits: a byte of a portable text that no UTF-8 has. It is the picture of the character ESC.
const TextEscape = "␛"

// PortableText returns a text as UTF-8 without NUL, as Postgres and JSON can hold it. What is neither comes with file names and with
// messages of others: each such byte, and each byte of an escape, becomes an escape. All other texts are themselves.
func PortableText(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 && !strings.Contains(text, TextEscape) {
		return text
	}
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		piece := text[:size]
		text = text[size:]
		if r != 0 && piece != TextEscape && (r != utf8.RuneError || size > 1) {
			b.WriteString(piece)
			continue
		}
		for _, c := range []byte(piece) {
			b.WriteString(TextEscape + hex.EncodeToString([]byte{c}))
		}
	}
	return b.String()
}

// textOf returns the text whose PortableText that is.
func textOf(portable string) string {
	before, rest, found := strings.Cut(portable, TextEscape)
	if !found {
		return portable
	}
	var b strings.Builder
	for ; found; before, rest, found = strings.Cut(rest, TextEscape) {
		b.WriteString(before)
		if len(rest) >= 2 {
			if c, err := hex.DecodeString(rest[:2]); err == nil {
				b.Write(c)
				rest = rest[2:]
				continue
			}
		}
		b.WriteString(TextEscape) // which no portable text has: its PortableText is another
	}
	b.WriteString(before)
	return b.String()
}
