package expr

import (
	"fmt"
	"strings"
)

// unknownEscape returns the first escape of the text, which begins with its quote and may be cut short, that texts do not
// have: \d, or one such as \u whose digits are missing, and which these are. It returns "" if there is none.
func unknownEscape(text string) (escape, needs string) {
	if !strings.HasPrefix(text, "'") && !strings.HasPrefix(text, `"`) {
		return "", ""
	}
	runes := []rune(text)
	for i := 1; i+1 < len(runes); i++ {
		if runes[i] != '\\' {
			continue
		}
		i++
		kind, digits := runes[i], escapeDigits(runes[i])
		switch {
		case kind < ' ':
			return "", ""
		case strings.ContainsRune("abfnrtv\\?\"'`", kind), digits > 0 && areDigits(runes[i+1:], digits, "0123456789abcdefABCDEF"),
			kind >= '0' && kind <= '3' && areDigits(runes[i+1:], 2, "01234567"):
		case digits > 0:
			return `\` + string(kind), fmt.Sprintf(" without %d hexadecimal digits", digits)
		default:
			return `\` + string(kind), ""
		}
	}
	return "", ""
}

// escapeDigits returns how many hexadecimal digits follow this letter of an escape.
func escapeDigits(kind rune) int {
	switch kind {
	case 'x', 'X':
		return 2
	case 'u':
		return 4
	case 'U':
		return 8
	}
	return 0
}

// areDigits reports whether the text begins with so many of these digits.
func areDigits(text []rune, count int, digits string) bool {
	for i := range count {
		if i >= len(text) || !strings.ContainsRune(digits, text[i]) {
			return false
		}
	}
	return true
}
