package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
)

// TestDoctorOfSpans names spans that wait for long, and how many were dropped.
func TestDoctorOfSpans(t *testing.T) {
	state := Folder(t.TempDir())
	d := doctor{Options: &Options{State: state}}
	require.Zero(t, d.spans(t.Context()))
	require.NoError(t, os.Mkdir(string(state.Spans()), 0o700))
	for name, text := range map[string]string{"1000000000000000-1-1-5.otlp": "", "dropped.json": `{"spans":1200,"last":"2026-11-30T12:00:00Z"}`} {
		require.NoError(t, os.WriteFile(filepath.Join(string(state.Spans()), name), []byte(text), 0o600))
	}
	check := d.spans(t.Context())
	require.Equal(t, client.Doubtful, check.State)
	require.Regexp(t, `^5 spans waiting since 2001-09-09T01:46:40Z: .*; `+
		`1,200 spans dropped, the last at 2026-11-30T12:00:00Z: `, check.Detail)
}
