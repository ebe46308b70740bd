package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// brokenSource is a source with a defect: its parser panics at some records.
type brokenSource struct{ plugin.Source }

func (s brokenSource) Parser(context []byte) (plugin.Parser, error) {
	inner, err := s.Source.Parser(context)
	return brokenParser{inner}, err
}

type brokenParser struct{ plugin.Parser }

func (p brokenParser) Parse(text string, values []row.Value) (row.Row, error) {
	if strings.Contains(text, "defect") {
		panic("index out of range")
	}
	return p.Parser.Parse(text, values)
}

func TestADefectIsConfinedToTheRowThatMetIt(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,kind,amount\n1,a,1\n2,defect,2\n3,defect,3\n4,b,4\n"), 0o600))
	p := compile(t, folder, strings.Replace(head, "    schema:", "    on_invalid: quarantine\n    schema:", 1)+"sinks: {all: {csv: {path: out/all.csv}}}\n")
	chunk := read(t, p)
	source := p.Sources()[0]
	p.Nodes[source].Source = brokenSource{p.Nodes[source].Source}
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	result, err := runner.Run(begin(p, chunk))
	require.NoError(t, err)
	require.Equal(t, "1,a,1\n4,b,4\n", output(p, result, "all"))
	require.Len(t, result.Rejected, 2)
	for i, rejected := range result.Rejected {
		require.Equal(t, i+1, rejected.Index)
		require.Equal(t, engine.CodePanic, rejected.Code)
		require.Equal(t, "index out of range", rejected.Message)
	}
}
