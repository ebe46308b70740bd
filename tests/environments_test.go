package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/client"
	"waymark/internal/temporal/attributes"
	"waymark/landscape"
	"waymark/tests/system"
	"waymark/worker"
	"waymark/workflows"
)

// TestARunIsOfAnEnvironment starts runs as people do from Temporal: in the environment that the input names, or in that of the worker.
func TestARunIsOfAnEnvironment(t *testing.T) {
	data := t.TempDir()
	allowing := func(p recompute.Planner) recompute.Planner {
		planner := p.(worker.Planner)
		planner.Allow = []string{data}
		return planner
	}
	s := system.StartWith(t, system.Options{
		Members: []worker.Member{{Files: "disk", Pipelines: data, Environment: "prod"}}, Planner: allowing, Attributes: attributes.Types(),
	})
	require.NoError(t, os.WriteFile(filepath.Join(data, "in.csv"), []byte(sharedRows(10)), 0o600))
	document := strings.NewReplacer("orders.csv", filepath.Join(data, "in.csv"), "path: out", `overwrite: true, path: "${WHERE}"`, "/all.csv", "").Replace(shared)
	for _, name := range []string{"prod", "test"} {
		_, err := s.Client.SetEnvironment(t.Context(), client.ValuesRequest{
			By: client.By{Actor: "ann", Why: "a folder"}, Environment: name, Set: map[string]string{"WHERE": filepath.Join(data, name+".csv")},
		})
		require.NoError(t, err)
	}
	deploy := func(to, comment string) {
		file := filepath.Join(t.TempDir(), "any.yaml")
		require.NoError(t, os.WriteFile(file, []byte("# "+comment+"\n"+document), 0o600))
		_, err := s.Client.Deploy(t.Context(), client.DeployRequest{By: client.By{Actor: "ann"}, File: file, To: to})
		require.NoError(t, err)
	}
	deploy("prod", "one")
	deploy("test", "one")
	deploy("test", "two")

	for environment, version := range map[string]int64{"": 1, "test": 2, "prod": 1} {
		var result workflows.RunResult
		execution := system.Execute(t, s.Temporal, "", sharedIn(environment))
		require.NoError(t, execution.Get(t.Context(), &result), environment)
		if environment == "" {
			environment = "prod"
		}
		run, err := s.Log.Run(t.Context(), result.Run)
		require.NoError(t, err)
		require.Equal(t, []any{version, environment, int64(1)}, []any{run.Version, run.Environment, run.EnvironmentSeq})
		require.Contains(t, run.Refs, `"from":"environment `+environment+`#1"`)
		require.FileExists(t, filepath.Join(data, environment+".csv"))
		start, err := s.Log.StartOfWorkflow(t.Context(), execution.GetID())
		require.NoError(t, err)
		require.Equal(t, environment, start.Environment)
		requireDeployed(t, s, result.Run, environment, version)
		s.Verify(t, result.Run)
	}
	keyed := map[string]any{"pipeline": "shared", "key": "order-4711"}
	require.NoError(t, system.Execute(t, s.Temporal, "", keyed).Get(t.Context(), nil))
	keyed["environment"] = "prod"
	require.NoError(t, system.Execute(t, s.Temporal, "", keyed).Get(t.Context(), nil), "it is that of the worker")
	keyed["environment"] = "test"
	require.ErrorContains(t, system.Execute(t, s.Temporal, "", keyed).Get(t.Context(), nil), "with another environment: give another key")
	_, err := s.Client.Retire(t.Context(), client.RedeployRequest{By: client.By{Actor: "ann", Why: "the shop closed"}, Pipeline: "shared", Environment: "prod"})
	require.NoError(t, err)
	for _, c := range []struct{ environment, kind, says string }{
		{"", activities.TypeRetired, "pipeline shared is retired in prod since "},
		{"prod", activities.TypeRetired, "by ann: the shop closed"},
		{"stage", activities.TypeNoPipeline, `no pipeline "shared" is deployed in stage`},
	} {
		execution := system.Execute(t, s.Temporal, "", sharedIn(c.environment))
		var application *temporal.ApplicationError
		require.ErrorAs(t, execution.Get(t.Context(), nil), &application)
		require.Equal(t, c.kind, application.Type())
		require.Contains(t, application.Message(), c.says)
		start, err := s.Log.StartOfWorkflow(t.Context(), execution.GetID())
		require.NoError(t, err)
		require.Equal(t, []any{landscape.StartRefused, c.kind}, []any{start.State, start.Refusal})
	}
	var result workflows.RunResult
	require.NoError(t, system.Execute(t, s.Temporal, "", map[string]any{"pipeline": "shared", "environment": "test"}).Get(t.Context(), &result))
}

// requireDeployed requires that Temporal shows in which environment, and of which version, a run is.
func requireDeployed(t *testing.T, s *system.System, run, environment string, version int64) {
	t.Helper()
	description, err := s.Temporal.DescribeWorkflowExecution(t.Context(), workflows.WorkflowID(run), "")
	require.NoError(t, err)
	info := description.GetWorkflowExecutionInfo()
	var shown string
	var tags []string
	var memo workflows.Memo
	read := converter.GetDefaultDataConverter().FromPayload
	require.NoError(t, read(info.GetSearchAttributes().GetIndexedFields()[attributes.Environment], &shown))
	require.NoError(t, read(info.GetSearchAttributes().GetIndexedFields()[attributes.Tags], &tags))
	require.NoError(t, read(info.GetMemo().GetFields()[workflows.MemoKey], &memo))
	require.Equal(t, environment, shown)
	require.Contains(t, tags, map[int64]string{1: "version:1", 2: "version:2"}[version])
	require.Equal(t, []any{environment, version}, []any{memo.Environment, memo.Version})
}

// sharedIn is the input of a run of the pipeline shared in an environment; in the workers' own if that is empty.
func sharedIn(environment string) map[string]any {
	input := map[string]any{"pipeline": "shared"}
	if environment != "" {
		input["environment"] = environment
	}
	return input
}
