package ui

import (
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"waymark/audit"
	"waymark/internal/text"
)

// record is a record as it was read: its text, its bytes, and which of them are which field. Of a long one it is the beginning.
type record struct {
	Parts  []part
	Fields []field
	Lines  []hexLine
	Left   int64 // bytes that are not shown
	More   int   // fields that are not in the table
	Made   bool  // what was read has no bytes for a field
}

// part is a part of a text: one field, or what is between two.
type part struct {
	Field int // number of the field; -1 between fields
	Text  string
}

// field is a line of the table of fields.
type field struct {
	audit.Piece
	Shown  bool   // its bytes are among those that are shown
	Text   string // as written
	Hidden string // what nobody would see in it, in words
}

// hexLine is sixteen bytes of a record, or fewer.
type hexLine struct {
	Offset   string
	Hex      []part // hexadecimal digits
	Pad      string // up to where the text begins
	Readable []part // with a dot for what is not printable ASCII
}

const (
	hexWidth   = 16  // bytes on a line
	mostFields = 200 // lines of the table of fields
	mostPiece  = 128 // bytes of a field in that table

	mostExcerpt = 300 // bytes of a record in a list of many
)

// recordOf prepares what a page shows of a record; nil if there is none to be had.
func recordOf(source audit.Origin) *record {
	raw := source.Record()
	if raw == "" {
		return nil
	}
	shown, left := cut(raw, mostShown)
	r := &record{Parts: divide(shown, source.Fields, 0), Left: int64(left), More: max(0, len(source.Fields)-mostFields), Made: source.Made}
	for _, piece := range source.Fields[:min(mostFields, len(source.Fields))] {
		written := raw[piece.Offset : piece.Offset+piece.Length]
		r.Fields = append(r.Fields, field{piece, piece.Length > 0 && piece.Offset < len(shown), written, hidden(written)})
	}
	for at := 0; at < len(shown); at += hexWidth {
		r.Lines = append(r.Lines, hexLineOf(shown[at:min(at+hexWidth, len(shown))], source.Fields, at))
	}
	return r
}

// divide divides a text, which begins so many bytes after the beginning of the record, into fields and what is between them.
func divide(text string, pieces []audit.Piece, begin int) (parts []part) {
	add := func(field, end int) {
		if end = min(end-begin, len(text)); end > 0 {
			parts = append(parts, part{field, text[:end]})
			text, begin = text[end:], begin+end
		}
	}
	for i, piece := range pieces {
		if piece.Length > 0 {
			add(-1, piece.Offset)
			add(i, piece.Offset+piece.Length)
		}
	}
	add(-1, begin+len(text))
	return parts
}

// between shows what is between two fields. A space at its end is before a field, and everybody sees it.
func between(raw string) template.HTML {
	seen := strings.TrimRight(raw, " ")
	return Shown(seen) + template.HTML(raw[len(seen):]) //nolint:gosec // these are spaces
}

// hexLineOf shows bytes, which begin so many bytes after the beginning of the record.
func hexLineOf(bytes string, pieces []audit.Piece, begin int) hexLine {
	line := hexLine{Offset: fmt.Sprintf("%06x", begin), Pad: strings.Repeat("   ", hexWidth-len(bytes))}
	for _, p := range divide(bytes, pieces, begin) {
		line.Hex = append(line.Hex, part{p.Field, fmt.Sprintf("% x", p.Text)})
		line.Readable = append(line.Readable, part{p.Field, readable(p.Text)})
	}
	return line
}

// readable has a dot for each byte that is not printable ASCII.
func readable(bytes string) string {
	signs := []byte(bytes)
	for i, b := range signs {
		if b < ' ' || b > '~' {
			signs[i] = '.'
		}
	}
	return string(signs)
}

// hidden says what nobody would see in a text, in words: spaces at its ends, and characters that have names instead of signs.
func hidden(raw string) string {
	if n := len(raw); n > 1 && raw[0] == raw[n-1] && (raw[0] == '"' || raw[0] == '\'') {
		raw = raw[1 : n-1]
	}
	var names []string
	counts := map[string]int64{}
	for i, r := range raw {
		var name string
		if _, width := utf8.DecodeRuneInString(raw[i:]); r == utf8.RuneError && width == 1 {
			name = fmt.Sprintf("byte %02X", raw[i])
		} else if name = invisible(r); name != "" && named[r] != "" {
			name = fmt.Sprintf("U+%04X %s", r, name)
		}
		if name == "" {
			continue
		}
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if counts[name] > 1 {
			names[i] = name + " × " + text.Grouped(counts[name])
		}
	}
	if strings.HasPrefix(raw, " ") {
		names = append(names, "begins with a space")
	}
	if strings.HasSuffix(raw, " ") && strings.Trim(raw, " ") != "" {
		names = append(names, "ends with a space")
	}
	return strings.Join(names, ", ")
}
