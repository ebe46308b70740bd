package pages_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"waymark/landscape"
)

// pageOrders gives orders by the forms of the pages.
func (s *pageServer) pageOrders(t *testing.T) {
	orders := s.ordersRun
	p := s.looking(t)
	answer, text := p.post(t, "/runs/"+orders+"/cancel", url.Values{"why": {""}})
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.Contains(t, text, "say why")
	answer, text = p.post(t, "/runs/"+orders+"/cancel", url.Values{"why": {"a test"}, "final": {"true"}, "confirm": {"others"}})
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.Contains(t, text, "nothing was done")
	answer, text = p.post(t, "/runs/"+orders+"/resolve", url.Values{"why": {"a test"}, "applied": {"true"}, "effect": {"all/in:0"}, "other": {"x"}})
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.Contains(t, text, "other fields")
	answer, text = p.post(t, "/runs/"+orders+"/pause", url.Values{"why": {"a test"}})
	require.Equal(t, http.StatusConflict, answer.StatusCode, text)
}

// field is the value of a field of a form.
func field(page *html.Node, name string) (value string, found bool) {
	for node := range page.Descendants() {
		attributes := map[string]string{}
		for _, a := range node.Attr {
			attributes[a.Key] = a.Val
		}
		if node.Data == "input" && attributes["name"] == name {
			return attributes["value"], true
		}
	}
	return "", false
}

