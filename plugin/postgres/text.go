package postgres

import (
	"strconv"
	"strings"

	"waymark/pipeline/row"
)

// maxExcerptBytes is how much of a row may stand in a message.
const maxExcerptBytes = 64

// oneLine returns the first bytes of a text, with control characters escaped.
func oneLine(text string, most int) string {
	text = row.Clip(text, most)
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
}

// excerpt returns the beginning of a text in quotes, with control characters escaped.
func excerpt(text string) string { return strconv.Quote(row.Clip(text, maxExcerptBytes)) }
