package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxExcerptBytes is how much of a row may stand in a message.
const maxExcerptBytes = 64

// oneLine returns the first bytes of a text, with control characters escaped.
func oneLine(text string, most int) string {
	text = cut(text, most)
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
}

// excerpt returns the beginning of a text in quotes, with control characters escaped.
func excerpt(text string) string { return strconv.Quote(cut(text, maxExcerptBytes)) }

// cut returns at most the first bytes of a text, as whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
