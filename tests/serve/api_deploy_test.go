package serve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/serve/api"
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
		{func(body map[string]any) { body["files"] = map[string]string{} }, 400,
			"names.csv: is not among the files of the deployed version, or the tables of the run: who deploys by the " +
				"API sends it with files of the request, under this path (docs/api.md)"},
		{func(body map[string]any) {
			body["files"] = map[string]string{"names.csv": "code,name\n", "other.csv": "x"}
		}, 400, `uses no file \"other.csv\"`},
		{func(body map[string]any) { body["file"] = "../sent.yaml" }, 400, "without folders"},
		{func(body map[string]any) { body["file"] = ".." }, 400, "without folders"},
		{func(body map[string]any) { body["file"] = "sent\n.yaml" }, 400, "that can be printed"},
		{func(body map[string]any) { body["file"] = strings.Repeat("x", 201) }, 400, "at most 200 bytes"},
		{func(body map[string]any) {
			body["document"] = strings.Replace(document, s.Folder+"/orders.csv", "/etc/passwd", 1)
		}, 400, "is in no folder that documents may use"},
		{func(body map[string]any) {
			head := "FOLDER/orders.csv, skip_lines: 2}, schema: {fields: {sum: int}}}}"
			body["document"] = strings.ReplaceAll("name: sent\nsources: {in: {csv: {path: "+head+"\n"+
				"sinks: {out: {csv: {path: FOLDER/out/sent.csv, overwrite: true}}}\n", "FOLDER", s.Folder)
			delete(body, "files")
		}, 400, `missing: \"sum\"; unexpected: \"…\", \"…\"`},
	} {
		answer, told := send(deployer, wrong.change)
		text, err := json.Marshal(told)
		require.NoError(t, err)
		require.Equal(t, wrong.status, answer.StatusCode, string(text))
		require.Contains(t, string(text), wrong.says)
	}
	for _, verb := range []string{"promote", "rollback"} {
		answer, body := s.Ask(t, "POST", "/v1/pipelines/sent/"+verb, deployer,
			`{"why":"a test","environment":"test","version":-1}`)
		require.Equal(t, 400, answer.StatusCode, "%s", body)
	}
	answer, told = send(s.Grant(t, "others", "deployer", "others-*"), as)
	require.Equal(t, 403, answer.StatusCode, told)
	answer, told = send(s.Tokens[landscape.Operator], as)
	require.Equal(t, 403, answer.StatusCode, told)

	try := func(body map[string]any) { body["try"], body["dry_run"] = 1, true }
	answer, told = send(deployer, try)
	require.Equal(t, 403, answer.StatusCode, told)
	require.Contains(t, told["detail"], "auditor")
	answer, told = send(s.Grant(t, "trying", "deployer,auditor"), try)
	require.Equal(t, 200, answer.StatusCode, told)
	require.Regexp(t, `trying +\w{12} +\S+ +what_if +deploy`, s.Waymark(t, "access", "disclosures"))
}

