package ui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"waymark/audit"
)

// Limits of a diagram. What is longer or wider is shown as a list.
const (
	diagramColumns = 140 // of an expression
	diagramValue   = 40  // characters of a value
)

// diagram draws an expression with the value of each part under its place: a value hangs at its operator, the name of its function, or the beginning of
// its part. It is empty if the expression has several lines, is too long, or has characters that may not be as wide as others.
func diagram(expression string, values []audit.Value) string {
	if len(values) == 0 || utf8.RuneCountInString(expression) > diagramColumns || strings.ContainsFunc(expression, wide) {
		return ""
	}
	values = slices.Clone(values)
	slices.SortStableFunc(values, func(a, b audit.Value) int { return b.At - a.At })
	var bars []rune
	var lines [][]rune
	for _, v := range values {
		if v.At < 0 || v.At > diagramColumns || !strings.Contains(expression, v.Source) { // of a cast, it is not
			return ""
		}
		bars = put(bars, v.At, "|")
	}
	for _, v := range values { // from the right, so that what is to the left of a value on its line is free
		text := told(v)
		if strings.ContainsFunc(text, wide) {
			return ""
		}
		at := 0
		for at < len(lines) && !fits(lines[at], v.At, text) {
			lines[at] = put(lines[at], v.At, "|")
			at++
		}
		if at == len(lines) {
			lines = append(lines, nil)
		}
		lines[at] = put(lines[at], v.At, text)
	}
	drawing := expression + "\n" + string(bars)
	for _, line := range lines {
		drawing += "\n" + string(line)
	}
	return drawing
}

// wide reports whether a character may not take one column.
func wide(r rune) bool { return r < ' ' || r > '~' && r != '…' }

// told is a value in the length that a diagram has for it.
func told(v audit.Value) string {
	text := v.Value
	if v.Error != "" {
		text = "error"
	}
	if runes := []rune(text); len(runes) > diagramValue {
		text = string(runes[:diagramValue-1]) + "…"
	}
	return text
}

// fits reports whether a text can stand at a column of a line: all there is begins right of it, with a gap.
func fits(line []rune, at int, text string) bool {
	end := at + utf8.RuneCountInString(text) + 1
	for i := at; i < min(end, len(line)); i++ {
		if line[i] != ' ' {
			return false
		}
	}
	return true
}

// put writes a text at a column of a line.
func put(line []rune, at int, text string) []rune {
	letters := []rune(text)
	for len(line) < at+len(letters) {
		line = append(line, ' ')
	}
	copy(line[at:], letters)
	return line
}
