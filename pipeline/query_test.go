package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOpenAtEnd: a literal means a literal only where none of these is open.
func TestOpenAtEnd(t *testing.T) {
	for sql, within := range map[string]string{
		"":                           "",
		"select ":                    "",
		"select 'it''s', ":           "",
		"select 'it''s":              "quotes",
		`select "a""b", `:            "",
		`select "a'`:                 "quotes",
		"select 1 -- don't":          "a comment",
		"select 1 -- don't\n and ":   "",
		"select 1 -- don't\r and ":   "",
		"select /* ' */ ":            "",
		"select /* /* */ ":           "a comment",
		"select /* /* */ */ ":        "",
		"select /*/ ":                "a comment",
		"select $$ ' ":               "quotes",
		"select $$ ' $$, ":           "",
		"select $x$ $$ ":             "quotes",
		"select $x$ $$ ' $x$, ":      "",
		"select a$x$, ":              "",
		"where v = $1 and w = ":      "",
		`select E'a\'b`:              "quotes",
		`select E'a\\', `:            "",
		`select e'\'', `:             "",
		`select 'a\', `:              "",
		"select E":                   "a word",
		"select U&":                  "a word",
		"select 1":                   "a word",
		"select ä":                   "a word",
		"select ж":                   "a word",
		"select $ж$ ' $ж$, ":         "",
		"select $ж$ ' ":              "quotes",
		"select ж$x$, ":              "",
		"select 1 & ":                "",
		"select interval ":           "",
		"select '$x$', $x$ ' $x$, '": "quotes",
	} {
		require.Equal(t, within, openAtEnd(sql), "%s", sql)
	}
}
