package engine_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
	"waymark/engine/plan"
	"waymark/plugin"
)

// finishing is a sink whose bytes are made for a whole part.
type finishing struct {
	plugin.Sink
	finish func(rows []byte) ([]byte, error)
}

func (s finishing) Encoder(fields []string, open bool) (plugin.Encoder, error) {
	inner, err := s.Sink.Encoder(fields, open)
	return finisher{inner, s.finish}, err
}

type finisher struct {
	plugin.Encoder
	finish func(rows []byte) ([]byte, error)
}

func (f finisher) Finish(rows []byte) ([]byte, error) { return f.finish(rows) }

// withFinishing returns a plan with two sinks, whose parts are made by finish, and a chunk of which all rows go to the sink all.
func withFinishing(t *testing.T, finish func(rows []byte) ([]byte, error)) (*plan.Plan, *plugin.Chunk) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,kind,amount\n1,a,1\n2,b,2\n"), 0o600))
	p := compile(t, folder, strings.Replace(head, "    schema:", "    on_invalid: none\n    schema:", 1)+
		"sinks: {all: {jsonl: {path: out/all.jsonl}}, none: {jsonl: {path: out/none.jsonl}}}\n")
	for _, i := range p.Sinks() {
		p.Nodes[i].Sink = finishing{p.Nodes[i].Sink, finish}
	}
	return p, read(t, p)
}

func TestAPartIsFinishedBeforeItIsHashed(t *testing.T) {
	p, chunk := withFinishing(t, func(rows []byte) ([]byte, error) {
		require.NotEmpty(t, rows)
		return []byte("<" + string(rows) + ">"), nil
	})
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	for range 2 { // the gathered rows of one chunk are none of the next
		result, err := runner.Run(begin(p, chunk))
		require.NoError(t, err)
		part := result.Parts[p.Find("all")]
		require.Equal(t, "<{\"id\":1,\"kind\":\"a\",\"amount\":1}\n{\"id\":2,\"kind\":\"b\",\"amount\":2}\n>", string(part.Data))
		require.Equal(t, sha256.Sum256(part.Data), part.SHA256)
		require.Equal(t, int64(2), part.Rows)
		require.Empty(t, result.Parts[p.Find("none")].Data, "a part without rows is none")
	}
	story, err := runner.Trace(begin(p, chunk), 1)
	require.NoError(t, err)
	require.Equal(t, `{"id":2,"kind":"b","amount":2}`, string(story.Events[len(story.Events)-1].Encoded))
}

func TestAPartThatCannotBeMadeStopsTheRun(t *testing.T) {
	trouble := errors.New("no file can be made of it")
	p, chunk := withFinishing(t, func([]byte) ([]byte, error) { return nil, trouble })
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	_, err = runner.Run(begin(p, chunk))
	var unfinished *engine.UnfinishedError
	require.ErrorAs(t, err, &unfinished)
	require.ErrorIs(t, err, trouble)
	require.Equal(t, "all: its part cannot be made: no file can be made of it", err.Error())
}
