package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// TestRecord shows all of a record as text and as bytes, and marks the fields in both.
func TestRecord(t *testing.T) {
	raw := "1,\"é\u00a0\u00a0x \",,<b>&0123456789"
	r := recordOf(audit.Origin{Raw: raw, Fields: []audit.Piece{{Field: "id", Offset: 0, Length: 1}, {Field: "note", Offset: 2, Length: 10}, {Field: "none", Offset: 13}, {Field: "rest", Offset: 14, Length: 14}}})
	require.Equal(t, []part{{0, "1"}, {-1, ","}, {1, "\"é\u00a0\u00a0x \""}, {-1, ",,"}, {3, "<b>&0123456789"}}, r.Parts)
	require.Equal(t, []hexLine{
		{"000000", []part{{0, "31"}, {-1, "2c"}, {1, "22 c3 a9 c2 a0 c2 a0 78 20 22"}, {-1, "2c 2c"}, {3, "3c 62"}}, "", []part{{0, "1"}, {-1, ","}, {1, `"......x "`}, {-1, ",,"}, {3, "<b"}}},
		{"000010", []part{{3, "3e 26 30 31 32 33 34 35 36 37 38 39"}}, strings.Repeat(" ", 12), []part{{3, ">&0123456789"}}},
	}, r.Lines)
	require.Equal(t, "U+00A0 NBSP × 2, ends with a space", r.Fields[1].Hidden)
	require.Equal(t, []bool{true, true, false, true}, []bool{r.Fields[0].Shown, r.Fields[1].Shown, r.Fields[2].Shown, r.Fields[3].Shown})
	require.Nil(t, recordOf(audit.Origin{}))
}

// TestLongRecord shows the beginning of a record, and says how much is left.
func TestLongRecord(t *testing.T) {
	raw := "a" + strings.Repeat("é", 3000)
	pieces := []audit.Piece{{Field: "all", Length: 1}, {Field: "end", Offset: len(raw) - 2, Length: 2}}
	for len(pieces) < 300 {
		pieces = append(pieces, audit.Piece{Field: "more", Offset: len(raw)})
	}
	r := recordOf(audit.Origin{Raw: raw, Fields: pieces})
	require.EqualValues(t, len(raw)-4095, r.Left, "no character is cut in two")
	require.Len(t, r.Lines, 256)
	require.Len(t, r.Fields, mostFields)
	require.Equal(t, 100, r.More)
	require.True(t, r.Fields[0].Shown)
	require.False(t, r.Fields[1].Shown)
	require.Equal(t, "é", r.Fields[1].Text)
	bytes := recordOf(audit.Origin{RawBase64: []byte(strings.Repeat("\x80", 5000))})
	require.LessOrEqual(t, bytes.Left, int64(5000-mostShown+4))
}

func TestHidden(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", "plain": "", `"x"`: "", " x": "begins with a space", `"x "`: "ends with a space", "'": "", " ": "begins with a space",
		"\u202eb\u200b\u200b": "U+202E RLO, U+200B ZWSP × 2", "\ufeffid": "U+FEFF BOM", "a\xff": "byte FF", "\u2003x": "U+2003", "a\tb": "U+0009 TAB",
	} {
		require.Equal(t, want, hidden(raw), "%q", raw)
	}
}
