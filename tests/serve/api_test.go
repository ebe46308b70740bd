package serve_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/serve/api"
	"waymark/tests/issuer"
	"waymark/tests/manual"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/serving"
)

// apiServer is a server whose API is asked.
type apiServer struct{ *serving.API }

// code is that of a problem.
func code(t *testing.T, body []byte) string {
	t.Helper()
	var problem remote.Problem
	require.NoError(t, json.Unmarshal(body, &problem), "%s", body)
	return string(problem.Code)
}

// TestAPI asks one server everything.
func TestAPI(t *testing.T) {
	t.Parallel()
	provider := issuer.Start(t)
	s := &apiServer{serving.StartAPI(t, provider.Flags()...)}
	s.Issuer = provider
	t.Run("page", s.walkThrough)
	h := &house{Server: s.Server, url: s.URL, token: s.Grant(t, "ann", "auditor,deployer,admin")}
	t.Run("page about other machines", h.remotePage)
	t.Run("matrix", s.matrix)
	t.Run("people of an issuer", s.ofIssuer)
	t.Run("bad inputs", s.badInputs)
	t.Run("keys", s.keys)
	t.Run("same as the command line", s.sameAsCommands)
	t.Run("same from another machine", h.sameFromAfar)
	t.Run("rows of a request", h.rowsOfRequest)
	t.Run("health", s.health)
	t.Run("own runs", s.ownRuns)
	t.Run("streams", s.streams)
	t.Run("deploy", s.deploys)
	t.Run("places", s.places)
	t.Run("neighbours", s.neighbours)
	t.Run("failing slots", s.failingSlots)
	t.Run("strangers", s.strangers)
	t.Run("large deliveries", s.largeDeliveries)
	t.Run("orders", s.orders)
	t.Run("outputs", s.outputs)
	t.Run("secrets", s.secrets)
	require.Contains(t, manual.Page(t, "api.md"), api.Table(), "the table of routes is that of the program")
}

// walkThrough types what docs/api.md shows.
func (s *apiServer) walkThrough(t *testing.T) {
	services.Program(t, "curl", "curl")
	scripts := manual.Blocks(manual.Page(t, "api.md"), "sh")
	require.Len(t, scripts, 5)
	binary, err := programs.Waymark()
	require.NoError(t, err)
	script := strings.ReplaceAll(strings.Join(scripts[1:], "echo\n"), "http://127.0.0.1:8686", s.URL)
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
	tools := t.TempDir()
	require.NoError(t, os.Symlink(binary, filepath.Join(tools, "waymark")))
	cmd.Dir, cmd.Env = s.Folder, append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `"status":"completed_with_failures"`, string(out))
	require.Regexp(t, `read from request://night/calls, line 2, .*\n +came +\S+, with the request of \S+ \(cli\), row 2 of 2\n`, string(out))
	for part, rows := range map[string]string{"noon": "{\"id\":1,\"minutes\":2.5}\n", "evening": "{\"id\":3,\"minutes\":10}\n{\"id\":4,\"minutes\":0.5}\n"} {
		content, err := os.ReadFile(filepath.Join(s.Folder, "out", "calls-"+part+".jsonl"))
		require.NoError(t, err)
		require.Equal(t, rows, string(content))
	}
	require.Regexp(t, `"code":"CONVERT","field":"total","message":"\\"…\\" is not`, string(out))
	require.Regexp(t, `(?m)"way":"in (>|\\u003e) large (>|\\u003e) all`, string(out))
	require.Regexp(t, `(?m)ann@example.com +\w{12} +\S+ +explain +in:3`, string(out))
	content, err := os.ReadFile(filepath.Join(s.Folder, "out/all.csv"))
	require.NoError(t, err)
	require.Equal(t, "id,total\n3,99\n", string(content))
}

