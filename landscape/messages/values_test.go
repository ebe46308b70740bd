package messages_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/landscape/messages"
)

// aValue is what Values finds.
var aValue = regexp.MustCompile(messages.Text + `|\bSQLSTATE \w{5}\b|\b` + messages.Number + `\b`)

// TestValuesAreThoseOfTheExpression finds the same values as the expression in texts made of everything that it speaks of.
func TestValuesAreThoseOfTheExpression(t *testing.T) {
	parts := rapid.SampledFrom([]string{`"`, `\`, "`", `'`, "\n", "SQLSTATE ", "SQLSTATE 22003", "1", "23", ",", ".", "a", "_", "ü", "\xff", " ", "S", "…"})
	rapid.Check(t, func(t *rapid.T) {
		message := strings.Join(rapid.SliceOf(parts).Draw(t, "parts"), "")
		require.Equal(t, aValue.FindAllString(message, -1), messages.In(message), "%q", message)
		outline := aValue.ReplaceAllStringFunc(message, messages.WithoutValue)
		require.Equal(t, outline, messages.Outline(message), "%q", message)
	})
}

// TestValuesTakeNoTime looks once at quotes that end nowhere, however many there are.
func TestValuesTakeNoTime(t *testing.T) {
	require.Nil(t, messages.In(`"`+strings.Repeat(`\"`, 1<<21)))
	require.Nil(t, messages.In(strings.Repeat("1a", 1<<21)))
}
