package graphs_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"waymark/plugin"
	"waymark/tests/inprocess"
)

const twoSources = `
name: turns
chunk: {rows: 100}
sources:
  one: {jsonl: {path: one.jsonl}, schema: {fields: {id: int}}}
  more: {jsonl: {path: more.jsonl}, schema: {fields: {id: int}}}
sinks:
  out: {jsonl: {path: out.jsonl}}
`

// TestASlowChunkKeepsItsTurn has the first chunk stay in the steps until the second is through them: what comes out is in
// the order of the sources all the same.
func TestASlowChunkKeepsItsTurn(t *testing.T) {
	r := &record{inprocess.New(t)}
	overtaken, once := make(chan struct{}), sync.Once{}
	r.Planner = wrapping{r.Planner, 0, func(source plugin.Source) plugin.Source { return slow{source, overtaken} }}
	err := r.Run(t, "turns", twoSources, map[string]string{"one.jsonl": "{\"id\":1}" + large + "\n", "more.jsonl": "{\"id\":2}\n"}, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetOnActivityCompletedListener(func(info *sdk.Info, _ converter.EncodedValue, _ error) {
			if info.ActivityType.Name == "Pass" {
				once.Do(func() { close(overtaken) })
			}
		})
	})
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(r.Folder, "turns", "out.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "{\"id\":1}\n{\"id\":2}\n", string(content))
}

// slow is a source whose rows are not parsed before they may.
type slow struct {
	plugin.Source
	mayParse chan struct{}
}

func (s slow) Parser(context []byte) (plugin.Parser, error) {
	<-s.mayParse
	return s.Source.Parser(context)
}
