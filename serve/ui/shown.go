package ui

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/internal/text"
)

// mostShown is how many bytes of a text a page shows at most.
const mostShown = 4096

// Shown is a text of a stranger as a page shows it: it cannot turn what stands around it, and what nobody would see has a name.
func Shown(raw string) template.HTML { return shownUpTo(mostShown, raw) }

// cut returns the beginning of a text, of whole characters and at most so many bytes, and how many bytes it leaves out.
func cut(raw string, most int) (beginning string, left int) {
	if len(raw) <= most {
		return raw, 0
	}
	at := most
	for at > 0 && at > most-utf8.UTFMax && !utf8.RuneStart(raw[at]) {
		at--
	}
	return raw[:at], len(raw) - at
}

// shownUpTo shows at most so many bytes of a text.
func shownUpTo(most int, raw string) template.HTML {
	var b strings.Builder
	b.WriteString(`<bdi dir="auto">`)
	raw, left := cut(raw, most)
	for i, r := range raw {
		_, width := utf8.DecodeRuneInString(raw[i:])
		var name string
		switch {
		case r == utf8.RuneError && width == 1:
			name = fmt.Sprintf("%02X", raw[i])
		case i == len(raw)-1 && r == ' ' && left == 0:
			name = "space"
		default:
			name = invisible(r)
		}
		if name == "" {
			b.WriteString(template.HTMLEscapeString(string(r)))
			continue
		}
		b.WriteString(`<i class="sign">` + name + `</i>`)
	}
	if left > 0 {
		fmt.Fprintf(&b, `<i class="sign">and %s more bytes</i>`, text.Grouped(int64(left)))
	}
	b.WriteString(`</bdi>`)
	return template.HTML(b.String()) //nolint:gosec // every rune of the text is escaped, or replaced by a name of this file
}

// named are invisible characters that have better names than their numbers.
var named = map[rune]string{
	0: "NUL", '\t': "TAB", '\n': "LF", '\r': "CR", 0x1b: "ESC", 0x7f: "DEL", 0xa0: "NBSP", 0xad: "SHY", 0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ",
	0x200e: "LRM", 0x200f: "RLM", 0x2028: "LS", 0x2029: "PS", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO",
	0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
}

// invisible returns the name of a character that nobody sees, or that changes how others are seen; empty for others.
func invisible(r rune) string {
	switch {
	case named[r] != "":
		return named[r]
	case r == ' ':
		return ""
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.IsSpace(r), unicode.Is(unicode.Zs, r), unicode.Is(unicode.Co, r), r == 0x2800, r == 0x3164:
		return fmt.Sprintf("U+%04X", r)
	}
	return ""
}

// value is one in its canonical form, as a page shows it.
type value struct{ Text, Kind string }

// marked is the canonical form of a value whose kind JSON does not have.
var marked = regexp.MustCompile(`^\{"\$(date|timestamp|decimal)":"([^"\\]*)"\}$`)

// typed takes the mark of its kind from a value: a decimal is shown as its digits, with the word beside.
func typed(canonical string) value {
	if m := marked.FindStringSubmatch(canonical); m != nil {
		return value{m[2], m[1]}
	}
	return value{canonical, ""}
}