// form starts runs by the form on the page of a pipeline.
func (s *pageServer) form(t *testing.T) {
	p := s.looking(t)
	_, text := p.get(t, "/pipelines")
	require.Contains(t, text, `href="/pipelines/deployed"`)
	_, text = p.get(t, "/pipelines/deployed")
	sent := url.Values{"param.least": {"many"}, "why": {"a test"}}
	fill := func() string {
		for _, name := range []string{"run", "pipeline", "environment"} {
			value, found := field(parsed(t, "form", text), name)
			require.True(t, found, name)
			sent.Set(name, value)
		}
		return sent.Get("run")
	}
	refused := fill()
	require.Equal(t, "deployed@1", sent.Get("pipeline"))
	var answer *http.Response
	answer, text = p.post(t, "/pipelines/deployed/run", sent)
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, text)
	require.Contains(t, text, "is not a valid int")
	kept, _ := field(parsed(t, "form", text), "param.least")
	require.Equal(t, "many", kept)
	run := fill()
	require.NotEqual(t, refused, run, "one that was refused does not begin later")
	sent.Set("param.least", "1")
	for range 2 { // twice, it is one run
		answer, text = p.post(t, "/pipelines/deployed/run", sent)
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
		require.Equal(t, "/runs/"+run, answer.Header.Get("Location"))
	}
	require.Eventually(t, func() bool {
		_, text := p.get(t, "/runs/"+run)
		return strings.Contains(text, "all accounts balance")
	}, patience, 50*time.Millisecond)
	_, asked := s.Ask(t, "GET", "/v1/runs/"+run+"/starts", s.Tokens[landscape.Viewer], "")
	require.Equal(t, 1, strings.Count(string(asked), `"state"`), "%s", asked)
	sent.Set("param.least", "2")
	answer, text = p.post(t, "/pipelines/deployed/run", sent)
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, "somebody went back in the browser, and wrote another value")
	require.Contains(t, textOf(parsed(t, "form", text)), "this form was sent before with other values")
	sent.Set("pipeline", "orders")
	answer, text = p.post(t, "/pipelines/deployed/run", sent)
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, text)
	viewer := s.signIn(t, s.Tokens[landscape.Viewer])
	_, text = viewer.get(t, "/pipelines/deployed")
	require.NotContains(t, text, "<form method=\"post\" action=\"/pipelines")
	_, text = viewer.get(t, "/starts?state=refused")
	require.Contains(t, text, refused[len(refused)-4:])

	changed, err := os.ReadFile(filepath.Join(s.Folder, "deployed.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "deployed.yaml"), append(changed, "# <script>window.broken=1</script>\n"...), 0o600))
	s.Waymark(t, "deploy", "deployed.yaml", "--allow-path", s.Folder, "--message", "words")
	_, text = p.get(t, "/pipelines/deployed/diff?from=1&to=2")
	require.Contains(t, textOf(parsed(t, "diff", text)), "only comments or layout moved")
	_, text = p.get(t, "/pipelines/deployed")
	require.Contains(t, textOf(parsed(t, "pipeline", text)), "# <script>window.broken=1</script>")
	deployer := s.signIn(t, s.Tokens[landscape.Deployer])
	answer, text = deployer.post(t, "/pipelines/deployed/rollback", url.Values{"why": {"a test"}, "version": {"1"}, "environment": {"default"}})
	require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
	require.Equal(t, "/pipelines/deployed", answer.Header.Get("Location"))
	for _, verb := range []string{"retire", "restore"} {
		answer, text = deployer.post(t, "/pipelines/deployed/"+verb, url.Values{"why": {"a test"}})
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
	}
	_, text = p.get(t, "/pipelines/deployed")
	require.Contains(t, textOf(parsed(t, "pipeline", text)), "deployed@1 ✓ current")
}

// mend goes from why a row was refused to a version that takes it, tries that, and retries the row.
func (s *pageServer) mend(t *testing.T) {
	p := s.looking(t)
	out, _ := s.Try(t.Context(), "run", "--pipeline", "deployed@1", "--run-id", "refusing") // it exits with 3
	require.Contains(t, out, "refused")
	file := filepath.Join(s.Folder, "deployed.yaml")
	document, err := os.ReadFile(file)
	require.NoError(t, err)
	cured := strings.NewReplacer("total: decimal}", "total: string}", "row.total >= decimal(param.least)", "row.total != string(param.least)").Replace(string(document))
	require.NotEqual(t, string(document), cured)
	require.NoError(t, os.WriteFile(file, []byte(cured), 0o600))
	var deployed struct{ Version int64 }
	require.NoError(t, json.Unmarshal([]byte(s.Waymark(t, "deploy", file, "--allow-path", s.Folder, "--message", "takes words", "--json")), &deployed))

	path := "/runs/refusing/errors"
	_, text := p.get(t, path)
	require.Contains(t, textOf(parsed(t, path, text)), "Retry the rows in quarantine")
	tried := fmt.Sprintf("?version=%d", deployed.Version)
	answer, text := p.get(t, path+tried)
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.Contains(t, textOf(parsed(t, path, text)), "Of 3 rows, 1 would go another way, and none that passed would be refused.")
	// they could learn values by the counts
	for _, role := range []landscape.Role{landscape.Viewer, landscape.Deployer} {
		answer, text = s.signIn(t, s.Tokens[role]).get(t, path+tried)
		require.Equal(t, http.StatusForbidden, answer.StatusCode, text)
	}
	_, said := s.Ask(t, "GET", "/v1/runs/refusing/what-if"+tried, s.Tokens[landscape.Auditor], "")
	told, _ := s.Try(t.Context(), "what-if", "refusing", "--version", fmt.Sprint(deployed.Version), "--allow-path", s.Folder, "--json") // a row flips: it exits with 3
	told, _, _ = strings.Cut(told, "\n")
	require.JSONEq(t, told, string(said))

	// A service does not see what other versions would do, also of its own runs.
	answer, begun := s.Ask(t, "POST", "/v1/runs", s.Tokens[landscape.Service], `{"pipeline":"deployed@1","run":"serviced"}`)
	require.Equal(t, http.StatusAccepted, answer.StatusCode, "%s", begun)
	require.Eventually(t, func() bool {
		_, said := s.Ask(t, "GET", "/v1/runs/serviced", s.Tokens[landscape.Service], "")
		return strings.Contains(string(said), `"completed_with_failures"`)
	}, patience, 50*time.Millisecond)
	service := s.signIn(t, s.Tokens[landscape.Service])
	for _, version := range []string{tried, "?version=99"} { // whether there is one or not
		answer, text = service.get(t, "/runs/serviced/errors"+version)
		require.Equal(t, http.StatusOK, answer.StatusCode, text)
		require.NotContains(t, text, "not on record")
	}

	// A document that is edited on the page, tried before anybody deploys it.
	answer, text = s.signIn(t, s.Tokens[landscape.Deployer]).post(t, path, url.Values{"document": {cured}})
	require.Equal(t, http.StatusForbidden, answer.StatusCode, text)
	both := s.Grant(t, "both", "deployer,auditor")
	deployer := s.signIn(t, both)
	answer, text = deployer.post(t, path, url.Values{"document": {strings.ReplaceAll(cured, "\n", "\r\n")}})
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.Contains(t, textOf(parsed(t, path, text)), "With the edited document, not on record\nOf 3 rows, 1 would go another way")
	require.Contains(t, text, "total: string", "it can be edited on")
	body, err := json.Marshal(map[string]string{"document": cured})
	require.NoError(t, err)
	_, said = s.Ask(t, "POST", "/v1/runs/refusing/what-if", both, string(body))
	require.JSONEq(t, told, string(said))
	far, _ := s.Try(t.Context(), "what-if", "refusing", "--pipeline", file, "--allow-path", s.Folder, "--json")
	far, _, _ = strings.Cut(far, "\n")
	require.JSONEq(t, told, far)
	answer, text = deployer.post(t, path, url.Values{"source": {"in"}, "field": {"total"}, "type": {"string"}})
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.Contains(t, textOf(parsed(t, path, text)), "The document cannot be tried on this run: the document has", "an expression computes with it")
	require.Contains(t, text, "total: string")
	answer, text = deployer.post(t, path, url.Values{"source": {"in"}, "field": {"none"}, "type": {"string"}})
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, text)
	// Neither of a deployed pipeline nor of a file: the document reads no file of the server.
	for run, peek := range map[string]string{
		"refusing":  strings.Replace(cured, "steps: [", "steps: [{name: peek, lookup: {csv: {path: "+s.Folder+"/orders.csv}, on: {total: row.total}, add: {z: id}}}, ", 1),
		s.ordersRun: "name: peek\nsources: {in: {csv: {path: a.csv}, schema: {fields: {id: string}}}}\nsteps: [{name: peek, lookup: {csv: {path: orders.csv}, on: {total: row.id}, add: {z: id}}}]\nsinks: {all: {csv: {path: b.csv}}}\n",
	} {
		body, err := json.Marshal(map[string]string{"document": peek})
		require.NoError(t, err)
		answer, said := s.Ask(t, "POST", "/v1/runs/"+run+"/what-if", both, string(body))
		require.NotEqual(t, http.StatusOK, answer.StatusCode, "%s", said)
		require.Contains(t, string(said), "orders.csv: is not among the files of the deployed version, or the tables of the run", run)
	}
	answer, text = deployer.post(t, path, url.Values{"document": {"name: ["}})
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.Contains(t, textOf(parsed(t, path, text)), "The document cannot be tried on this run: the document has 1 problemthe document:1:7: ")

	_, text = p.get(t, path+tried)
	run, found := field(parsed(t, path, text), "run")
	require.True(t, found)
	form := url.Values{"run": {run}, "version": {fmt.Sprint(deployed.Version)}, "why": {"words are fine"}}
	for range 2 {
		answer, text = p.post(t, "/runs/refusing/retry", form)
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
		require.Equal(t, "/runs/"+run, answer.Header.Get("Location"))
	}
	output := filepath.Join(s.Folder, "out/deployed/all.retry-1.csv")
	require.Eventually(t, func() bool { _, err := os.Stat(output); return err == nil }, patience, 50*time.Millisecond)
	content, err := os.ReadFile(output)
	require.NoError(t, err)
	require.Equal(t, "id,total\n2,many\n", string(content))
	require.Eventually(t, func() bool {
		_, text := p.get(t, "/runs/"+run)
		return strings.Contains(text, "✓ completed")
	}, patience, 50*time.Millisecond)
	form.Set("run", "other")
	answer, text = p.post(t, "/runs/refusing/retry", form)
	require.Equal(t, http.StatusConflict, answer.StatusCode, text)
	require.Contains(t, text, "no row in quarantine can be retried")
	viewer := s.signIn(t, s.Tokens[landscape.Viewer])
	_, text = viewer.get(t, path)
	require.NotContains(t, text, "Retry the rows")
}

