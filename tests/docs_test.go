package tests

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/audit"
	"waymark/internal/temporal/attributes"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/manual"
	"waymark/tests/system"
	"waymark/worker"
	"waymark/workflows"
)

// documented is what the documents of docs/pipelines.md make of its files, by the name of the document.
var documented = map[string]struct {
	rows    int64
	refused int64
	outputs map[string]string
}{
	"large-orders": {5, 1, map[string]string{
		"out/review.csv": "id,customer,country,total,placed,vat\n1,Ada,DE,1000.50,2026-07-01,190.0950\n",
		"out/all.jsonl": `{"id":2,"customer":"Bob","country":"FR","total":20.00,"placed":"2026-07-02","vat":3.8000}
{"id":3,"customer":"Cy","country":null,"total":7.25,"placed":"2026-07-02","vat":1.3775}
{"id":2,"customer":"Dan","country":"FR","total":1.00,"placed":"2026-07-03","vat":0.1900}
`,
	}},
	"every-step": {5, 1, map[string]string{
		"out/steps.csv": "day,id,name,total,net\n2026-07-01,1,Ada,1005.50,1000.50\n2026-07-02,2,Bob,25.00,20.00\n2026-07-03,2,Dan,6.00,1.00\n",
	}},
	"by-country": {5, 1, map[string]string{
		"out/by-country.jsonl": `{"id":1,"customer":"Ada","country":"DE","total":1000.50,"placed":"2026-07-01","ok":true}
{"id":2,"customer":"Bob abroad","country":"FR","total":20.00,"placed":"2026-07-02","ok":true}
{"id":2,"customer":"Dan abroad","country":"FR","total":1.00,"placed":"2026-07-03","ok":true}
`,
	}},
	"all-countries": {8, 0, map[string]string{
		"out/all-countries.jsonl": "{\"country\":\"DE\"}\n{\"country\":\"FR\"}\n{\"country\":null}\n{\"country\":\"IT\"}\n",
	}},
	"opinions": {5, 1, map[string]string{
		"out/opinions.jsonl": `{"id":1,"customer":"Ada","country":"DE","total":1000.50,"placed":"2026-07-01","large":true,"abroad":false}
{"id":2,"customer":"Bob","country":"FR","total":20.00,"placed":"2026-07-02","large":false,"abroad":true}
{"id":3,"customer":"Cy","country":null,"total":7.25,"placed":"2026-07-02","large":false}
{"id":2,"customer":"Dan","country":"FR","total":1.00,"placed":"2026-07-03","large":false,"abroad":true}
`,
	}},
	"best-countries": {5, 1, map[string]string{
		"out/best-countries.csv": "country,orders,total\nDE,1,1000.50\n,1,7.25\n",
	}},
	"languages": {5, 1, map[string]string{
		"out/languages.csv": "id,place,language,number\n1,Germany,German,1\n2,France,French,1\n2,France,Breton,2\n2,France,French,1\n2,France,Breton,2\n",
	}},
	"refusals": {5, 3, map[string]string{
		"out/good.csv": "id,customer,country,total,placed,initial\n1,Ada,DE,1000.50,2026-07-01,D\n2,Bob,FR,20.00,2026-07-02,F\n",
	}},
	"recent": {5, 1, map[string]string{
		"out/north.csv": "id,customer,country,total,placed\n2,Bob,FR,20.00,2026-07-02\n3,Cy,,7.25,2026-07-02\n2,Dan,FR,1.00,2026-07-03\n",
	}},
}

// TestPipelinesPageRuns compiles and runs every document of docs/pipelines.md.
func TestPipelinesPageRuns(t *testing.T) {
	t.Setenv("REGION", "north")
	text := manual.Page(t, "pipelines.md")
	s := system.Start(t, nil)
	files := manual.Blocks(text, "csv")
	s.Write(t, map[string]string{"orders.csv": files[0], "countries.csv": files[1]})
	documents := manual.Blocks(text, "yaml")
	require.Len(t, documents, len(documented))
	for _, document := range documents {
		name, found := strings.CutPrefix(strings.SplitN(document, "\n", 2)[0], "name: ")
		require.True(t, found, document)
		want := documented[name]
		result, err := s.Run(t, name, document)
		require.NoError(t, err, name)
		require.Equal(t, want.rows, result.Rows, name)
		require.Equal(t, want.refused, result.Refused, name)
		for file, content := range want.outputs {
			require.Equal(t, content, s.Read(t, file), name)
		}
		s.Verify(t, name)
	}
	requireRefusals(t, text, s.Read(t, "out/bad.jsonl"))
}

