package s3store_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/s3store"
	"waymark/tests/services/buckets"
)

// TestFiles holds that a file is written once under its name, and read as it was written, also if it is longer than a note may be.
func TestFiles(t *testing.T) {
	bucket := buckets.New(t)
	bucket.Setenv(t)
	notes, err := s3store.OpenNotes(t.Context(), bucket.URL("files"))
	require.NoError(t, err)
	text := strings.Repeat("bundle", 500_000)
	put := func(name, text string) error {
		return notes.PutFile(t.Context(), name, strings.NewReader(text), int64(len(text)), sha256.Sum256([]byte(text)))
	}
	for range 2 { // repeating it changes nothing
		require.NoError(t, put("a.zip", text))
	}
	require.ErrorIs(t, put("a.zip", text+"."), s3store.ErrTaken)
	var read bytes.Buffer
	require.NoError(t, notes.GetFile(t.Context(), "a.zip", &read))
	require.Equal(t, text, read.String())
	require.ErrorIs(t, notes.GetFile(t.Context(), "b.zip", &read), payload.ErrNotFound)
	require.Error(t, notes.PutFile(t.Context(), "c.zip", strings.NewReader("c"), 1, sha256.Sum256([]byte("d"))), "the server compares")
	require.ErrorIs(t, notes.GetFile(t.Context(), "c.zip", &read), payload.ErrNotFound)
	require.ErrorContains(t, notes.PutFile(t.Context(), "d.zip", strings.NewReader("d"), 6<<30, sha256.Sum256([]byte("d"))), "longer than one object")
}