// matrix asks for every route in every role, by tokens of ours and of an issuer, and with tokens that do not count: who is not allowed is refused, and who is
// allowed is not. By day each route has a few of these tokens, and all of them come in turn.
func (s *apiServer) matrix(t *testing.T) {
	revoked := s.Grant(t, "gone", "viewer,auditor,service,operator,deployer,admin")
	s.Waymark(t, "access", "revoke", strings.Split(revoked, "_")[1], "--why", "left")
	forged := s.Tokens[landscape.Admin]
	forged = forged[:len(forged)-1] + map[bool]string{true: "B", false: "A"}[strings.HasSuffix(forged, "A")]
	dead := map[string]string{
		"none":    "",
		"garbage": "x",
		"revoked": revoked,
		"unknown": "wmk_0123456789ab_" + strings.Repeat("A", 43),
		"forged":  forged,
	}
	maps.Copy(dead, s.deadTokens(t))
	stranger, guests := s.Issuer.Token(t, issuer.Claims{"groups": "strangers"}), map[landscape.Role]string{}
	for _, role := range landscape.Roles() {
		guests[role] = s.tokenOf(t, role, nil)
	}
	routes := api.Needs()
	for i, asked := range slices.Sorted(maps.Keys(routes)) {
		needs := routes[asked]
		method, path, _ := strings.Cut(asked, " ")
		path = strings.NewReplacer(
			"{run}", "nobody", "{sink}", "all", "{token}", "0123456789ab", "{name}", "nobody",
			"{environment}", "default", "{pipeline}", "nobody", "{schedule}", "daily", "{trigger}", "drop",
		).Replace(path)
		body := ""
		if method == http.MethodPost {
			body = "{}"
		}
		if strings.HasPrefix(path, "/in/") { // what counts there is a signature, and no access token
			for _, token := range []string{"", revoked, s.Tokens[landscape.Admin]} {
				answer, text := s.Ask(t, method, path, token, body)
				require.Equal(t, []any{401, "BAD_SIGNATURE"}, []any{answer.StatusCode, code(t, text)}, asked)
			}
			continue
		}
		if needs == nil {
			answer, _ := s.Ask(t, method, path, "", body)
			require.Equal(t, 200, answer.StatusCode, asked)
			continue
		}
		for _, name := range inTurn(i, slices.Sorted(maps.Keys(dead))) {
			answer, text := s.Ask(t, method, path, dead[name], body)
			require.Equal(t, 401, answer.StatusCode, "%s with %s", asked, name)
			require.Equal(t, map[bool]string{true: "NO_TOKEN", false: "BAD_TOKEN"}[dead[name] == ""], code(t, text))
			require.NotEmpty(t, answer.Header.Get("WWW-Authenticate"))
		}
		if strings.HasSuffix(path, "/stream") {
			continue
		}
		answer, text := s.Ask(t, method, path, stranger, body)
		require.Equal(t, []any{403, "FORBIDDEN"}, []any{answer.StatusCode, code(t, text)}, "%s without a role", asked)
		var may, mayNot []string
		for _, role := range landscape.Roles() {
			if tokens := []string{s.Tokens[role], guests[role]}; meets(needs, role) {
				may = append(may, tokens...)
			} else {
				mayNot = append(mayNot, tokens...)
			}
		}
		for _, token := range inTurn(i, mayNot) {
			answer, text := s.Ask(t, method, path, token, body)
			require.Equal(t, []any{403, "FORBIDDEN"}, []any{answer.StatusCode, code(t, text)}, "%s: %s", asked, text)
		}
		for _, token := range inTurn(i, may) {
			answer, text := s.Ask(t, method, path, token, body)
			require.Contains(t, []int{200, 400, 404}, answer.StatusCode, "%s: %s", asked, text)
		}
	}
}

// meets reports whether roles are all that a route needs: one of each set.
func meets(needs [][]landscape.Role, roles ...landscape.Role) bool {
	return !slices.ContainsFunc(needs, func(set []landscape.Role) bool {
		return !slices.ContainsFunc(roles, func(role landscape.Role) bool { return slices.Contains(set, role) })
	})
}

// inTurn returns one of the cases, another one for each i, or all of them at night.
func inTurn[T any](i int, cases []T) []T {
	if sample.All() || len(cases) == 0 {
		return cases
	}
	i %= len(cases)
	return cases[i : i+1]
}

