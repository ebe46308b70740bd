package plugintest

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
	"waymark/plugin"
)

// TestEncoder runs the contract of plugin.Encoder against encoders made by newEncoder, which must all be alike. good are
// rows that can be written, bad such that cannot.
func TestEncoder(t *testing.T, newEncoder func() plugin.Encoder, good, bad []row.Row) {
	t.Run("is deterministic", func(t *testing.T) {
		one, two := newEncoder(), newEncoder()
		require.Equal(t, one.Header(), two.Header())
		forwards, backwards := encodeAll(t, one, good), encodeAll(t, two, reversed(good))
		slices.Reverse(backwards)
		require.Equal(t, forwards, backwards, "the bytes of a row depend on the rows before it")
	})
	t.Run("keeps its header", func(t *testing.T) {
		e := newEncoder()
		before := slices.Clone(e.Header())
		encodeAll(t, e, good)
		require.Equal(t, before, slices.Clone(e.Header()))
	})
	t.Run("appends", func(t *testing.T) {
		e := newEncoder()
		for i, text := range encodeAll(t, newEncoder(), good) {
			got, err := e.Append([]byte("before"), good[i])
			require.NoError(t, err)
			require.Equal(t, "before"+text, string(got))
		}
	})
	t.Run("leaves dst as it was on a rejection", func(t *testing.T) {
		e := newEncoder()
		for _, r := range bad {
			got, err := e.Append([]byte("before"), r)
			var rejection *plugin.Rejection
			require.ErrorAs(t, err, &rejection)
			require.NotEmpty(t, rejection.Code)
			require.NotEmpty(t, rejection.Message)
			requireQuoted(t, rejection.Message, r)
			require.Equal(t, "before", string(got))
		}
		require.Equal(t, encodeAll(t, newEncoder(), good), encodeAll(t, e, good), "a rejection changed the rows after it")
	})
	t.Run("leaves rows as they were", func(t *testing.T) {
		for _, r := range good {
			before := r.Clone()
			encodeAll(t, newEncoder(), []row.Row{r})
			require.Equal(t, before.Values, r.Values)
		}
	})
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// requireQuoted requires that values of the row stand in quotes, if they are in the message: those who may not see values
// get it without quoted texts.
func requireQuoted(t *testing.T, message string, r row.Row) {
	t.Helper()
	rest := quoted.ReplaceAllString(message, "")
	for _, v := range r.Values {
		for _, part := range regexp.MustCompile(`\w{2,}`).FindAllString(string(row.AppendText(nil, v)), -1) {
			require.NotContains(t, rest, part)
		}
	}
}

func encodeAll(t *testing.T, e plugin.Encoder, rows []row.Row) []string {
	t.Helper()
	texts := make([]string, 0, len(rows))
	for _, r := range rows {
		text, err := e.Append(nil, r)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

func reversed(rows []row.Row) []row.Row {
	rows = slices.Clone(rows)
	slices.Reverse(rows)
	return rows
}