// neighbours deploys what would learn of another pipeline, or replace what that publishes: sent, which deploys made.
func (s *apiServer) neighbours(t *testing.T) {
	narrow := s.Grant(t, "neighbour", "deployer", "others-*")
	deploy := func(token, document, anyway string) (int, string) {
		document = strings.ReplaceAll(document, "FOLDER", s.Folder)
		body, err := json.Marshal(map[string]string{"why": "a test", "document": document, "anyway": anyway})
		require.NoError(t, err)
		answer, told := s.Ask(t, "POST", "/v1/pipelines", token, string(body))
		return answer.StatusCode, string(told)
	}
	const following = `name: others-a
params: {part: {type: string, default: all}}
sources: {in: {csv: {path: FOLDER/out/sent.csv}, schema: {mode: flexible, fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/out/others-${param:part}.jsonl"}}}
triggers: {sent: {source: in, after: {pipeline: sent, sink: out}, run_id: part}}
`
	for _, anyway := range []string{"", "it is mine"} {
		status, told := deploy(narrow, following, anyway)
		require.Equal(t, 403, status, told)
		_, unknown := deploy(narrow, strings.Replace(following, "pipeline: sent", "pipeline: nobody", 1), anyway)
		id := regexp.MustCompile(`"request":"\w+"`)
		unknown = strings.Replace(unknown, "nobody", "sent", 1)
		require.Equal(t, id.ReplaceAllString(unknown, ""), id.ReplaceAllString(told, ""), "whether there is one or not")
	}
	both := s.Grant(t, "of both", "deployer", "others-*", "sent")
	status, told := deploy(both, following, "")
	require.Equal(t, 200, status, told)
	answer, body := s.Ask(t, "POST", "/v1/pipelines/others-a/retire", narrow, `{"why":"a test"}`)
	require.Equal(t, 200, answer.StatusCode, "%s", body)
	answer, body = s.Ask(t, "POST", "/v1/pipelines/others-a/restore", narrow, `{"why":"a test"}`)
	require.Equal(t, 403, answer.StatusCode, "%s", body)

	const replacing = `name: others-b
sources: {in: {csv: {path: FOLDER/orders.csv}, schema: {fields: {id: int, total: string}}}}
sinks: {out: {csv: {path: FOLDER/out/sent.csv, overwrite: true}}}
`
	status, told = deploy(narrow, replacing, "")
	require.Equal(t, 400, status, told)
	require.Contains(t, told, "the pipeline sent, which is deployed in default, publishes there")
	for path, says := range map[string]string{
		"sent.csv/part-00000.csv": "the pipeline sent, which is deployed in default, " +
			"publishes at " + s.Folder + "/out/sent.csv",
		"all.csv": "the pipeline orders, which is served from " + s.Folder + ", publishes there",
	} {
		status, told = deploy(narrow, strings.Replace(replacing, "sent.csv", path, 1), "")
		require.Equal(t, 400, status, told)
		require.Contains(t, told, says)
	}
	status, told = deploy(narrow, replacing, "it is mine")
	require.Equal(t, 200, status, told)
	before, err := os.ReadFile(filepath.Join(s.Folder, "out/sent.csv"))
	require.NoError(t, err)
	run := func() string {
		_, body := s.Ask(t, "POST", "/v1/runs", narrow, `{"pipeline":"others-b"}`, "Prefer", "wait=60")
		return string(body)
	}
	require.Contains(t, run(), "TARGET_REFUSED")
	after, err := os.ReadFile(filepath.Join(s.Folder, "out/sent.csv"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	s.notLater(t, narrow, deploy)
	s.strands(t, narrow, both)
	completed := run()
	require.Contains(t, completed, `"status":"completed"`, "the cure works")

	var report struct{ Run string }
	require.NoError(t, json.Unmarshal([]byte(completed), &report))
	prying := s.Grant(t, "prying", "deployer,auditor", "others-*")
	for name, status := range map[string]int{"others-b": 200, "orders": 403} { // that would have the secrets of orders
		document := strings.ReplaceAll(strings.Replace(replacing, "others-b", name, 1), "FOLDER", s.Folder)
		body, err := json.Marshal(map[string]string{"document": document})
		require.NoError(t, err)
		answer, told := s.Ask(t, "POST", "/v1/runs/"+report.Run+"/what-if", prying, string(body))
		require.Equal(t, status, answer.StatusCode, "%s: %s", name, told)
	}
}

// strands retires sent, after which a trigger of others-a comes: who does not see that one learns that there is such a
// trigger, and not whose.
func (s *apiServer) strands(t *testing.T, narrow, both string) {
	order := func(pipeline, verb, token string) string {
		answer, body := s.Ask(t, "POST", "/v1/pipelines/"+pipeline+"/"+verb, token, `{"why":"a test"}`)
		require.Equal(t, 200, answer.StatusCode, "%s", body)
		return string(body)
	}
	const why = ": the pipeline sent is retired in default"
	order("others-a", "restore", both)
	require.Contains(t, order("sent", "retire", both), `"stranded":["default/others-a/sent`+why)
	order("sent", "restore", both)
	require.Contains(t, order("sent", "retire", s.Grant(t, "of sent", "deployer", "sent")), `"stranded":["of another pipeline`+why)
	order("others-a", "retire", narrow)

	for pipeline, token := range map[string]string{
		"sent": s.Grant(t, "looks at sent", "deployer", "sent"), "others-b": s.Grant(t, "looks at b", "deployer", "others-b"),
	} {
		answer, body := s.Ask(t, "GET", "/v1/starts?limit=1", token, "")
		require.Equal(t, 200, answer.StatusCode, "%s", body)
		var page remote.Page[client.Start]
		require.NoError(t, json.Unmarshal(body, &page))
		require.Len(t, page.Items, 1, "what others asked for fills no page: %s", body)
		require.Equal(t, pipeline, page.Items[0].Pipeline)
	}
}

// notLater resumes a run after another pipeline published where it writes.
func (s *apiServer) notLater(t *testing.T, narrow string, deploy func(token, document, anyway string) (int, string)) {
	const document = `name: NAME
sources: {in: {csv: {path: FOLDER/orders.csv}, schema: {fields: {id: int, total: TYPE}}, on_invalid: fail}}
sinks: {out: {csv: {path: FOLDER/out/later.csv, overwrite: true}}}
`
	run := func(token, name, kind string) (status string, run string) {
		code, told := deploy(token, strings.NewReplacer("NAME", name, "TYPE", kind).Replace(document), "")
		require.Equal(t, 200, code, told)
		_, body := s.Ask(t, "POST", "/v1/runs", token, `{"pipeline":"`+name+`"}`, "Prefer", "wait=60")
		var report struct{ Run, Status string }
		require.NoError(t, json.Unmarshal(body, &report), "%s", body)
		return report.Status, report.Run
	}
	status, failed := run(narrow, "others-c", "int")
	require.Equal(t, "failed", status)
	status, _ = run(s.Tokens[landscape.Deployer], "later", "string")
	require.Equal(t, "completed", status)
	told, err := s.Try(t.Context(), "resume", failed)
	require.Error(t, err)
	require.Contains(t, told, "the pipeline later, which is deployed in default, publishes there")
}

// failingSlots runs a slot whose run fails at a row, for which it takes the header: schedules say why without that.
func (s *apiServer) failingSlots(t *testing.T) {
	document := strings.ReplaceAll(`name: failing-slots
sources: {in: {csv: {path: FOLDER/orders.csv, skip_lines: 2}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: FOLDER/out/failing-slots.csv, overwrite: true}}}
schedules: {daily: {every: day}}
`, "FOLDER", s.Folder)
	body, err := json.Marshal(map[string]string{"why": "a test", "document": document, "anyway": "it shall fail"})
	require.NoError(t, err)
	answer, told := s.Ask(t, "POST", "/v1/pipelines", s.Tokens[landscape.Deployer], string(body))
	require.Equal(t, 200, answer.StatusCode, "%s", told)
	require.NotContains(t, string(told), "many")
	const schedule = "/v1/schedules/default/failing-slots/daily"
	var grid struct {
		Slots []struct{ Slot, State, Reason string }
	}
	see := func() (last struct{ Slot, State, Reason string }) {
		answer, told := s.Ask(t, "GET", schedule, s.Tokens[landscape.Viewer], "")
		require.Equal(t, 200, answer.StatusCode, "%s", told)
		require.NoError(t, json.Unmarshal(told, &grid))
		return grid.Slots[len(grid.Slots)-1]
	}
	answer, told = s.Ask(t, "POST", schedule+"/run", s.Tokens[landscape.Operator],
		`{"why":"a test","slot":"`+see().Slot+`"}`)
	require.Equal(t, 202, answer.StatusCode, "%s", told)
	shown := func() bool { last := see(); return last.State == "failed" && strings.Contains(last.Reason, "…") }
	require.Eventually(t, shown, time.Minute, 20*time.Millisecond) // the reason comes a moment after the state
	for _, ask := range []struct{ method, path, body string }{
		{"GET", "/v1/schedules", ""},
		{"POST", schedule + "/run", `{"why":"a test","slot":"` + see().Slot + `"}`}, // the answer says how the slot was before it runs again
	} {
		_, told = s.Ask(t, ask.method, ask.path, s.Tokens[landscape.Operator], ask.body)
		require.Contains(t, string(told), "…", ask.path)
		require.NotContains(t, string(told), "many", ask.path)
	}
}

// largeDeliveries posts few bytes that are many rows: as many as a request may bring are taken, wherever the document
// says that they are.
func (s *apiServer) largeDeliveries(t *testing.T) {
	document := strings.ReplaceAll(`name: posted
params: {part: {type: string, default: all}}
sources: {posts: {webhook: {records: data.items}, schema: {fields: {id: "int?"}}}}
sinks: {out: {jsonl: {path: "FOLDER/out/posted-${param:part}.jsonl"}}}
triggers: {calls: {source: posts, every: 1h, http: {verify: none}, run_id: part}}
`, "FOLDER", s.Folder)
	body, err := json.Marshal(map[string]string{"why": "a test", "document": document})
	require.NoError(t, err)
	answer, told := s.Ask(t, "POST", "/v1/pipelines", s.Tokens[landscape.Deployer], string(body))
	require.Equal(t, 200, answer.StatusCode, "%s", told)
	rows := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("{},", n), ",") + "]" }
	for body, want := range map[string]int{
		`{"data": {"items": ` + rows(client.MostRows) + `}}`:                202,
		`{"data": {"items": ` + rows(client.MostRows+1) + `}}`:              413,
		`{"data": {"items": []}, "other": ` + rows(client.MostRows+1) + `}`: 202,
	} {
		answer, told := s.Ask(t, "POST", "/in/default/posted/calls", "", body)
		require.Equal(t, want, answer.StatusCode, "%s", told)
		if want == 413 {
			require.Equal(t, "ROWS_TOO_LARGE", code(t, told))
		}
	}
}

