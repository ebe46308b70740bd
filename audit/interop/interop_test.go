package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"waymark/audit/interop"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
	"waymark/tests/services"
)

const run = "0190c0de-0000-7000-8000-000000000001"

// play records a run that ended as status says.
func play(t *testing.T, id string, status pipeline.RunStatus) *landscape.Reader {
	t.Helper()
	at := time.Date(2025, 3, 1, 8, 0, 0, 0, time.UTC)
	driver := blank.New(t)
	log := landscape.New(driver, func() time.Time { at = at.Add(time.Second); return at })
	scene := landscapetest.Scene{Run: id, Chunks: 2, ChunkRows: 30}
	if status == pipeline.CompletedWithFailures {
		require.NoError(t, scene.Play(t.Context(), log))
	} else {
		require.NoError(t, scene.Begin(t.Context(), log))
		require.NoError(t, log.StopRun(t.Context(), id, status, "it broke"))
	}
	return landscape.NewReader(driver)
}

func written(t *testing.T, form interop.ToFile, log *landscape.Reader, id string) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, form(t.Context(), log, id, &out))
	var again bytes.Buffer
	require.NoError(t, form(t.Context(), log, id, &again))
	require.Equal(t, out.Bytes(), again.Bytes(), "the same bytes each time")
	return out.Bytes()
}

// TestOpenLineage holds that events are what the specification asks for, and say how a run ended.
func TestOpenLineage(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("testdata/openlineage.json")
	require.NoError(t, err)
	for status, want := range map[pipeline.RunStatus]string{
		pipeline.CompletedWithFailures: "COMPLETE", pipeline.Failed: "FAIL", pipeline.Interrupted: "ABORT",
	} {
		for _, id := range []string{run, "by-hand"} {
			lines := strings.SplitAfter(string(written(t, interop.OpenLineage, play(t, id, status), id)), "\n")
			require.Len(t, lines, 3)
			var events [2]struct {
				EventType       string
				Run             struct{ RunID string }
				Inputs, Outputs []struct{ Namespace, Name string }
			}
			for i := range events {
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(lines[i]))
				require.NoError(t, err)
				require.NoError(t, schema.Validate(value), lines[i])
				require.NoError(t, json.Unmarshal([]byte(lines[i]), &events[i]))
			}
			require.Equal(t, []string{"START", want}, []string{events[0].EventType, events[1].EventType})
			require.Equal(t, events[0].Run, events[1].Run)
			require.Equal(t, id == run, events[1].Run.RunID == run, "an id that is a UUID stays")
			require.NotEmpty(t, events[1].Inputs)
			require.Equal(t, "file", events[1].Inputs[0].Namespace)
			require.True(t, filepath.IsAbs(events[1].Inputs[0].Name), events[1].Inputs[0].Name)
			require.Equal(t, want == "COMPLETE", len(events[1].Outputs) == 3)
			require.Equal(t, want != "COMPLETE", strings.Contains(lines[1], `"message":"it broke"`))
		}
	}
}

func TestDatasetName(t *testing.T) {
	for path, want := range map[string][2]string{
		"/data/a?b.csv":                           {"file", "/data/a?b.csv"},
		"s3://buck/in/a+b.csv":                    {"s3://buck", "in/a+b.csv"},
		"s3://buck/in/100%?#a.csv":                {"s3://buck", "in/100%?#a.csv"},
		"https://example.com:8443/a%20b.csv?v=1":  {"https://example.com:8443", "a b.csv"},
		"postgres://127.0.0.1:56501/app/public.q": {"postgres://127.0.0.1:56501", "app.public.q"},
		"postgres://db:5432/a%2Fb/Sales-2026.out": {"postgres://db:5432", "a/b.Sales-2026.out"},
		"postgres://db:5432/app/s.50% a/b":        {"postgres://db:5432", "app.s.50% a/b"},
		"postgres://%2Frun:5432/app/public.q":     {"postgres://%2Frun:5432", "app.public.q"},
		"postgres://db:5432/app/query:1234abcd":   {"postgres://db:5432", "app.query:1234abcd"},
	} {
		namespace, name := interop.DatasetName(path)
		require.Equal(t, want, [2]string{namespace, name}, path)
	}
}

// TestPROV holds that the library prov for Python reads a document, and writes the same again.
func TestPROV(t *testing.T) {
	python := services.PythonWith(t, "prov")
	document := written(t, interop.PROV, play(t, run, pipeline.CompletedWithFailures), run)
	cmd := exec.CommandContext(t.Context(), python, "-B", "testdata/read_prov.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(document), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.JSONEq(t, `{"unknown": [], "kinds": {
		"Activity": 9, "Agent": 2, "Association": 1, "Communication": 8, "Delegation": 1, "Entity": 5, "Generation": 3, "Start": 8, "Usage": 2
	}}`, string(out))
}

// TestROCrate holds that the library ro-crate finds nothing wrong with a crate, and that it has what the profile Workflow Run Crate asks for.
func TestROCrate(t *testing.T) {
	modules := services.NodeModules(t, "ro-crate")
	for _, status := range []pipeline.RunStatus{pipeline.CompletedWithFailures, pipeline.Failed} {
		folder := t.TempDir()
		files, err := interop.ROCrate(context.Background(), play(t, run, status), run, folder)
		require.NoError(t, err)
		require.Len(t, files, 2)
		cmd := exec.CommandContext(t.Context(), "node", "testdata/rocrate.cjs", folder)
		cmd.Env, cmd.Stderr = append(os.Environ(), "NODE_PATH="+modules), os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		require.JSONEq(t, `{"broken": [], "checked": 9, "unknown": [], "loose": [], "missing": []}`, string(out))
		requireWorkflowRun(t, folder, status == pipeline.CompletedWithFailures)
	}
}

// requireWorkflowRun checks what https://w3id.org/ro/wfrun/workflow/0.5 requires of the workflow and of its run.
func requireWorkflowRun(t *testing.T, folder string, complete bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "ro-crate-metadata.json"))
	require.NoError(t, err)
	var crate struct {
		Graph []map[string]any `json:"@graph"`
	}
	require.NoError(t, json.Unmarshal(text, &crate))
	entities := map[any]map[string]any{}
	for _, e := range crate.Graph {
		require.NotContains(t, entities, e["@id"], "an entity is described once")
		entities[e["@id"]] = e
	}
	of := func(e map[string]any, property string) map[string]any {
		return entities[e[property].(map[string]any)["@id"]]
	}
	root := entities["./"]
	require.Contains(t, root["conformsTo"], map[string]any{"@id": "https://w3id.org/ro/wfrun/workflow/0.5"})
	workflow := of(root, "mainEntity")
	require.Subset(t, workflow["@type"], []any{"File", "SoftwareSourceCode", "ComputationalWorkflow"})
	require.Equal(t, "ComputerLanguage", of(workflow, "programmingLanguage")["@type"])
	action := of(root, "mentions")
	require.Equal(t, "CreateAction", action["@type"])
	require.Equal(t, workflow, of(action, "instrument"))
	require.Equal(t, "Person", of(action, "agent")["@type"])
	require.Subset(t, root["hasPart"], action["object"])
	require.Subset(t, root["hasPart"], action["result"])
	if complete {
		require.Len(t, action["result"], 3)
		require.NotContains(t, action, "error")
		return
	}
	require.Equal(t, map[string]any{"@id": "http://schema.org/FailedActionStatus"}, action["actionStatus"])
	require.Equal(t, "it broke", action["error"])
}