// requireRefusals requires that refused rows have the fields that the page names, in this order.
func requireRefusals(t *testing.T, text, bad string) {
	t.Helper()
	_, sentence, found := strings.Cut(text, "A sink of refused rows gets, for each, the fields ")
	require.True(t, found)
	sentence, _, _ = strings.Cut(sentence, "`waymark errors")
	named := regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(strings.ReplaceAll(sentence, "(instead of `raw`", ""), -1)
	lines := strings.Split(strings.TrimSpace(bad), "\n")
	require.Len(t, lines, 3)
	fields := regexp.MustCompile(`"([a-z0-9_]+)":`).FindAllStringSubmatch(lines[0], -1)
	require.Len(t, named, len(fields))
	for i, field := range fields {
		require.Equal(t, field[1], named[i][1])
	}
	for i, code := range []string{"NULL_OPERAND", "UNIQUE", "CONVERT"} {
		require.Contains(t, lines[i], `"code":"`+code+`"`)
	}
}

// TestEveryCodeIsDocumented finds the code of every rejection and fault in the packages that make them, and on the page.
func TestEveryCodeIsDocumented(t *testing.T) {
	text := manual.Page(t, "codes.md")
	constant := regexp.MustCompile(`(?m)^(?:const|\s)\s*[cC]ode[A-Z]\w+\s+= "([A-Z0-9_]+)"`)
	codes := 0
	for _, folder := range []string{"pipeline/row", "pipeline/expr", "engine/barrier", "engine", "plugin/csv", "plugin/file", "plugin/jsonl", "plugin/lookup", "plugin/object", "plugin/parquet", "plugin/postgres", "plugin/webhook"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, code := range constant.FindAllStringSubmatch(string(source), -1) {
				require.Contains(t, text, "`"+code[1]+"`", file)
				codes++
			}
		}
	}
	require.Greater(t, codes, 50)
}

// TestEveryProblemIsDocumented finds the word of every problem that verify names, and on the page.
func TestEveryProblemIsDocumented(t *testing.T) {
	_, section, found := strings.Cut(manual.Page(t, "codes.md"), "\n## Problems that `verify` names\n")
	require.True(t, found)
	words := wordsOf(t, "../audit/verify.go", `(?m)^\t[A-Z]\w+\s+= "([a-z]+(?:_[a-z]+)+)"`)
	require.Greater(t, len(words), 12)
	for _, word := range words {
		if word != audit.PayloadPurged { // which is in no report
			require.Regexp(t, "\n\\| (`[a-z_]+`, )*`"+word+"`[ ,]", section)
		}
	}
}

// TestEveryFaultIsDocumented finds the type of every error that no retry cures, and on the page.
func TestEveryFaultIsDocumented(t *testing.T) {
	text := manual.Page(t, "codes.md")
	types := wordsOf(t, "../activities/errors.go", `\bType[A-Z]\w+\s+= "(\w+)"`)
	require.Greater(t, len(types), 15)
	for _, word := range types {
		require.Regexp(t, "\\| (`\\w+`, )?`"+word+"`[ ,]", text)
	}
	require.Contains(t, text, "| `STATE_DIVERGED` | ")
	for _, kind := range append(types, workflows.TypeNoWorker, workflows.TypeKeyReused, workflows.TypeRunFailed) {
		problem := activities.ProblemOf(kind, "the reason")
		require.NotEmpty(t, problem.Title, kind)
		require.NotEmpty(t, problem.Cure, kind)
	}
}

// TestEveryVerbIsDocumented finds the verb of everything that people do to a run, and on the page. Those of orders to a workflow are
// their names.
func TestEveryVerbIsDocumented(t *testing.T) {
	_, section, found := strings.Cut(manual.Page(t, "landscape.md"), "\n### `actions`\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n### ")
	verbs := wordsOf(t, "../landscape/run_status.go", `\bVerb[A-Z]\w+\s+= "(\w+)"`)
	require.Subset(t, verbs, []string{workflows.PauseUpdate, workflows.ContinueUpdate, workflows.CancelUpdate})
	for _, verb := range verbs {
		require.Regexp(t, "\n\\| (`[a-z_]+`, )?`"+verb+"`[ ,]", section)
	}
}

