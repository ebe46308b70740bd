package serve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// deploys makes versions of documents that requests bring along, with the files that these are compiled with.
func (s *apiServer) deploys(t *testing.T) {
	deployer := s.Tokens[landscape.Deployer]
	document := strings.ReplaceAll(`name: sent
sources: {in: {csv: {path: FOLDER/orders.csv}, schema: {fields: {id: int, total: string}}}}
steps: [{name: named, lookup: {csv: {path: names.csv}, on: {total: code}, add: {name: name}}}]
sinks: {out: {csv: {path: FOLDER/out/sent.csv, overwrite: true}}}
`, "FOLDER", s.Folder)
	send := func(token string, change func(map[string]any)) (*http.Response, map[string]any) {
		body := map[string]any{"why": "a test", "document": document, "files": map[string]string{"names.csv": "code,name\n99,ninety-nine\n"}}
		change(body)
		text, err := json.Marshal(body)
		require.NoError(t, err)
		answer, told := s.Ask(t, "POST", "/v1/pipelines", token, string(text))
		var value map[string]any
		require.NoError(t, json.Unmarshal(told, &value))
		return answer, value
	}
	as := func(map[string]any) {}
	answer, told := send(deployer, func(body map[string]any) { body["dry_run"] = true })
	require.Equal(t, 200, answer.StatusCode, told)
	answer, _ = s.Ask(t, "GET", "/v1/pipelines/sent", deployer, "")
	require.Equal(t, 404, answer.StatusCode, "nothing was deployed")
	answer, told = send(deployer, as)
	require.Equal(t, 200, answer.StatusCode, told)
	require.EqualValues(t, 1, told["version"])
	require.Equal(t, true, told["new"])
	answer, told = send(deployer, as)
	require.Equal(t, 200, answer.StatusCode)
	require.Equal(t, false, told["changed"], "the same bytes are the same version")

	answer, run := s.Ask(t, "POST", "/v1/runs", deployer, `{"pipeline":"sent"}`, "Prefer", "wait=60")
	require.Equal(t, 200, answer.StatusCode, string(run))
	content, err := os.ReadFile(filepath.Join(s.Folder, "out/sent.csv"))
	require.NoError(t, err)
	require.Equal(t, "id,total,name\n1,10.50,\n2,many,\n3,99,ninety-nine\n", string(content))

	for _, wrong := range []struct {
		change func(map[string]any)
		status int
		says   string
	}{
		{func(body map[string]any) { body["document"] = "" }, 400, "write the text of the document"},
		{func(body map[string]any) { body["why"] = "" }, 400, "say why"},
		{func(body map[string]any) { body["document"] = "name: [" }, 400, "pipeline.yaml"},
		{func(body map[string]any) {
			body["document"], body["file"] = strings.Replace(document, "csv:", "cvs:", 1), "sent.yaml"
		}, 400, "sent.yaml:2"},
		{func(body map[string]any) { body["files"] = map[string]string{} }, 400, "names.csv"},
		{func(body map[string]any) {
			body["files"] = map[string]string{"names.csv": "code,name\n", "other.csv": "x"}
		}, 400, `uses no file \"other.csv\"`},
		{func(body map[string]any) { body["file"] = "../sent.yaml" }, 400, "without folders"},
		{func(body map[string]any) {
			body["document"] = strings.Replace(document, s.Folder+"/orders.csv", "/etc/passwd", 1)
		}, 400, "is in no folder that documents may use"},
	} {
		answer, told := send(deployer, wrong.change)
		text, err := json.Marshal(told)
		require.NoError(t, err)
		require.Equal(t, wrong.status, answer.StatusCode, string(text))
		require.Contains(t, string(text), wrong.says)
	}
	answer, told = send(s.Grant(t, "others", "deployer", "others-*"), as)
	require.Equal(t, 403, answer.StatusCode, told)
	answer, told = send(s.Tokens[landscape.Operator], as)
	require.Equal(t, 403, answer.StatusCode, told)
}
