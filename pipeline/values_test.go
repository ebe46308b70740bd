package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

const regional = `
name: regional
sources: {in: {csv: {path: "${FOLDER}/${REGION}.csv"}}}
sinks: {out: {csv: {path: out.csv}}}
`

// TestValuesOfAnEnvironment holds that they come before variables, need no permission, and that the record says where they are from.
func TestValuesOfAnEnvironment(t *testing.T) {
	env := pipeline.Environment{
		Values: map[string]string{"REGION": "eu"}, ValuesOf: "prod#12", FingerprintKey: []byte("key"),
		Env:     func(name string) (string, bool) { return "variable-" + name, true },
		MayRead: func(name string) bool { return name == "FOLDER" },
	}
	doc, err := pipeline.Load("f.yaml", []byte(regional), env)
	require.NoError(t, err)
	require.Equal(t, "variable-FOLDER/eu.csv", doc.Pipeline.Sources[0].Value.CSV.Path)
	require.Len(t, doc.References, 2)
	folder, region := doc.References[0], doc.References[1]
	require.Equal(t, []string{"FOLDER", ""}, []string{folder.Name, folder.From})
	require.Equal(t, []string{"REGION", "environment prod#12"}, []string{region.Name, region.From})
	require.NotEmpty(t, region.Fingerprint)

	env.Values, env.ValuesOf = nil, "prod"
	_, err = pipeline.Load("f.yaml", []byte(regional), env)
	require.ErrorContains(t, err, "or give the environment prod a value, with waymark env set prod REGION=VALUE")
	env.ValuesOf = ""
	_, err = pipeline.Load("f.yaml", []byte(regional), env)
	require.ErrorContains(t, err, "--allow-env REGION")
	require.NotContains(t, err.Error(), "waymark env set")
}
