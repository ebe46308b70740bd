package messages_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/landscape/messages"
)

// aValue is what Values finds, and what is none because of its apostrophe.
var aValue = regexp.MustCompile(messages.Possessive + `|` + messages.Text + `|\bSQLSTATE \w{5}\b|\b` + messages.Number + `\b`)

// TestValuesAreThoseOfTheExpression finds the same values as the expression in texts made of everything that it speaks of.
func TestValuesAreThoseOfTheExpression(t *testing.T) {
	parts := rapid.SampledFrom([]string{`"`, `\`, "`", `'`, "\n", "SQLSTATE ", "SQLSTATE 22003", "1", "23", ",", ".", "a", "_", "ü", "\xff", " ", "S", "…", "it", "'s", "server's", "server's ", "E's "})
	none := regexp.MustCompile(`^` + messages.Possessive + `$`)
	rapid.Check(t, func(t *rapid.T) {
		message := strings.Join(rapid.SliceOf(parts).Draw(t, "parts"), "")
		values := slices.DeleteFunc(aValue.FindAllString(message, -1), none.MatchString)
		if len(values) == 0 {
			values = nil
		}
		require.Equal(t, values, messages.In(message), "%q", message)
		outline := aValue.ReplaceAllStringFunc(message, func(found string) string {
			if none.MatchString(found) {
				return found
			}
			return messages.WithoutValue(found)
		})
		require.Equal(t, outline, messages.Outline(message), "%q", message)
	})
}

// TestValuesTakeNoTime looks once at quotes that end nowhere, however many there are.
func TestValuesTakeNoTime(t *testing.T) {
	require.Nil(t, messages.In(`"`+strings.Repeat(`\"`, 1<<21)))
	require.Nil(t, messages.In(strings.Repeat("1a", 1<<21)))
}
