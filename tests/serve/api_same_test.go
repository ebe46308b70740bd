package serve_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// answered is a path of the API, and a command that prints the same with --json.
type answered struct{ path, command string }

// sameAsCommands compares answers with what the command line prints.
func (s *apiServer) sameAsCommands(t *testing.T) {
	_, body := s.Ask(t, "POST", "/v1/runs", s.Tokens[landscape.Operator], `{"pipeline":"orders","run":"same"}`, "Prefer", "wait=60")
	require.Contains(t, string(body), `"completed_with_failures"`)
	auditor := s.Tokens[landscape.Auditor]
	require.Eventually(t, func() bool { // until nothing changes any more
		_, run := s.Ask(t, "GET", "/v1/runs/same", auditor, "")
		_, undecided := s.Ask(t, "GET", "/v1/starts?state=accepted", auditor, "")
		_, running := s.Ask(t, "GET", "/v1/runs?status=running", auditor, "")
		return strings.Contains(string(run), `"anchored":1`) && !strings.Contains(string(undecided)+string(running), `"run"`)
	}, patience, 50*time.Millisecond)
	for _, one := range sample.Of(3, []answered{
		{"/v1/runs/same/explain?row=3", "explain same --row 3"},
		{"/v1/runs/same", "status same"},
		{"/v1/runs/same/explain?sink=all&line=1", "explain same --sink all --line 1"},
		{"/v1/runs/same/compare", "compare same"},
		{"/v1/runs/same/timeline", "timeline same"},
		{"/v1/runs/same/why-not?row=2&not_in=all", "explain same --row 2 --why-not all"},
		{"/v1/pipelines/deployed", "pipelines show deployed"},
		{"/v1/pipelines/deployed/document?version=1", "pipelines show deployed@1 --document"},
		{"/v1/pipelines/deployed/diff?from=1", "pipelines diff deployed@1 deployed"},
		{"/v1/schedules/default/deployed/daily", "schedule grid daily"},
	}) {
		_, body := s.Ask(t, "GET", one.path, auditor, "")
		told := s.Waymark(t, append(strings.Fields(one.command), "--json")...)
		require.JSONEq(t, told, string(body), one.path)
	}
	for _, one := range sample.Of(4, []answered{
		{"/v1/runs?limit=500", "runs --limit 0"},
		{"/v1/runs/same/edges", "rows same"},
		{"/v1/runs/same/effects", "effects same"},
		{"/v1/runs/same/compare/rows", "compare same --rows"},
		{"/v1/runs/same/errors/rows", "errors same --each"},
		{"/v1/pipelines", "pipelines"},
		{"/v1/pipelines/deployed/history", "pipelines history deployed"},
		{"/v1/schedules", "schedule list"},
		{"/v1/events?limit=500", "outbox"},
		{"/v1/starts?limit=500", "starts --limit 0"},
	}) {
		_, body := s.Ask(t, "GET", one.path, auditor, "")
		var list struct{ Items []json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &list))
		told := serving.Listed[json.RawMessage](t, s.Server, strings.Fields(one.command)...)
		require.Len(t, list.Items, len(told), one.path)
		for i, item := range told {
			require.JSONEq(t, string(item), string(list.Items[i]), one.path)
		}
	}
	_, body = s.Ask(t, "GET", "/v1/runs/same/past", auditor, "")
	require.Contains(t, string(body), `"type":"past"`)
	_, begin := s.Ask(t, "GET", "/v1/runs/same/past?at=0", auditor, "")
	require.Contains(t, string(begin), `"rows_read":0`)
	var found []string // page by page
	for next := ""; ; {
		_, body := s.Ask(t, "GET", "/v1/runs?limit=1"+next, auditor, "")
		var list struct {
			Items []struct{ Run string }
			Next  string
		}
		require.NoError(t, json.Unmarshal(body, &list))
		for _, item := range list.Items {
			found = append(found, item.Run)
		}
		if list.Next == "" {
			break
		}
		next = "&after=" + list.Next
	}
	runs, _, err := s.Home(t).Runs(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, found, len(runs))
}
