package pages_test

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"waymark/landscape"
	"waymark/serve/api"
	"waymark/serve/ui"
	"waymark/tests/issuer"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// pageServer is a server whose pages are looked at.
type pageServer struct {
	*serving.API
	ordersRun, nastyRun string  // that the pages show
	short               *person // whose session ends soon
}

// TestPages looks at the pages of one server as people do: with a session, and as strangers.
func TestPages(t *testing.T) {
	t.Parallel()
	provider := issuer.Start(t)
	s := &pageServer{API: serving.StartAPI(t, signingIn(t, provider)...)}
	s.Issuer = provider
	s.writeNasty(t)
	s.ordersRun, s.nastyRun = s.begun(t)
	s.Arrive(t)
	t.Run("door", s.door)
	t.Run("the link that the server printed", s.link)
	t.Run("sign-in at an issuer", s.signsInAtIssuer)
	t.Run("a person who signs in at an issuer", s.personOfIssuer)
	t.Run("compressed", s.compressed)
	t.Run("hostile data", s.hostile)
	t.Run("bytes of a record", s.bytes)
	t.Run("orders", s.pageOrders)
	t.Run("form for a run", s.form)
	t.Run("refused rows are mended", s.mend)
	t.Run("evidence", s.evidence)
	t.Run("dossier", s.dossier)
	t.Run("find", s.find)
	t.Run("payloads", s.payloads)
	t.Run("health", s.healthPage)
	t.Run("the past", s.slider)
	t.Run("a document is deployed", s.pageDeploy)
	t.Run("schedules and access", s.pageSchedules)
	t.Run("triggers", s.pageTriggers)
	t.Run("a person at the browser", s.person)
	t.Run("how it looks, and who can use it", s.looks)
	t.Run("a session ends with the token of the issuer", s.shortEnds)
}

// nasty are texts that would do something, or would be shown otherwise than they are, if a page let them.
var nasty = []string{
	`<script>window.broken=1</script>`, `"><svg onload=window.broken=1>`, `' autofocus onfocus=window.broken=1 x='`, `javascript:window.broken=1`, `{{.}}`, `</title><h1>x`,
	"a\u202eb", "a\u200bb", "trailing ", `&lt;b&gt;`, `=HYPERLINK("x")`, "__proto__", strings.Repeat("w", 9000),
}

// writeNasty writes a document with a fork, a coalesce and hostile values.
func (s *pageServer) writeNasty(t *testing.T) {
	t.Helper()
	var data strings.Builder
	data.WriteString("id,<b>field</b>,note\n")
	for i, text := range nasty {
		fmt.Fprintf(&data, "%d,\"%s\",x\n", i+1, strings.ReplaceAll(text, `"`, `""`))
	}
	data.WriteString("<script>window.broken=1</script>,x,y\n")
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "nasty.csv"), []byte(data.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "nasty.yaml"), []byte(`name: nasty
sources:
  in:
    csv: {path: nasty.csv}
    key: [id]
    schema:
      mode: fixed
      fields: {id: int, "<b>field</b>": string, note: string}
steps:
  - {name: twice, fork: [left, right]}
  - {name: label, from: left, set: {note: "row['<b>field</b>'] + '!'"}}
  - {name: keep, from: right, filter: row.id > 2}
  - name: both
    coalesce: {left: label, right: keep}
    policy: require_all
sinks:
  out: {jsonl: {path: out/nasty.jsonl, overwrite: true}}
`), 0o600))
}

// person is somebody who is signed in to the pages.
type person struct {
	*http.Client
	s *pageServer
}

func (s *pageServer) signIn(t *testing.T, token string) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	p := &person{&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, s}
	answer, _ := p.post(t, "/login", url.Values{"token": {token}, "to": {"/runs"}})
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	require.Equal(t, "/runs", answer.Header.Get("Location"))
	return p
}

func (p *person) send(t *testing.T, method, path string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, p.s.URL+path, body)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := p.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(text)
}

func (p *person) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	return p.send(t, http.MethodGet, path, nil)
}

