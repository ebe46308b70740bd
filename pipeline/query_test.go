package pipeline_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestReferencesInQueries: a reference means a literal only where none of these is open.
func TestReferencesInQueries(t *testing.T) {
	refused := regexp.MustCompile(`\$\{param:p\} stands within (.*?): a reference is a whole literal`)
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
		document := fromTable("dsn: host=a, order_by: [a], query: "+strconv.Quote(sql+"${param:p}")) +
			"params: {p: {type: int, default: 7}}\n"
		_, err := pipeline.Load("x.yaml", []byte(document), pipeline.Environment{})
		found := ""
		if match := refused.FindStringSubmatch(fmt.Sprint(err)); match != nil {
			found = match[1]
		} else {
			require.NoError(t, err, "%s", sql)
		}
		require.Equal(t, within, found, "%s", sql)
	}
}
