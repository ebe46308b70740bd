package pgstore

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/landscape"
)

func TestTextsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(
			rapid.String(), rapid.SampledFrom([]string{"\x00", "\xff", "\xe2\x90", landscape.TextEscape, landscape.TextEscape + "00", "00", "é", "\ufffd"}),
		)).Draw(t, "parts")
		text := ""
		for _, part := range parts {
			text += part
		}
		held := landscape.PortableText(text)
		require.True(t, utf8.ValidString(held))
		require.NotContains(t, held, "\x00")
		require.Equal(t, text, decode(held))
	})
}

func TestOrdinaryTextsAreThemselves(t *testing.T) {
	for _, text := range []string{"", "orders", "größer", "\ufffd", "a\tb\nc", "{\"a\":\"\\u0000\"}"} {
		require.Equal(t, text, landscape.PortableText(text))
		require.Equal(t, text, decode(text))
	}
	require.Equal(t, "a␛00b", landscape.PortableText("a\x00b"))
	require.Equal(t, "␛zz␛0", decode("␛zz␛0"), "what nobody encoded")
}
