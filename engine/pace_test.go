package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
)

// A pass ends between two records once it is told to, and its Runner is good for the next one.
func TestAPassStops(t *testing.T) {
	folder := t.TempDir()
	input := "id\n" + strings.Repeat("1\n", 5000)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(input), 0o600))
	p := compile(t, folder, `
name: stops
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
steps: [{name: more, set: {more: row.id + 1}}]
sinks: {out: {jsonl: {path: out.jsonl}}}
`)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	in, ordered, asked := begin(p, read(t, p)), errors.New("somebody cancelled the run"), 0
	in.Stop = func() error {
		if asked++; asked > 2 {
			return ordered
		}
		return nil
	}
	_, err = runner.Run(in)
	require.ErrorIs(t, err, ordered)
	require.Equal(t, 3, asked)

	in.Stop = nil
	result, err := runner.Run(in)
	require.NoError(t, err)
	require.EqualValues(t, 5000, result.Parts[p.Find("out")].Rows)
}
