package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
)

// asked returns a source, and what it may read of rows that came with a request, which are stored as packed.
func asked(t *testing.T, run string, rows []byte, packed []byte) (plugin.Source, plugin.SourceInfo) {
	t.Helper()
	s, err := NewSource("in", pipeline.WebhookSource{Records: "data.items"}, pipeline.Schema{}, func(_ context.Context, payload string) ([]byte, error) {
		require.Equal(t, "digest", payload)
		return packed, nil
	})
	require.NoError(t, err)
	sum := sha256.Sum256(rows)
	info := s.(plugin.Requestable).Requested(run, plugin.RequestRows{Source: "in", Payload: "digest", SHA256: hex.EncodeToString(sum[:]), Rows: 2, Bytes: int64(len(rows))})
	return s, plugin.SourceInfo{Files: []plugin.FileInfo{info}}
}

// TestRowsOfARequest: they are read as they were given, each on a line of its own, wherever the records of deliveries are.
func TestRowsOfARequest(t *testing.T) {
	rows, err := Rows([]byte("{\"id\": 1}\r\n\n  {\"id\":2, \"a\":\"<\"} \n"))
	require.NoError(t, err)
	text := JoinRows(rows)
	s, pin := asked(t, "r1", text, PackRows("r1", "in", 0, text))
	reader, err := s.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	var chunk plugin.Chunk
	require.NoError(t, reader.Next(t.Context(), plugin.Limits{Rows: 10, Bytes: 1000}, &chunk))
	require.Equal(t, []string{`{"id": 1}`, `{"id":2, "a":"<"}`}, []string{string(chunk.Record(0)), string(chunk.Record(1))})
	require.Equal(t, "request://r1/in", chunk.File)
	require.ErrorIs(t, reader.Next(t.Context(), plugin.Limits{Rows: 10, Bytes: 1000}, &chunk), io.EOF)
}

// TestNobodyReadsTheRowsOfAnotherRequest, whatever a run says which payload holds its own.
func TestNobodyReadsTheRowsOfAnotherRequest(t *testing.T) {
	text := []byte(`[{"id":1}]`)
	for name, packed := range map[string][]byte{
		"of another run":          PackRows("r2", "in", 0, text),
		"of a run with a like id": PackRows("r", "1/in", 0, text),
		"of another source":       PackRows("r1", "other", 0, text),
		"a delivery":              Pack("r1/in", text),
		"other rows":              PackRows("r1", "in", 0, []byte(`[{"id":2}]`)),
		"bytes":                   text,
	} {
		s, pin := asked(t, "r1", text, packed)
		reader, err := s.Open(t.Context(), plugin.Cursor{}, pin)
		require.NoError(t, err)
		fault, is := errors.AsType[*plugin.SourceError](reader.Next(t.Context(), plugin.Limits{Rows: 1, Bytes: 1}, new(plugin.Chunk)))
		require.True(t, is, name)
		require.Equal(t, "SOURCE_CHANGED", fault.Code, name)
	}
	require.NotEqual(t, PackRows("r1", "in", 0, text), PackRows("r1", "in", 1, text), "of two requests are two payloads")
}

func TestRowsInATextOfAnyForm(t *testing.T) {
	for text, want := range map[string][]string{
		"": {}, "[]": {}, `{"a":1}`: {`{"a":1}`}, "[{}, 5 ,\n[ ]]": {"{}", "5", "[ ]"}, "{}\n\n{}": {"{}", "{}"}, " {\n} ": {"{\n}"},
	} {
		rows, err := Rows([]byte(text))
		require.NoError(t, err, text)
		got := []string{}
		for _, row := range rows {
			got = append(got, string(row))
		}
		require.Equal(t, want, got, text)
		require.True(t, json.Valid(JoinRows(rows)), text)
	}
	_, err := Rows([]byte("{}\n{\"a\":}\n"))
	require.EqualError(t, err, "line 2 is no JSON")
}