func (p *person) post(t *testing.T, path string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	return p.send(t, http.MethodPost, path, strings.NewReader(form.Encode()), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// ourScripts are the paths of the scripts that pages have.
func ourScripts() (paths []string) {
	for _, asset := range ui.Assets() {
		if strings.HasSuffix(asset.Path, ".js") {
			paths = append(paths, asset.Path)
		}
	}
	return paths
}

// parsed reads a page, and refuses one with anything that the pages do not have.
func parsed(t *testing.T, path, text string) *html.Node {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	titles := 0
	for node := range tree.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if node.Data == "script" { // only our own, which the policy allows
			require.Nil(t, node.FirstChild, path)
			source := slices.IndexFunc(node.Attr, func(a html.Attribute) bool { return a.Key == "src" })
			require.GreaterOrEqual(t, source, 0, path)
			require.Contains(t, ourScripts(), node.Attr[source].Val, path)
			continue
		}
		require.NotContains(t, []string{"iframe", "img", "object", "embed", "base", "style", "template"}, node.Data, path)
		if node.Data == "h1" {
			titles++
		}
		for _, attribute := range node.Attr {
			require.False(t, strings.HasPrefix(attribute.Key, "on") || attribute.Key == "style", "%s: %s", path, attribute.Key)
			if attribute.Key == "href" || attribute.Key == "action" {
				require.True(t, strings.HasPrefix(attribute.Val, "/") || strings.HasPrefix(attribute.Val, "#"), "%s: %s", path, attribute.Val)
			}
		}
	}
	require.Equal(t, 1, titles, "%s has one title", path)
	require.Less(t, len(text), 200_000, path)
	return tree
}

// textOf is what stands in a node, without the names of invisible characters.
func textOf(node *html.Node) string {
	var text strings.Builder
	for child := range node.Descendants() {
		if child.Type == html.TextNode {
			text.WriteString(child.Data)
		}
	}
	return text.String()
}

// links returns the attributes and the text of each link of a page.
func links(page *html.Node) iter.Seq2[map[string]string, string] {
	return func(yield func(map[string]string, string) bool) {
		for node := range page.Descendants() {
			if node.Type != html.ElementNode || node.Data != "a" {
				continue
			}
			attributes := map[string]string{}
			for _, a := range node.Attr {
				attributes[a.Key] = a.Val
			}
			if !yield(attributes, strings.TrimSpace(textOf(node))) {
				return
			}
		}
	}
}

// meets reports whether a role is all that a page needs.
func meets(needs [][]landscape.Role, role landscape.Role) bool {
	return !slices.ContainsFunc(needs, func(set []landscape.Role) bool { return !slices.Contains(set, role) })
}

// inTurn returns one of the cases, another one for each i, or all of them at night.
func inTurn[T any](i int, cases []T) []T {
	if sample.All() || len(cases) == 0 {
		return cases
	}
	i %= len(cases)
	return cases[i : i+1]
}

// door asks for every page without a session, with one that is over, and in every role. By day each page is asked for
// by a few of these people, and all of them come in turn.
func (s *pageServer) door(t *testing.T) {
	stranger := &person{&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, s}
	people, guests := map[landscape.Role]*person{}, map[landscape.Role]*person{}
	for role, token := range s.Tokens {
		people[role], guests[role] = s.signIn(t, token), s.signInAtIssuer(t, issuer.Claims{"groups": string(role)})
	}
	gone := s.Grant(t, "gone", "viewer,auditor,service,operator,deployer,admin")
	revoked := s.signIn(t, gone)
	s.Waymark(t, "access", "revoke", strings.Split(gone, "_")[1], "--why", "left")
	pages := api.PageNeeds()
	for i, asked := range slices.Sorted(maps.Keys(pages)) {
		needs := pages[asked]
		method, path, _ := strings.Cut(asked, " ")
		if path == "/logout" || strings.HasPrefix(path, "/login") || strings.HasPrefix(path, "/assets") {
			continue
		}
		path = strings.NewReplacer(
			"{$}", "", "{run}", "nobody", "{name}", "nobody", "{token}", "0123456789ab", "{environment}", "default",
			"{pipeline}", "nobody", "{schedule}", "daily", "{trigger}", "drop", "{digest}", "0123",
		).Replace(path)
		for _, nobody := range inTurn(i, []*person{stranger, revoked}) {
			answer, text := nobody.send(t, method, path, nil)
			require.Equal(t, http.StatusUnauthorized, answer.StatusCode, asked)
			require.Contains(t, text, `name="token"`, asked)
			parsed(t, path, text)
		}
		answer, _ := stranger.send(t, method, path, nil, "Cookie", "waymark=AAAA", "Authorization", "Bearer "+s.Tokens[landscape.Auditor])
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode, asked)
		var may, mayNot []*person
		for _, role := range landscape.Roles() {
			if both := []*person{people[role], guests[role]}; meets(needs, role) {
				may = append(may, both...)
			} else {
				mayNot = append(mayNot, both...)
			}
		}
		for _, p := range inTurn(i, mayNot) {
			answer, text := p.send(t, method, path, nil)
			parsed(t, path, text)
			require.Equal(t, http.StatusForbidden, answer.StatusCode, asked)
		}
		for _, p := range inTurn(i, may) {
			answer, text := p.send(t, method, path, nil)
			parsed(t, path, text)
			require.Contains(t, []int{200, 400, 404}, answer.StatusCode, asked)
			require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
			require.NotContains(t, answer.Header.Get("Content-Security-Policy"), "unsafe")
		}
	}
	answer, text := stranger.post(t, "/login", url.Values{"token": {"wmk_0123456789ab_" + strings.Repeat("A", 43)}})
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	require.Contains(t, text, "does not count")
	for _, to := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "/runs/\\evil", ""} {
		answer, _ = stranger.post(t, "/login", url.Values{"token": {s.Tokens[landscape.Viewer]}, "to": {to}})
		require.Equal(t, "/", answer.Header.Get("Location"), to)
	}
	cookie := answer.Header.Get("Set-Cookie")
	require.Contains(t, cookie, "HttpOnly")
	require.Contains(t, cookie, "SameSite=Strict")
	require.NotContains(t, cookie, s.Tokens[landscape.Viewer])
	operator := people[landscape.Operator]
	answer, _ = operator.post(t, "/runs/nobody/cancel", url.Values{"why": {"x"}}, "Origin", "https://evil.example")
	require.Equal(t, http.StatusForbidden, answer.StatusCode, "no other site gives orders")
	answer, _ = operator.get(t, "/v1/runs")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "a session is not for programs")
	answer, _ = operator.post(t, "/logout", nil)
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	answer, _ = operator.get(t, "/runs")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
}

