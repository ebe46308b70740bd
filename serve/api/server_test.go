package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/serve/oidc"
)

// asked is a Server without runs, and a token of each kind that tests need.
func asked(t *testing.T, requests float64) (*Server, *local.Home, string) {
	t.Helper()
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(filepath.Join(t.TempDir(), "state"))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, home.Close()) })
	s, err := New(Options{Home: home, Logger: slog.New(slog.DiscardHandler), Code: "test", Rate: requests, Private: true})
	require.NoError(t, err)
	granted, err := home.GrantAccess(t.Context(), client.AccessRequest{By: client.By{Why: "a test"}, Name: "ann", Roles: landscape.Roles()})
	require.NoError(t, err)
	return s, home, granted.Token
}

func get(s *Server, path, token string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	request.Host = "localhost:8686"
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	return answer
}

// TestRates lets a token ask as often as it may, and an address fail as often as it may: a token that counts is not refused for that.
func TestRates(t *testing.T) {
	s, _, token := asked(t, 1e-9)
	s.rates.of = nil
	s.Rate = 1
	for _, want := range []int{200, 200, 429} {
		answer := get(s, "/v1/whoami", token)
		require.Equal(t, want, answer.Code, answer.Body)
	}
	for range failedLogins {
		require.Equal(t, 401, get(s, "/v1/whoami", "x").Code)
	}
	answer := get(s, "/v1/whoami", "x")
	require.Equal(t, 429, answer.Code)
	require.Equal(t, "6", answer.Header().Get("Retry-After"))
	s.Rate = 1_000
	s.rates.of["token "+strings.Split(token, "_")[1]] = nil
	require.Equal(t, 200, get(s, "/v1/whoami", token).Code)
}

// TestExpiredToken uses a token to the end of its time, and then not.
func TestExpiredToken(t *testing.T) {
	s, home, _ := asked(t, 0)
	granted, err := home.GrantAccess(t.Context(), client.AccessRequest{
		By: client.By{Why: "a test"}, Name: "bob", Roles: []landscape.Role{landscape.Viewer}, Expires: time.Now().Add(time.Hour),
	})
	require.NoError(t, err)
	require.Equal(t, 200, get(s, "/v1/whoami", granted.Token).Code)
	token, _, err := home.Authenticate(t.Context(), granted.Token)
	require.NoError(t, err)
	require.True(t, token.Valid(time.Now()))
	require.False(t, token.Valid(time.Now().Add(time.Hour)))
	_, err = home.GrantAccess(t.Context(), client.AccessRequest{By: client.By{Why: "a test"}, Name: "bob", Roles: []landscape.Role{landscape.Viewer}, Expires: time.Now()})
	require.ErrorContains(t, err, "would have expired before it is used")
}

// TestNothingIsShownUnrecorded shows no values if that cannot be recorded, and what is recorded names the row.
func TestNothingIsShownUnrecorded(t *testing.T) {
	s, home, token := asked(t, 0)
	shown, counts, err := home.Authenticate(t.Context(), token)
	require.NoError(t, err)
	require.True(t, counts)
	c := &call{Request: httptest.NewRequest(http.MethodGet, "/", http.NoBody), server: s, token: oidc.Caller{AccessToken: shown}}
	require.NoError(t, c.disclose("one", "explain", "in:3"))
	list, err := home.Disclosures(t.Context(), "", 0)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, []string{"one", "ann", "explain", "in:3"}, []string{list[0].Run, list[0].Actor, list[0].What, list[0].Subject})
	require.NoError(t, home.Close())
	problem, known := problemOf(c.disclose("one", "explain", "in:4"))
	require.True(t, known)
	require.Equal(t, notDisclosed, problem.Code)
}

// TestDescription holds that the API has one description, in which every route is, with all that it refers to.
func TestDescription(t *testing.T) {
	s, _, _ := asked(t, 0)
	answer := get(s, "/openapi.json", "")
	require.Equal(t, 200, answer.Code)
	var described struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]json.RawMessage }
	}
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &described))
	ids := map[string]bool{}
	for _, r := range table() {
		id := described.Paths[r.path][strings.ToLower(r.method)].OperationID
		require.NotEmpty(t, id, r.path)
		require.False(t, ids[id], "%s is there twice", id)
		ids[id] = true
	}
	for _, reference := range strings.Split(string(text), `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(reference, `"`)
		require.Contains(t, described.Components.Schemas, name)
	}
}

