package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/client"
	"waymark/tests/fixtures"
	"waymark/tests/manual"
	"waymark/tests/system"
	"waymark/workflows"
)

const invoices = `
name: invoices
params:
  day: {type: date, default: "${slot:date}"}
  customer: {type: string, description: whose invoices}
schedules: {nightly: {every: day, at: "02:30", zone: Europe/Berlin, for_each: {region: [eu]}, params: {customer: all}}}
sources: {in: {csv: {path: "/data/${param:customer}.csv"}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: "/data/out/${param:day}.csv"}}}
`

// list asks Temporal alone which pipelines there are.
func list(t *testing.T, s *system.System, input any) (found activities.PipelineList, err error) {
	t.Helper()
	run, err := s.Temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{TaskQueue: workflows.TaskQueue}, workflows.ListPipelinesName, input)
	require.NoError(t, err)
	return found, run.Get(t.Context(), &found)
}

// TestListPipelines: a program that has only Temporal learns which pipelines there are, as docs/temporal.md shows it.
func TestListPipelines(t *testing.T) {
	data := t.TempDir()
	s := offering(t, map[string]string{"orders.yaml": fixtures.Orders, "invoices.yaml": "name: invoices\n", "No Name.yaml": fixtures.Orders}, data)
	file := filepath.Join(t.TempDir(), "any.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(invoices, "/data", data)), 0o600))
	_, err := s.Client.Deploy(t.Context(), client.DeployRequest{By: client.By{Actor: "ann"}, File: file, Params: map[string]string{"customer": "x"}})
	require.NoError(t, err)
	var want activities.PipelineList
	require.NoError(t, json.Unmarshal([]byte(manual.Blocks(manual.Page(t, "temporal.md"), "json")[3]), &want))
	found, err := list(t, s, nil)
	require.NoError(t, err)
	require.Equal(t, want, found)

	rest, err := list(t, s, map[string]any{"after": "invoices"})
	require.NoError(t, err)
	require.Equal(t, want.Pipelines[1:], rest.Pipelines)
	_, err = s.Client.Retire(t.Context(), client.RedeployRequest{By: client.By{Actor: "ann", Why: "a test"}, Pipeline: "invoices"})
	require.NoError(t, err)
	rest, err = list(t, s, nil)
	require.NoError(t, err)
	require.Equal(t, want.Pipelines[1:], rest.Pipelines, "what is retired does not start")
	_, err = list(t, s, map[string]any{"name": "orders"})
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, activities.TypeInput, application.Type())
	require.Equal(t, `the input has the unknown key "name"; it may have after`, application.Message())
}

// TestListManyPipelines goes from page to page, past a document that cannot be read, and one that is that of another pipeline.
func TestListManyPipelines(t *testing.T) {
	files := map[string]string{"p000.yaml": "name: [\n"}
	for i := range 220 {
		name := fmt.Sprintf("p%03d", i+1)
		files[name+".yaml"] = called(name, fixtures.Orders)
	}
	files["p100.yaml"] = fixtures.Orders
	s := offering(t, files)
	names, after := map[string]bool{}, ""
	for pages := 1; ; pages++ {
		found, err := list(t, s, map[string]any{"after": after})
		require.NoError(t, err)
		for _, one := range found.Pipelines {
			require.Equal(t, one.Pipeline == "p000" || one.Pipeline == "p100", one.Problem != "", one.Problem)
			if one.Pipeline == "p100" {
				require.Equal(t, "the file of pipeline p100 has the document of pipeline orders: write name: p100 in it, or call it orders.yaml", one.Problem)
			}
			names[one.Pipeline] = true
		}
		if after = found.Next; after == "" {
			require.Equal(t, 3, pages)
			break
		}
	}
	require.Len(t, names, len(files))
	require.True(t, names["p220"])

	long := "params: {a: {type: string, default: " + strings.Repeat("x", 200_000) + "}}\n"
	wide := offering(t, map[string]string{"a.yaml": "name: a\n" + long, "b.yaml": "name: b\n" + long, "c.yaml": "name: c\n" + long})
	found, err := list(t, wide, nil)
	require.NoError(t, err)
	require.Len(t, found.Pipelines, 2, "no answer is more than Temporal takes")
	require.Equal(t, "b", found.Next)
}
