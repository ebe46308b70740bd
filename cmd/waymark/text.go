package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"waymark/client"
)

// print writes for people, or v as one line of JSON if that is asked for. Nothing in either can move the cursor, or make
// text look other than it is.
func (a *app) print(v any, people func(w io.Writer) error) error {
	return printList(a, []any{v}, people)
}

// printList is print for a list: one line of JSON for each item.
func printList[T any](a *app, items []T, people func(w io.Writer) error) error {
	var out bytes.Buffer
	write := people
	if a.json {
		write = func(w io.Writer) error { return encodeLines(w, items) }
	}
	if err := write(&out); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdout, visible(out.String()))
	return err
}

func encodeLines[T any](w io.Writer, items []T) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, item := range items {
		if err := encoder.Encode(item); err != nil {
			return err
		}
	}
	return nil
}

// endWith ends the program with the code after a result was printed, or with the error that kept it from being printed.
func endWith(code int, printed error) error {
	if printed != nil || code == exitDone {
		return printed
	}
	return exitError{code: code}
}

// note tells something on stderr that a person at the terminal may want to know.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, "waymark: %s\n", visible(fmt.Sprintf(format, args...)))
	}
}

// table writes lines of cells in columns. A cell stays in its line and its column, whatever is in it.
func table(w io.Writer, lines ...[]string) error {
	var aligned bytes.Buffer
	out := tabwriter.NewWriter(&aligned, 0, 8, 2, ' ', 0)
	for _, cells := range lines {
		kept := make([]string, len(cells))
		for i, text := range cells {
			kept[i] = cell(text)
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

// cell returns the text in one line, without tabs.
func cell(text string) string {
	return strings.NewReplacer("\n", `\u000a`, "\t", `\u0009`).Replace(visible(text))
}

// visible replaces what a terminal would obey rather than show: control characters but the line feed, marks that turn the
// direction of text, and bytes that are not UTF-8. The replacements are valid in JSON texts as well.
func visible(text string) string {
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

// moment shows a time for people; nothing for a moment that has not come.
func moment(at client.Time) string {
	if !at.Known() {
		return "-"
	}
	return at.Time().Format("2006-01-02 15:04:05Z")
}

// many returns the number with the word, in the plural where that is due.
func many(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return grouped(n) + " " + word + "s"
}

// grouped writes a number with a comma between groups of three digits.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
