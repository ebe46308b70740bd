// Package text writes for people at terminals: counts, tables, and nothing that a terminal would obey.
package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table writes lines of cells in columns. A cell stays in its line and its column, whatever is in it.
func Table(w io.Writer, lines ...[]string) error {
	var aligned bytes.Buffer
	out := tabwriter.NewWriter(&aligned, 0, 8, 2, ' ', 0)
	for _, cells := range lines {
		kept := make([]string, len(cells))
		for i, text := range cells {
			kept[i] = Cell(text)
		}
		fmt.Fprintln(out, strings.Join(kept, "\t"))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// Cell returns the text in one line, without tabs.
func Cell(text string) string {
	return strings.NewReplacer("\n", `\u000a`, "\t", `\u0009`).Replace(Visible(text))
}

// Visible replaces what a terminal would obey rather than show: control characters but the line feed, marks that turn the
// direction of text, and bytes that are not UTF-8. The replacements are valid in JSON texts as well.
func Visible(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r != '\n' && (r < ' ' || 0x7f <= r && r <= 0x9f), turnsText(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// turnsText reports whether r is one of Unicode's explicit marks of direction, or separates lines.
func turnsText(r rune) bool {
	return r == 0x061c || 0x200e <= r && r <= 0x200f || 0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// Count returns the number with the word, in the plural where that is due.
func Count(n int64, word string) string { return Grouped(n) + " " + Agree(n, word, plural(word)) }

// Agree returns one if n is 1, and many if it is not: the form of a word that follows a number, or depends on it.
func Agree(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// plural returns the plural of a regular noun.
func plural(word string) string {
	switch stem, y := strings.CutSuffix(word, "y"); {
	case y && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e"):
		return stem + "ies"
	case strings.HasSuffix(word, "ch"), strings.HasSuffix(word, "sh"), strings.HasSuffix(word, "s"):
		return word + "es"
	}
	return word + "s"
}

// Spaced returns a stored word as people read it, with spaces in the place of underscores and none at its ends.
func Spaced(word string) string { return strings.ReplaceAll(strings.Trim(word, "_"), "_", " ") }

// Grouped writes a number with a comma between groups of three digits.
func Grouped(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Size writes a number of bytes, of many in kB or MB.
func Size(bytes int64) string {
	switch {
	case bytes < 10_000:
		return Count(bytes, "byte")
	case bytes < 10_000_000:
		return fmt.Sprintf("%d kB", bytes/1_000)
	default:
		return Grouped(bytes/1_000_000) + " MB"
	}
}

// bars are signs of eight heights.
var bars = []rune("▁▂▃▄▅▆▇█")

// Bars draws values as one sign each, the highest for those of most or more; a blank stands for 0.
func Bars[N int64 | float64](values []N, most N) string {
	drawn := make([]rune, len(values))
	for i, v := range values {
		drawn[i] = ' '
		if v > 0 && most > 0 {
			drawn[i] = bars[min(int(float64(v)/float64(most)*float64(len(bars))), len(bars)-1)]
		}
	}
	return string(drawn)
}