// wordsOf returns the words in the file that the pattern finds.
func wordsOf(t *testing.T, file, pattern string) []string {
	t.Helper()
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	var words []string
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(source), -1) {
		words = append(words, found[1])
	}
	return words
}

// TestOperationsPage: the page says what to do about every status of a run, every state of an effect, and every exit code.
func TestOperationsPage(t *testing.T) {
	text := manual.Page(t, "operations.md")
	for _, status := range []pipeline.RunStatus{
		pipeline.Running, pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty, pipeline.Failed, pipeline.Interrupted,
		pipeline.Cancelled, pipeline.Blocked,
	} {
		require.Contains(t, text, "\n| `"+string(status)+"` | ")
	}
	for _, state := range []landscape.EffectState{
		landscape.Reserved, landscape.Prepared, landscape.InFlight, landscape.Finalized, landscape.Blocked,
	} {
		require.Contains(t, text, "\n| `"+string(state)+"` | ")
	}
	for _, code := range []string{"0", "1", "2", "3", "4", "5", "130"} {
		require.Contains(t, text, "\n| "+code+" | ")
	}
}

// TestTemporalPage starts runs by the page alone: its inputs, queries, orders and lists are those of real runs, and it has every type of failure.
func TestTemporalPage(t *testing.T) {
	text, pipelines := manual.Page(t, "temporal.md"), t.TempDir()
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Pipelines: pipelines}}})
	for name, content := range map[string]string{"orders.yaml": fixtures.Orders, "orders.csv": fourOrders} {
		require.NoError(t, os.WriteFile(filepath.Join(pipelines, name), []byte(content), 0o600))
	}
	objects := manual.Blocks(text, "json")
	require.Len(t, objects, 4)
	var result, said map[string]any
	require.NoError(t, system.Execute(t, s.Temporal, "", json.RawMessage(objects[0])).Get(t.Context(), &result))
	require.NoError(t, json.Unmarshal([]byte(objects[1]), &said))
	require.ElementsMatch(t, slices.Collect(maps.Keys(said)), slices.Collect(maps.Keys(result)))
	for _, key := range []string{"status", "rows", "refused", "refused_by"} {
		require.Equal(t, said[key], result[key], key)
	}
	var application *temporal.ApplicationError
	require.ErrorAs(t, system.Execute(t, s.Temporal, "", map[string]any{"pipelines": "orders"}).Get(t.Context(), nil), &application)
	var problem, shown activities.Problem
	require.NoError(t, application.Details(&problem))
	require.NoError(t, json.Unmarshal([]byte(objects[2]), &shown))
	shown.Errors[0].Detail = shown.Detail
	require.Equal(t, shown, problem)
	queries := 0
	for query := range strings.Lines(text) {
		if strings.HasPrefix(query, "Waymark") {
			queried(t, s, query) // which Temporal understands
			queries++
		}
	}
	require.Equal(t, 3, queries)
	run, _ := result["run"].(string)
	requireListed(t, s, "WaymarkRowsRefused > 0 and WorkflowId starts_with 'run-'", workflows.WorkflowID(run))
	answer, err := s.Temporal.QueryWorkflow(t.Context(), workflows.WorkflowID(run), "", workflows.ProgressQuery)
	require.NoError(t, err)
	var answered map[string]any
	require.NoError(t, answer.Get(&answered))
	require.Len(t, answered, 7)
	for key := range answered {
		require.Contains(t, text, "`"+key+"`")
	}
	for _, words := range []string{"--type " + workflows.RunPipelineName, "--task-queue " + workflows.TaskQueue, "--type " + workflows.ProgressQuery, "--name " + workflows.PauseUpdate} {
		require.Contains(t, text, words)
	}
	for name, kind := range attributes.Types() {
		require.Regexp(t, "`"+name+"`.* \\| .*"+kind.String(), text)
	}
	for _, kind := range append(wordsOf(t, "../activities/errors.go", `\bType[A-Z]\w+\s+= "(\w+)"`), workflows.TypeNoWorker, workflows.TypeKeyReused, workflows.TypeRunFailed) {
		require.Contains(t, text, "| `"+kind+"` | ")
		require.Contains(t, text, " | "+activities.ProblemOf(kind, "").Cure+" |\n")
	}
}
