package worker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/plan"
	"waymark/worker"
)

const local = `
name: local
sources: {a: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
sinks: {b: {csv: {path: out.csv}}}
`

func TestAConfinedPlannerGivesDocumentsTheFoldersThatAreAllowed(t *testing.T) {
	allowed, other := t.TempDir(), t.TempDir()
	inside := filepath.Join(allowed, "inside")
	require.NoError(t, os.Mkdir(inside, 0o700))
	p := worker.Planner{Allow: []string{allowed}, Confined: true}
	compile := func(folder string) error {
		_, err := p.Plan(plan.Request{File: "p.yaml", Folder: folder, Document: []byte(local)})
		return err
	}
	require.NoError(t, compile(allowed))
	require.NoError(t, compile(inside))
	for folder, says := range map[string]string{
		other: "none that this worker gives to documents", "/": "none that this worker gives to documents",
		"": "none that this worker gives to documents", ".": "none that this worker gives to documents",
		allowed + "/../" + filepath.Base(other): "none that this worker gives to documents",
		filepath.Join(allowed, "gone"):          "is not on this machine",
	} {
		require.ErrorContains(t, compile(folder), says, folder)
	}
	p.Confined = false
	require.NoError(t, compile(other))
}

func TestAConfinedPlannerGivesDocumentsTheVariablesThatAreAllowed(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("AWS_SECRET_ACCESS_KEY", "the key of the worker")
	t.Setenv("REGION_NAME", "north")
	p := worker.Planner{Allow: []string{folder}, AllowEnv: []string{"REGION_NAME"}, Confined: true, FingerprintKey: []byte("key")}
	compile := func(variable string) error {
		document := strings.Replace(local, "sinks:", `steps: [{name: s, set: {a: "'${`+variable+`}'"}}]`+"\nsinks:", 1)
		document = strings.Replace(document, "path: in.csv", "path: in.csv, comment: '${"+variable+"}'", 1)
		_, err := p.Plan(plan.Request{File: "p.yaml", Folder: folder, Document: []byte(document)})
		return err
	}
	require.ErrorContains(t, compile("AWS_SECRET_ACCESS_KEY"), "none that this worker gives to documents")
	require.NotContains(t, compile("REGION_NAME").Error(), "none that this worker gives to documents")
	p.Confined = false
	require.NotContains(t, compile("AWS_SECRET_ACCESS_KEY").Error(), "none that this worker gives to documents")
}