// badInputs sends what no client should.
func (s *apiServer) badInputs(t *testing.T) {
	operator := s.Tokens[landscape.Operator]
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		code                     string
		headers                  []string
	}{
		{"unknown member", "POST", "/v1/runs", `{"pipeline":"orders","who":"me"}`, 400, "MALFORMED", nil},
		{"another case", "POST", "/v1/runs", `{"Pipeline":"orders"}`, 400, "MALFORMED", nil},
		{"twice", "POST", "/v1/runs", `{"pipeline":"a","pipeline":"orders"}`, 400, "MALFORMED", nil},
		{"deep", "POST", "/v1/runs", `{"params":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, "MALFORMED", nil},
		{"no UTF-8", "POST", "/v1/runs", "{\"pipeline\":\"\xff\"}", 400, "MALFORMED", nil},
		{"wrong kind", "POST", "/v1/runs", `{"pipeline":7}`, 400, "MALFORMED", nil},
		{"two values", "POST", "/v1/runs", `{"pipeline":"orders"} {}`, 400, "MALFORMED", nil},
		{"broken off", "POST", "/v1/runs", `{"pipeline":"ord`, 400, "MALFORMED", nil},
		{"no pipeline", "POST", "/v1/runs", `{}`, 400, "MALFORMED", nil},
		{"form", "POST", "/v1/runs", `pipeline=orders`, 415, "WRONG_MEDIA", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"huge", "POST", "/v1/runs/nobody/cancel", `{"why":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "TOO_LARGE", nil},
		{"huge rows", "POST", "/v1/runs", `{"why":"` + strings.Repeat("x", 9<<20) + `"}`, 413, "ROWS_TOO_LARGE", nil},
		{"key with a space", "POST", "/v1/runs", `{"pipeline":"orders"}`, 400, "BAD_KEY", []string{"Idempotency-Key", "a b"}},
		{"run id with dots", "POST", "/v1/runs", `{"pipeline":"orders","run":"../../etc"}`, 400, "INVALID_RUN", nil},
		{"run id of SQL", "GET", "/v1/runs/'%20or%201=1", "", 400, "INVALID_RUN", nil},
		{"long run id", "GET", "/v1/runs/" + strings.Repeat("a", 4_000), "", 400, "INVALID_RUN", nil},
		{"unknown pipeline", "POST", "/v1/runs", `{"pipeline":"nobody"}`, 202, "", nil},
		{"no such run", "GET", "/v1/runs/nobody", "", 404, "RUN_NOT_FOUND", nil},
		{"no such path", "GET", "/v1/rnus", "", 404, "NO_ROUTE", nil},
		{"method", "DELETE", "/v1/runs", "", 405, "WRONG_METHOD", nil},
		{"negative limit", "GET", "/v1/runs?limit=-1", "", 400, "BAD_QUERY", nil},
		{"huge limit", "GET", "/v1/runs?limit=1000000000", "", 400, "BAD_QUERY", nil},
		{"limit of letters", "GET", "/v1/runs?limit=abc", "", 400, "BAD_QUERY", nil},
		{"limit twice", "GET", "/v1/runs?limit=1&limit=2", "", 400, "BAD_QUERY", nil},
		{"unknown parameter", "GET", "/v1/runs?order=1", "", 400, "BAD_QUERY", nil},
		{"unknown state", "GET", "/v1/starts?state=eaten", "", 400, "BAD_QUERY", nil},
		{"unknown type", "GET", "/v1/events?type=run.eaten", "", 400, "INVALID_OPTION", nil},
		{"made-up cursor", "GET", "/v1/runs?after=AAAAAAAAAAAAAAAAAAAAAAAAAAAA", "", 400, "BAD_CURSOR", nil},
		{"another host", "GET", "/v1/runs", "", 403, "WRONG_HOST", []string{"Host", "evil.example"}},
		{"another site", "POST", "/v1/runs", `{"pipeline":"orders"}`, 403, "CROSS_SITE", []string{"Sec-Fetch-Site", "cross-site"}},
		{"another origin", "POST", "/v1/runs", `{"pipeline":"orders"}`, 403, "CROSS_SITE", []string{"Origin", "https://evil.example"}},
		{"no origin", "POST", "/v1/runs", `{"pipeline":"orders"}`, 403, "CROSS_SITE", []string{"Origin", "null"}},
		{"order without a reason", "POST", "/v1/runs/nobody/cancel", `{}`, 400, "MALFORMED", nil},
		{"wait for words", "POST", "/v1/runs", `{"pipeline":"orders"}`, 400, "BAD_QUERY", []string{"Prefer", "wait=long"}},
	} {
		answer, body := s.Ask(t, test.method, test.path, operator, test.body, test.headers...)
		require.Equal(t, test.status, answer.StatusCode, "%s: %s", test.name, body)
		if test.code != "" {
			require.Equal(t, test.code, code(t, body), test.name)
		}
		require.NotContains(t, string(body), "<", "nothing that a page could execute")
	}
	answer, body, err := s.Send(t, "GET", "/v1/../../etc/passwd", operator, "")
	require.NoError(t, err)
	require.Equal(t, 404, answer.StatusCode, "a path that leads out of /v1 is a page's, and there is none")
	require.Contains(t, string(body), "NO_ROUTE")
	require.NotContains(t, string(body), "root:")

	_, body = s.Ask(t, "POST", "/v1/runs", operator, `{"params":{"a":1},"pipeline":"orders","for":{"x":1}}`)
	var problem remote.Problem
	require.NoError(t, json.Unmarshal(body, &problem))
	require.Equal(t, []remote.PointerFault{{Pointer: "/for", Detail: "an object cannot be here: write a string"}}, problem.Errors)

	_, body = s.Ask(t, "GET", "/v1/starts?limit=1", operator, "")
	var list struct{ Next string }
	require.NoError(t, json.Unmarshal(body, &list))
	require.NotEmpty(t, list.Next)
	answer, body = s.Ask(t, "GET", "/v1/starts?state=begun&after="+list.Next, operator, "")
	require.Equal(t, 400, answer.StatusCode, "a place is good for the list that it is of")
	require.Equal(t, "BAD_CURSOR", code(t, body))
	first, _ := s.Ask(t, "GET", "/v1/whoami", operator, "")
	answer, _ = s.Ask(t, "GET", "/v1/whoami", operator, "", "If-None-Match", first.Header.Get("ETag"))
	require.Equal(t, 304, answer.StatusCode)
}

// keys sends many requests with one key at once: there is one run, and a request for another one is refused.
func (s *apiServer) keys(t *testing.T) {
	token := s.Tokens[landscape.Service]
	const start, changed = `{"pipeline":"orders","params":{"least":1}}`, `{"pipeline":"orders","params":{"least":2}}`
	var side sync.WaitGroup
	answers := make([]string, 50/sample.Step(5))
	for i := range answers {
		side.Go(func() {
			answer, body, err := s.Send(t, "POST", "/v1/runs", token, start, "Idempotency-Key", "many")
			if err != nil {
				answers[i] = err.Error()
				return
			}
			var run struct{ Run string }
			_ = json.Unmarshal(body, &run)
			answers[i] = fmt.Sprint(answer.StatusCode, run.Run)
		})
	}
	side.Wait()
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(answers))), 1, answers)
	run := strings.TrimPrefix(answers[0], "202")
	answer, body := s.Ask(t, "POST", "/v1/runs", token, start, "Idempotency-Key", "many", "Prefer", "wait=60")
	require.Equal(t, 200, answer.StatusCode, "%s", body)
	require.Equal(t, "true", answer.Header.Get("Idempotent-Replayed"))
	require.Equal(t, "/v1/runs/"+run, answer.Header.Get("Location"))
	answer, again := s.Ask(t, "POST", "/v1/runs", token, start, "Idempotency-Key", "many")
	require.Equal(t, 202, answer.StatusCode, "%s", again)
	var ended, now client.RunReport
	require.NoError(t, json.Unmarshal(body, &ended))
	require.NoError(t, json.Unmarshal(again, &now))
	require.Equal(t, ended.Status.Status, now.Status.Status, "a request that is repeated says how the run is now")
	_, body = s.Ask(t, "GET", "/v1/runs/"+run+"/starts", token, "")
	require.Equal(t, 1, strings.Count(string(body), `"state"`), "%s", body)
	other := s.Grant(t, "other service", "service")
	for _, wait := range []string{"wait=0", "wait=60"} {
		answer, body = s.Ask(t, "POST", "/v1/runs", other, start, "Idempotency-Key", "many", "Prefer", wait)
		require.Equal(t, 422, answer.StatusCode, "%s", body)
		require.NotContains(t, string(body), run)
	}
	answer, body = s.Ask(t, "POST", "/v1/runs", other, `{"pipeline":"orders","run":"`+run+`"}`)
	require.Equal(t, 400, answer.StatusCode, "%s", body)
	require.Contains(t, string(body), "belongs to an Idempotency-Key")
	answer, body = s.Ask(t, "GET", "/v1/runs/"+run, other, "")
	require.Equal(t, 404, answer.StatusCode, "who asked for the id of another's run does not see it: %s", body)
	for _, another := range []string{
		changed, `{"pipeline":"orders"}`, `{"pipeline":"orders@1","params":{"least":1}}`, `{"pipeline":"orders","params":{"least":1},"for":"2026-11-21"}`,
	} {
		answer, body = s.Ask(t, "POST", "/v1/runs", token, another, "Idempotency-Key", "many")
		require.Equal(t, 422, answer.StatusCode, "%s: %s", another, body)
		require.Equal(t, "KEY_REUSED", code(t, body))
	}
}

// ownRuns holds what a service sees, and somebody whose token is about other pipelines: nothing, in the words for what is not there.
func (s *apiServer) ownRuns(t *testing.T) {
	other := s.Grant(t, "other", "operator,auditor", "others*")
	service := s.Tokens[landscape.Service]
	_, unknown := s.Ask(t, "GET", "/v1/runs/nobody", other, "")
	for _, path := range []string{"", "/edges", "/rows", "/errors", "/effects", "/starts", "/follow"} {
		for _, token := range []string{other, service} {
			answer, body := s.Ask(t, "GET", "/v1/runs/same"+path, token, "")
			require.Equal(t, 404, answer.StatusCode, path)
			same := regexp.MustCompile(`"request":"\w+"`)
			require.Equal(t, same.ReplaceAllString(strings.ReplaceAll(string(unknown), "nobody", "same"), ""), same.ReplaceAllString(string(body), ""))
		}
	}
	for _, path := range []string{"/explain?row=1", "/errors/rows"} {
		answer, _ := s.Ask(t, "GET", "/v1/runs/same"+path, other, "")
		require.Equal(t, 404, answer.StatusCode)
	}
	answer, _ := s.Ask(t, "POST", "/v1/runs/same/cancel", other, `{"why":"x"}`)
	require.Equal(t, 404, answer.StatusCode)
	answer, body := s.Ask(t, "POST", "/v1/runs", other, `{"pipeline":"orders"}`)
	require.Equal(t, 404, answer.StatusCode, "%s", body)
	_, body = s.Ask(t, "GET", "/v1/runs", service, "")
	require.NotContains(t, string(body), `"same"`)
	require.Contains(t, string(body), `"actor":"service"`)
	for _, path := range []string{"/v1/runs", "/v1/pipelines", "/v1/starts", "/v1/events", "/v1/queue"} {
		_, body = s.Ask(t, "GET", path, other, "")
		require.NotContains(t, string(body), "orders", path)
	}
	s.sameIDs(t)
}

// sameIDs asks for what somebody else has, by an id under which the caller was refused, by the id of his key, and by
// the version of a pipeline whose name with that fits.
func (s *apiServer) sameIDs(t *testing.T) {
	narrow := s.Grant(t, "narrow", "service,operator", "deployed")
	refused := `{"pipeline":"deployed","run":"both","params":{"nope":1}}`
	answer, body := s.Ask(t, "POST", "/v1/runs", narrow, refused, "Prefer", "wait=60")
	require.Contains(t, string(body), `"status":"refused"`, answer.Status)
	answer, body = s.Ask(t, "GET", "/v1/runs/both", narrow, "")
	require.Equal(t, 200, answer.StatusCode, "%s", body)
	asked, operator := `{"pipeline":"orders","run":"both"}`, s.Tokens[landscape.Operator]
	answer, body = s.Ask(t, "POST", "/v1/runs", operator, asked, "Prefer", "wait=60")
	for strings.Contains(string(body), "RUN_BUSY") { // the workflow of the refused start ends a moment after its answer
		time.Sleep(10 * time.Millisecond)
		answer, body = s.Ask(t, "POST", "/v1/runs", operator, asked, "Prefer", "wait=60")
	}
	require.Equal(t, 200, answer.StatusCode, "%s", body)
	require.Contains(t, string(body), `"rows_read":3`)
	for _, path := range []string{"GET ", "GET /follow", "GET /edges", "POST /cancel", "POST /pause"} {
		method, path, _ := strings.Cut(path, " ")
		answer, body := s.Ask(t, method, "/v1/runs/both"+path, narrow, `{"why":"x"}`)
		require.Equal(t, 404, answer.StatusCode, "%s: %s", path, body)
	}
	answer, body = s.Ask(t, "POST", "/v1/runs", narrow, refused)
	require.Equal(t, 409, answer.StatusCode, "%s", body)
	require.Contains(t, string(body), "is taken")
	key := remote.RunOf("deployed", "tonight")
	for path, body := range map[string]string{
		"/v1/runs":            `{"pipeline":"orders","run":"` + key + `"}`,
		"/v1/runs/same/retry": `{"why":"x","run":"` + key + `"}`,
	} {
		answer, told := s.Ask(t, "POST", path, s.Grant(t, "narrow", "operator", "orders"), body)
		require.Equal(t, []any{400, "MALFORMED"}, []any{answer.StatusCode, code(t, told)}, "%s", told)
	}
	ends := s.Grant(t, "ends", "viewer", "*1")
	for _, path := range []string{"", "/document", "/diff", "/history"} {
		answer, told := s.Ask(t, "GET", "/v1/pipelines/deployed@1"+path, ends, "")
		require.Equal(t, 404, answer.StatusCode, "%s", told)
	}
}

// streams reads events, is cut off, and goes on.
func (s *apiServer) streams(t *testing.T) {
	read := func(path, last string, until func(event, id string) bool) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+s.Tokens[landscape.Viewer])
		request.Header.Set("Last-Event-ID", last)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
		id := ""
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if word, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = word
			}
			if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok && until(event, id) {
				return
			}
		}
		t.Fatal("the stream ended")
	}
	var ids []string
	read("/v1/events/stream", "", func(_, id string) bool {
		ids = append(ids, id)
		return len(ids) == 3
	})
	require.Equal(t, []string{"1", "2", "3"}, ids)
	read("/v1/events/stream", "3", func(_, id string) bool {
		require.Equal(t, "4", id)
		return true
	})
	var events []string
	read("/v1/runs/same/follow", "", func(event, _ string) bool {
		events = append(events, event)
		return event == "ended"
	})
	require.Equal(t, []string{"progress", "ended"}, events)
}

// orders gives orders to a run that has ended, and to none.
func (s *apiServer) orders(t *testing.T) {
	operator := s.Tokens[landscape.Operator]
	for verb, want := range map[string]int{"pause": 409, "cancel": 409, "resume": 202} {
		answer, body := s.Ask(t, "POST", "/v1/runs/same/"+verb, operator, `{"why":"a test"}`)
		require.Equal(t, want, answer.StatusCode, "%s: %s", verb, body)
	}
	answer, body := s.Ask(t, "POST", "/v1/runs/same/resolve", operator, `{"why":"a test","effect":"all/in:0","applied":true}`)
	require.Equal(t, 409, answer.StatusCode, "%s", body)
	require.Equal(t, "EFFECT_NOT_BLOCKED", code(t, body))
	for _, verb := range []string{"retire", "restore", "promote", "rollback"} {
		answer, body := s.Ask(t, "POST", "/v1/pipelines/deployed/"+verb, s.Tokens[landscape.Deployer], `{"why":"a test"}`)
		require.Equal(t, map[string]int{"retire": 200, "restore": 200, "promote": 400, "rollback": 409}[verb], answer.StatusCode, "%s: %s", verb, body)
	}
	daily := "/v1/schedules/default/deployed/daily"
	for _, verb := range []string{"pause", "pause", "resume", "resume"} {
		answer, body = s.Ask(t, "POST", daily+"/"+verb, operator, `{"why":"a test"}`)
		require.Equal(t, 200, answer.StatusCode, "%s", body)
		require.Contains(t, string(body), fmt.Sprintf(`"paused":%t`, verb == "pause"))
	}
	require.Contains(t, string(body), `"changed":false`, "it was resumed already")
	answer, body = s.Ask(t, "POST", daily+"/resume", operator, `{"why":"a test","make_up":"some"}`)
	require.Equal(t, 400, answer.StatusCode, "%s", body)
	for _, again := range []string{`"action":"run","schedule":"default/deployed/daily","slots":[{`, `"slots":[]`} {
		answer, body = s.Ask(t, "POST", daily+"/run", operator, `{"why":"a test","slot":"2026-01-31"}`)
		require.Equal(t, 202, answer.StatusCode, "%s", body)
		require.Contains(t, string(body), again)
	}
	id := strings.Split(s.Grant(t, "brief", "viewer"), "_")[1]
	for _, changed := range []string{"true", "false"} {
		_, body = s.Ask(t, "POST", "/v1/access/"+id+"/revoke", s.Tokens[landscape.Admin], `{"why":"over"}`)
		require.Contains(t, string(body), `"changed":`+changed)
	}
}