// pageSchedules pauses and resumes a schedule, runs a slot, and revokes an access token, by the forms of the pages.
func (s *pageServer) pageSchedules(t *testing.T) {
	p := s.looking(t)
	path := "/schedules/default/deployed/daily"
	_, text := p.get(t, "/schedules")
	require.Contains(t, text, path)
	for _, order := range []struct {
		verb, want string
		form       url.Values
	}{
		{"pause", "Paused by ann: a test", url.Values{}}, {"resume", "Next: ", url.Values{"make_up": {"none"}}}, {"run", "a test", url.Values{"slot": {"2026-01-31"}}},
	} {
		order.form.Set("why", "a test")
		answer, text := p.post(t, path+"/"+order.verb, order.form)
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
		require.Equal(t, path, answer.Header.Get("Location"))
		_, text = p.get(t, path)
		require.Contains(t, textOf(parsed(t, path, text)), order.want)
	}
	admin := s.signIn(t, s.Tokens[landscape.Admin])
	gone := s.Grant(t, "brief", "viewer")
	short := s.signIn(t, gone)
	answer, text := admin.post(t, "/access/"+strings.Split(gone, "_")[1]+"/revoke", url.Values{"why": {"left"}})
	require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
	answer, _ = short.get(t, "/runs")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	_, text = admin.get(t, "/access")
	require.Contains(t, textOf(parsed(t, "/access", text)), "explain")
}