// TestCursors takes a place only from whoever made it, and for the same list.
func TestCursors(t *testing.T) {
	s, _, _ := asked(t, 0)
	at := func(path, query string) *call {
		c := &call{Request: httptest.NewRequest(http.MethodGet, path+query, http.NoBody), server: s, route: &route{path: path}}
		c.query = c.URL.Query()
		return c
	}
	cursor := at("/v1/runs", "?status=failed&limit=3").cursor("5/hidden-run")
	place, err := at("/v1/runs", "?status=failed&limit=9&after="+cursor).place()
	require.NoError(t, err)
	require.Equal(t, "5/hidden-run", place)
	told, err := base64.RawURLEncoding.DecodeString(cursor)
	require.NoError(t, err)
	require.NotContains(t, string(told), "hidden", "it may be of a run that who asks does not see")
	for _, other := range []*call{at("/v1/runs", "?after="+cursor), at("/v1/starts", "?status=failed&after="+cursor), at("/v1/runs", "?status=failed&after=x"+cursor)} {
		_, err := other.place()
		require.Error(t, err)
	}
	again, _, _ := asked(t, 0)
	c := at("/v1/runs", "?status=failed&after="+cursor)
	c.server = again
	_, err = c.place()
	require.Error(t, err, "another process has another key")
}

// TestAPageHasWhatItsCallerSees: what others see fills no pages, and a search for the rest has an end.
func TestAPageHasWhatItsCallerSees(t *testing.T) {
	s, _, _ := asked(t, 0)
	list := func(total int, query string, mine func(int) bool) (items []int, next string, looked int) {
		t.Helper()
		c := &call{
			Request: httptest.NewRequest(http.MethodGet, "/v1/starts?"+query, http.NoBody),
			server:  s,
			route:   &route{path: "/v1/starts"},
		}
		c.query = c.URL.Query()
		from := func(after string, limit int) (batch []int, err error) {
			first, _ := strconv.Atoi(after)
			for i := first + 1; i <= total && len(batch) < limit; i++ {
				batch = append(batch, i)
			}
			looked += len(batch)
			return batch, nil
		}
		page, err := seenOf(c, strconv.Itoa, from, func(i int) (bool, error) { return mine(i), nil })
		require.NoError(t, err)
		require.NotNil(t, page.Items)
		return page.Items, page.Next, looked
	}
	tens := func(i int) bool { return i%10 == 0 }
	items, next, _ := list(40, "limit=3", tens)
	require.Equal(t, []int{10, 20, 30}, items)
	items, next, _ = list(40, "limit=3&after="+next, tens)
	require.Equal(t, []int{40}, items)
	require.Empty(t, next)
	items, next, _ = list(40, "limit=4", tens)
	require.Equal(t, []int{10, 20, 30, 40}, items)
	require.Empty(t, next, "there is no more that the caller sees")
	items, next, looked := list(20_000, "limit=2", func(i int) bool { return i == 9_000 })
	require.Empty(t, items)
	require.NotEmpty(t, next, "it looks no further, and says so")
	require.LessOrEqual(t, looked, mostSought+mostItems)
	items, _, _ = list(20_000, "limit=2&after="+next, func(i int) bool { return i == 9_000 })
	require.Equal(t, []int{9_000}, items)
	items, next, looked = list(20_000, "limit=2", func(int) bool { return true })
	require.Equal(t, []int{1, 2}, items)
	require.NotEmpty(t, next)
	require.Equal(t, 3, looked, "who sees all reads no more than the page")
}

// TestVerificationsThatWait has more runs verified than are kept: those that wait are not forgotten, and no more begin.
func TestVerificationsThatWait(t *testing.T) {
	v := &verifications{}
	ask := func(run string) []bool {
		begun, full := v.begin(run, "ann")
		return []bool{begun, full}
	}
	for i := range mostVerifications {
		require.Equal(t, []bool{true, false}, ask(fmt.Sprint(i)))
	}
	require.Equal(t, []bool{false, true}, ask("more"))
	require.Equal(t, []bool{false, false}, ask("7"), "it waits")
	v.change("7", func(now *remote.Verification) { now.State = remote.Verified })
	require.Equal(t, []bool{true, false}, ask("more"))
	require.Nil(t, v.get("7"))
	require.NotNil(t, v.get("0"))
	require.Equal(t, []bool{false, true}, ask("7"))
}
