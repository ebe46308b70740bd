package parquet

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
)

// unmeasuredFile is a file of which nobody knows how long it is, as of a server that answers in chunks.
type unmeasuredFile struct {
	file.File
	content io.Reader
}

func (f unmeasuredFile) Stream(context.Context, int64) (file.Stream, error) { return f, nil }
func (f unmeasuredFile) Read(_ context.Context, p []byte) (int, error)      { return f.content.Read(p) }

// TestUnknownLengthIsNotEmpty, whether or not empty files are allowed.
func TestUnknownLengthIsNotEmpty(t *testing.T) {
	for _, c := range []struct {
		content string
		allow   bool
		code    string
	}{
		{"PAR1…", false, codeUnsupported},
		{"PAR1…", true, codeUnsupported},
		{"", false, codeEmpty},
		{"", true, ""},
	} {
		r := &reader{source: &source{spec: pipeline.ParquetSource{AllowEmpty: c.allow}}}
		err := r.checkEmpty(t.Context(), unmeasuredFile{content: strings.NewReader(c.content)})
		if c.code == "" {
			require.NoError(t, err)
			continue
		}
		var refused *plugin.SourceError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, c.code, refused.Code)
	}
}
