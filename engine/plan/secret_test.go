package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin/file"
	"waymark/worker/formats"
)

// TestThePlanDoesNotTellSecrets has values of the environment and of secrets wherever a document may have them: the plan is
// recorded and tells none.
func TestThePlanDoesNotTellSecrets(t *testing.T) {
	loaded, err := pipeline.Load("p.yaml", []byte(`name: p
sources: {in: {csv: {path: "${REGION}/in.csv", comment: "#"}, schema: {fields: {id: int}}}}
sinks: {out: {postgres: {dsn: "postgres://u@h/${secret:word}", table: t}}}
`), pipeline.Environment{
		Env:            func(string) (string, bool) { return "xyzzy-north-7", true },
		Secret:         func(string, string) (string, error) { return "hunter2-hunter2", nil },
		FingerprintKey: []byte("key"),
	})
	require.NoError(t, err)
	root, err := file.NewRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	compiled, err := plan.Compile(loaded, formats.Formats{Files: file.Access{Root: root}})
	require.NoError(t, err)
	text := string(compiled.JSON())
	require.Contains(t, text, "[secret word]")
	require.Contains(t, text, "[secret REGION]/in.csv")
	require.NotContains(t, text, "hunter2")
	require.NotContains(t, text, "xyzzy")
}
