package tests

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/pipeline"
	"waymark/tests/manual"
	"waymark/tests/system"
	"waymark/workflows"
)

// TestPoliciesPageRuns runs the document of docs/policies.md, to the end that the page says, waives the policy, and asks the page's question.
func TestPoliciesPageRuns(t *testing.T) {
	text := manual.Page(t, "policies.md")
	documents := manual.Blocks(text, "yaml")
	require.Len(t, documents, 1)
	s := system.Start(t, nil)
	s.Write(t, map[string]string{"orders.csv": manual.Blocks(manual.Page(t, "pipelines.md"), "csv")[0]})
	_, err := s.Run(t, "large", documents[0])
	_, reason, found := strings.Cut(text, "is blocked: ")
	require.True(t, found)
	reason, _, _ = strings.Cut(reason, "\n")
	require.ErrorContains(t, err, reason)
	run, err := s.Log.Run(t.Context(), "large")
	require.NoError(t, err)
	require.Equal(t, pipeline.Blocked, run.Status)
	require.Equal(t, reason, run.Reason)
	require.Contains(t, currentDetails(t, s, workflows.WorkflowID("large")),
		"\n- `waymark status large` shows the policies, and the commands that let the run publish all the same\n- `waymark resume large` ")

	_, err = s.Client.Waive(t.Context(), run, "few refused", client.By{Actor: "ann", Why: "they are known"})
	require.NoError(t, err)
	_, err = system.End(t, system.Resume(t, s.Client, "large", "waived"))
	require.NoError(t, err)
	require.NotEmpty(t, s.Read(t, "out/all.jsonl"))
	s.Verify(t, "large")

	_, query, found := strings.Cut(text, "    select p.run_id")
	require.True(t, found)
	query = "select p.run_id" + strings.ReplaceAll(query, ";", "")
	require.Equal(t, []string{"failed", "waived"}, resultsOf(t, s.Database, query))
}

// resultsOf returns the results of policies that a query selects.
func resultsOf(t *testing.T, database, query string) (results []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+database)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var run, policy, gate, result, detail, actor string
		require.NoError(t, rows.Scan(&run, &policy, &gate, &result, &detail, &actor))
		results = append(results, result)
	}
	require.NoError(t, rows.Err())
	return results
}
