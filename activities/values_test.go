package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/bundle"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
)

// TestARunSaysInWhichValuesItDiffersFromTheLastOneOfItsVersion: it may have gone to another worker than that.
func TestARunSaysInWhichValuesItDiffersFromTheLastOneOfItsVersion(t *testing.T) {
	r := newRig(t, `
name: p
params: {n: {type: string}}
sources: {in: {csv: {path: "${PLACE}.csv"}, schema: {fields: {id: string}}}}
sinks: {out: {jsonl: {path: "${DEST}-${param:n}.jsonl"}}}
`, map[string]string{"input.csv": "id\n1\n"})
	r.forgetful = true
	made := bundle.Bundle{Name: "p.yaml", Source: []byte(r.document)}
	require.NoError(t, bundle.Put(t.Context(), r.payloads, made))
	manifest := made.Manifest()
	_, err := r.log.Deploy(t.Context(), landscape.DefaultEnvironment, landscape.Bundle{
		SHA256: string(manifest.Digest()), Document: string(payload.Of(made.Source)), Manifest: string(manifest.JSON()), Files: 1, Bytes: manifest.Bytes(),
	}, landscape.PipelineVersion{Pipeline: "p", Actor: "tester", Code: "test", Host: "h"})
	require.NoError(t, err)
	t.Setenv("PLACE", "input")
	for _, test := range []struct{ run, dest, key, says string }{
		{"first", "east", "a key", ""},
		{"same", "east", "a key", ""},
		{"dest", "west", "a key", "${DEST}: other values than in run same of the same version, which began on "},
		{"again", "west", "a key", ""},
		{"key", "west", "another key", "${DEST}, ${PLACE}: other values than in run again of the same version, which began on "},
	} {
		t.Setenv("DEST", test.dest)
		r.planner = planFunc(func(request plan.Request) (*plan.Plan, error) {
			request.Folder = r.folder
			return planner{key: test.key}.Plan(request)
		})
		r.restart()
		for range 2 { // it may be repeated
			_, err := try[activities.Opened](r, act.OpenRun, activities.OpenInput{Run: test.run, Pipeline: "p", Params: activities.Params{"n": test.run}})
			require.NoError(t, err, test.run)
		}
		said, err := r.log.OtherValues(t.Context(), test.run)
		require.NoError(t, err)
		if test.says == "" {
			require.Empty(t, said, test.run)
			continue
		}
		require.Contains(t, said, test.says)
		require.Equal(t, test.run == "key", len(said) > 0 && said[len(said)-4:] == "keys", said)
		events, err := landscape.Select[landscape.RunEvent](t.Context(), r.log, test.run)
		require.NoError(t, err)
		require.Len(t, events, 1)
	}
}
