package serving

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
	"waymark/tests/issuer"
	"waymark/tests/manual"
)

// API is a server whose API is asked. Every answer that it gives is compared with its OpenAPI document.
type API struct {
	*Server
	URL     string
	Tokens  map[landscape.Role]string // an access token of each role
	Issuer  *issuer.Issuer            // whose tokens count as well; nil for none
	schemas *jsonschema.Compiler
	paths   []described
}

// described is a path of the OpenAPI document, with its operations by method.
type described struct {
	pattern    string
	matches    *regexp.Regexp
	operations map[string]operation
}

type operation struct {
	Responses map[string]struct {
		Content map[string]struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

// parameter is one in the pattern of a path, which is quoted.
var parameter = regexp.MustCompile(`\\\{\w+\\\}`)

// StartAPI serves the pipelines of docs/api.md, and one that is deployed.
func StartAPI(t *testing.T, flags ...string) *API {
	t.Helper()
	folder, text := t.TempDir(), manual.Page(t, "api.md")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.yaml"), []byte(manual.Blocks(text, "yaml")[0]), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "calls.yaml"), []byte(manual.Blocks(text, "yaml")[1]), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.csv"), []byte(manual.Blocks(text, "csv")[0]), 0o600))
	s := &API{Server: Start(t, folder, append(flags, "--api", "127.0.0.1:0", "--api-rate", "0", "--allow-path", folder, "--login-link")...), Tokens: map[landscape.Role]string{}}
	listens := regexp.MustCompile(`for=--api address=(\S+)`)
	require.Eventually(t, func() bool { return listens.MatchString(s.Log.String()) }, Patience, 10*time.Millisecond)
	s.URL = "http://" + listens.FindStringSubmatch(s.Log.String())[1]
	elsewhere := strings.NewReplacer("name: orders", "name: deployed",
		"path: out/", "path: "+folder+"/out/deployed/", "path: ", "path: "+folder+"/")
	deployed := elsewhere.Replace(manual.Blocks(text, "yaml")[0]) + "schedules: {daily: {every: day}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "deployed.yaml"), []byte(deployed), 0o600))
	s.Waymark(t, "deploy", "deployed.yaml", "--allow-path", folder)
	for _, role := range landscape.Roles() {
		s.Tokens[role] = s.Grant(t, string(role), string(role))
	}
	answer, body := s.Ask(t, "GET", "/openapi.json", "", "")
	require.Equal(t, 200, answer.StatusCode)
	var api struct {
		Paths map[string]map[string]operation
	}
	require.NoError(t, json.Unmarshal(body, &api))
	for pattern, operations := range api.Paths {
		matches := parameter.ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+")
		s.paths = append(s.paths, described{pattern, regexp.MustCompile("^" + matches + "$"), operations})
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err)
	s.schemas = jsonschema.NewCompiler()
	s.schemas.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, s.schemas.AddResource("mem:///openapi.json", document))
	return s
}

// Grant makes an access token with roles, which are divided by commas, for pipelines whose names match the patterns;
// for all without one.
func (s *Server) Grant(t *testing.T, name, roles string, pipelines ...string) string {
	t.Helper()
	request := client.AccessRequest{By: client.By{Why: "a test"}, Name: name, Pipelines: pipelines}
	for role := range strings.SplitSeq(roles, ",") {
		request.Roles = append(request.Roles, landscape.Role(role))
	}
	granted, err := s.Home(t).GrantAccess(t.Context(), request)
	require.NoError(t, err)
	return granted.Token
}

// Ask sends a request, whose answer has to be one of the OpenAPI document. headers are pairs.
func (s *API) Ask(t *testing.T, method, path, token, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	answer, text, err := s.Send(t, method, path, token, body, headers...)
	require.NoError(t, err)
	s.conforms(t, method, path, answer, text)
	return answer, text
}

// Send sends a request, and takes any answer. That of a stream has no text.
func (s *API) Send(t *testing.T, method, path, token, body string, headers ...string) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return answer, nil, nil
	}
	text, err := io.ReadAll(answer.Body)
	return answer, text, err
}

// conforms holds an answer against the OpenAPI document.
func (s *API) conforms(t *testing.T, method, path string, answer *http.Response, body []byte) {
	t.Helper()
	require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"))
	require.NotEmpty(t, answer.Header.Get("Request-Id"))
	if s.schemas == nil || answer.StatusCode == http.StatusNotModified || len(body) == 0 {
		return
	}
	reference := "mem:///openapi.json#/components/schemas/remote.Problem"
	if answer.StatusCode < 400 {
		path, _, _ = strings.Cut(path, "?")
		known, asked := "", operation{}
		for _, d := range s.paths {
			if d.matches.MatchString(path) {
				known, asked = d.pattern, d.operations[strings.ToLower(method)]
			}
		}
		content, ok := asked.Responses[fmt.Sprint(answer.StatusCode)]
		if answer.StatusCode == http.StatusPartialContent {
			return
		}
		require.True(t, ok, "%s %s answers %d, which %q does not", method, path, answer.StatusCode, known)
		if len(content.Content["application/json"].Schema) == 0 {
			return
		}
		reference = "mem:///openapi.json#/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(known) + "/" + strings.ToLower(method) + "/responses/" + fmt.Sprint(answer.StatusCode) + "/content/application~1json/schema"
	} else {
		require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
	}
	schema, err := s.schemas.Compile(reference)
	require.NoError(t, err, reference)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err, "%s", body)
	require.NoError(t, schema.Validate(value), "%s %s: %s", method, path, body)
}

// Nowhere requires that no file of the server and no line of its log has any of the words.
func (s *API) Nowhere(t *testing.T, words ...string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(s.Folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // the server removed it meanwhile
		}
		content, _ := os.ReadFile(path)
		for _, word := range words {
			require.NotContains(t, string(content), word, path)
		}
		return nil
	}))
	for _, word := range words {
		require.NotContains(t, s.Log.String(), word)
	}
}