// strangers asks for everything with all roles, for pipelines of other names: nothing is there. What a new route is
// about has to be added here.
func (s *apiServer) strangers(t *testing.T) {
	stranger := s.Grant(t, "stranger", "viewer,auditor,service,operator,deployer,admin", "nobody-*")
	viewer := strings.Split(s.Tokens[landscape.Viewer], "_")[1]
	for asked, needs := range api.Needs() {
		method, path, _ := strings.Cut(asked, " ")
		if needs == nil || path == "/v1/whoami" || path == "/v1/doctor" || strings.HasSuffix(path, "/stream") {
			continue // strangers see no events: as in /v1/events
		}
		address := strings.NewReplacer(
			"{run}", "same", "{sink}", "all", "{token}", viewer, "{name}", "deployed", "{environment}", "default",
			"{pipeline}", "deployed", "{schedule}", "daily", "{trigger}", "drop",
			"{digest}", strings.Repeat("0", 64),
		).Replace(path)
		require.NotContains(t, address, "{", "say what the parameter of %s is to be", asked)
		body := ""
		if method == http.MethodPost {
			body = `{"why":"a test"}`
		}
		status := http.StatusNotFound
		switch asked {
		case "POST /v1/runs":
			body = `{"pipeline":"orders"}`
		case "POST /v1/pipelines":
			body, status = `{"why":"a test","document":"name: deployed\nsources: {}\n"}`, http.StatusForbidden
		case "GET /v1/find":
			address += "?q=orders"
		}
		answer, told := s.Ask(t, method, address, stranger, body)
		if method == http.MethodGet && (address == path || strings.Contains(address, "?")) { // a list
			require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", asked, told)
			require.NotRegexp(t, `orders|deployed|"same"|ann@example`, string(told), asked)
			continue
		}
		require.Equal(t, status, answer.StatusCode, "%s: %s", asked, told)
	}
}