// link signs somebody in with the link that the server printed: once.
func (s *pageServer) link(t *testing.T) {
	printed := regexp.MustCompile(`sign in +` + regexp.QuoteMeta(s.URL) + `(/login\?code=(\S+))`).FindStringSubmatch(s.Log.String())
	require.NotNil(t, printed, s.Log.String())
	require.NotContains(t, s.Out.String(), "/login", "programs read and keep what goes to standard output")
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	p := &person{&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, s}
	who, err := user.Current()
	require.NoError(t, err)
	for range 2 { // to look at the page takes nothing away
		answer, text := p.get(t, printed[1])
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Contains(t, textOf(parsed(t, "/login", text)), "Sign in as "+who.Username)
	}
	answer, text := p.post(t, "/login", url.Values{"code": {printed[2] + "A"}})
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	require.Contains(t, text, "does not count any more")
	answer, _ = p.post(t, "/login", url.Values{"code": {printed[2]}})
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	answer, text = p.get(t, "/access")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, textOf(parsed(t, "/access", text)), "signed in with the link that the server printed")
	answer, _ = p.post(t, "/login", url.Values{"code": {printed[2]}})
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "it works once")
	_, text = p.get(t, printed[1])
	require.Contains(t, text, "does not count any more")
}

// looking signs somebody in who may see values and give orders.
func (s *pageServer) looking(t *testing.T) *person {
	t.Helper()
	return s.signIn(t, s.Grant(t, "ann", "auditor,operator"))
}

// begun starts runs for the pages, and returns their ids.
func (s *pageServer) begun(t *testing.T) (orders, nasty string) {
	t.Helper()
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	run := func(document string) string {
		out, _ := s.Try(t.Context(), "run", document) // with refused rows it exits with 3
		found := id.FindString(out)
		require.NotEmpty(t, found, out)
		return found
	}
	return run("orders.yaml"), run("nasty.yaml")
}

// hostile looks at every row with what a stranger may have written, and at why it was refused: it is text, and it is all there.
func (s *pageServer) hostile(t *testing.T) {
	run := s.nastyRun
	p := s.looking(t)
	for i, text := range nasty {
		answer, page := p.get(t, fmt.Sprintf("/runs/%s/explain?row=%d", run, i+1))
		require.Equal(t, http.StatusOK, answer.StatusCode)
		shown := textOf(parsed(t, "explain", page))
		want := strings.NewReplacer("\u202e", "RLO", "\u200b", "ZWSP", "trailing ", "trailing", `"`, `""`).Replace(text)
		require.Contains(t, shown, want[:min(len(want), 4000)], "%q", text)
	}
	refused := fmt.Sprintf("/runs/%s/errors", run)
	answer, page := p.get(t, refused)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NotContains(t, textOf(parsed(t, refused, page)), "window.broken", "values are not shown unless somebody asks for them")
	_, page = p.get(t, refused+"?values=true")
	require.Contains(t, textOf(parsed(t, refused, page)), "<script>window.broken=1</script>")
	viewer := s.signIn(t, s.Tokens[landscape.Viewer])
	answer, _ = viewer.get(t, refused+"?values=true")
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	disclosed := s.Waymark(t, "access", "disclosures", "--limit", "0")
	require.Contains(t, disclosed, "in:1")
	require.Contains(t, disclosed, "errors")
}
