package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/serve/oidc"
)

// given grants an access token, and returns its id and what requests send.
func given(t *testing.T, home *local.Home, request client.AccessRequest, roles ...landscape.Role) (id, token string) {
	t.Helper()
	request.By, request.Name, request.Roles = client.By{Why: "a test"}, "ann", roles
	granted, err := home.GrantAccess(t.Context(), request)
	require.NoError(t, err)
	return granted.ID, granted.Token
}

// TestARevokedTokenEndsWhatItBegan: streams, waits and downloads end soon after the access token does, revoked or
// expired.
func TestARevokedTokenEndsWhatItBegan(t *testing.T) {
	s, home, _ := asked(t, 0)
	revoked, token := given(t, home, client.AccessRequest{}, landscape.Viewer)
	soon := time.Now().Add(3 * time.Second) // after its stream has begun, however busy the machine is
	_, brief := given(t, home, client.AccessRequest{Expires: soon}, landscape.Viewer)
	ended := make(chan string, 2)
	for _, sent := range []string{token, brief} {
		go func() { ended <- get(s, "/v1/events/stream", sent).Body.String() }()
	}
	require.Eventually(t, func() bool { return s.streams.Load() == 2 }, time.Minute, time.Millisecond)
	changed, err := home.RevokeAccess(t.Context(), revoked, client.By{Why: "left"})
	require.NoError(t, err)
	require.True(t, changed)
	for range 2 {
		select {
		case text := <-ended:
			require.Equal(t, "retry: 1000\n\n", text)
		case <-time.After(time.Minute):
			t.Fatal("the stream goes on")
		}
	}
	for _, of := range []landscape.AccessToken{{ID: revoked}, {ID: "0123456789ab"}, {ID: "oidc-1", Expires: 1}} {
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		c := &call{Request: request, server: s, w: httptest.NewRecorder(), token: oidc.Caller{AccessToken: of}}
		require.Error(t, c.counts())
		_, err := counted{httptest.NewRecorder(), c}.Write([]byte("x"))
		require.Error(t, err, "a download")
		require.Error(t, c.disclose("one", "bundle", ""), "values that were sought while the token counted")
		_, err = c.untilDue(t.Context(), "one")
		require.Error(t, err, "a wait for the end of a run")
		_, err = c.await(&client.Start{Run: "one"}, time.Minute)
		told, known := problemOf(err)
		require.True(t, known)
		require.Contains(t, told.Detail, "The start of run one is recorded all the same", "who waited has begun something")
	}
}

// TestAllRolesAreNamedAtOnce: who has one of two roles that a request needs, or none, hears of both.
func TestAllRolesAreNamedAtOnce(t *testing.T) {
	s, home, _ := asked(t, 0)
	const both = "it needs one of the roles deployer, and with it one of the roles auditor"
	const document = `{"why":"x","document":"pipeline: orders\n","try":1}`
	for _, test := range []struct {
		role       landscape.Role
		path, body string
	}{
		{landscape.Viewer, "/v1/runs/one/what-if", "{}"},
		{landscape.Auditor, "/v1/runs/one/what-if", "{}"},
		{landscape.Deployer, "/v1/runs/one/what-if", "{}"},
		{landscape.Deployer, "/v1/pipelines", document},
	} {
		_, token := given(t, home, client.AccessRequest{}, test.role)
		request := httptest.NewRequest(http.MethodPost, "http://localhost"+test.path, strings.NewReader(test.body))
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		require.Equal(t, http.StatusForbidden, answer.Code, "%s %s: %s", test.role, test.path, answer.Body)
		require.Contains(t, answer.Body.String(), both)
	}
}

// TestStreamsHaveALimit: a caller has so many streams at once, and others have theirs.
func TestStreamsHaveALimit(t *testing.T) {
	s, home, _ := asked(t, 0)
	id, token := given(t, home, client.AccessRequest{}, landscape.Viewer)
	_, other := given(t, home, client.AccessRequest{}, landscape.Viewer)
	for range mostStreams {
		require.True(t, s.following.begin(id))
	}
	answer := get(s, "/v1/events/stream", token)
	require.Equal(t, http.StatusTooManyRequests, answer.Code)
	require.Equal(t, "5", answer.Header().Get("Retry-After"))
	s.drain() // a stream ends at once
	require.Equal(t, http.StatusOK, get(s, "/v1/events/stream", other).Code)
	s.following.end(id)
	require.Equal(t, http.StatusOK, get(s, "/v1/events/stream", token).Code)
}

// TestTheHeadOfAStream has an end: nothing comes that who asks could wait for.
func TestTheHeadOfAStream(t *testing.T) {
	s, _, token := asked(t, 0)
	request := httptest.NewRequest(http.MethodHead, "http://localhost/v1/events/stream", http.NoBody)
	request.Header.Set("Authorization", "Bearer "+token)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request.WithContext(ctx))
	require.Equal(t, http.StatusOK, answer.Code)
	require.NoError(t, ctx.Err())
}

// TestSchemesAreInAnyCase: RFC 9110 has names of schemes in any case.
func TestSchemesAreInAnyCase(t *testing.T) {
	s, _, token := asked(t, 0)
	for header, want := range map[string]int{
		"bearer " + token: 200, "BEARER " + token: 200, "Basic " + token: 401, token: 401, "": 401,
	} {
		request := httptest.NewRequest(http.MethodGet, "http://localhost/v1/whoami", http.NoBody)
		request.Header.Set("Authorization", header)
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		require.Equal(t, want, answer.Code, header)
	}
}

// TestAClientThatLeavesIsNoFault: what fails because nobody waits for it any more is no error in the log.
func TestAClientThatLeavesIsNoFault(t *testing.T) {
	s, _, token := asked(t, 0)
	log := &strings.Builder{}
	s.Logger = slog.New(slog.NewTextHandler(log, nil))
	failing := func(c *call) (any, error) { return nil, errors.New("broken off") }
	for _, left := range []bool{true, false} {
		ctx, leave := context.WithCancel(t.Context())
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/whoami", http.NoBody)
		request.Header.Set("Authorization", "Bearer "+token)
		r := &route{method: http.MethodGet, path: "/v1/whoami", scope: open, handle: func(c *call) (any, error) {
			if left {
				leave()
			}
			return failing(c)
		}}
		s.serve(httptest.NewRecorder(), request, r)
		leave()
		require.Equal(t, !left, strings.Contains(log.String(), "level=ERROR"), log)
	}
}

// TestWhoIsLetIn asks for every route under names and from origins of others. Only deliveries come by any name, and no
// page of another site changes anything, or may read what it would be answered.
func TestWhoIsLetIn(t *testing.T) {
	s, _, token := asked(t, 0)
	for i := range s.routes {
		s.routes[i].handle = func(*call) (any, error) { return nil, problem(http.StatusTeapot, "REACHED", "here it is") }
	}
	cookie := sessionCookie + "=" + s.sessions.begin(session{token: token}, time.Now())
	ask := func(r *route, method, host, origin string) *httptest.ResponseRecorder {
		path := strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(r.path)
		request := httptest.NewRequest(method, "http://localhost"+path, http.NoBody)
		request.Host = host
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Cookie", cookie)
		if origin != "" {
			request.Header.Set("Origin", origin)
		}
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		for name := range answer.Header() {
			require.False(t, strings.HasPrefix(name, "Access-Control-"), "%s allows pages of other sites to read", path)
		}
		require.Equal(t, "same-origin", answer.Header().Get("Cross-Origin-Resource-Policy"))
		return answer
	}
	var delivered int
	for i := range s.routes {
		r := &s.routes[i]
		for host, here := range map[string]bool{
			"localhost": true, "127.0.0.1:8686": true, "127.9.9.9": true, "[::1]:8686": true,
			"evil.example.com": false, "192.0.2.7:8686": false, "localhost.evil.example": false, "": false,
		} {
			answer := ask(r, r.method, host, "")
			refused := answer.Code == http.StatusForbidden
			require.Equal(t, !here && !isDelivery(r.path), refused, "%s %s as %q: %s", r.method, r.path, host, answer.Body)
		}
		if isDelivery(r.path) {
			delivered++
		}
		foreign := ask(r, r.method, "localhost", "https://evil.example.com").Code
		require.Equal(t, r.method != http.MethodGet, foreign == http.StatusForbidden, "%s %s: %d", r.method, r.path, foreign)
		before := ask(r, http.MethodOptions, "localhost", "https://evil.example.com").Code
		require.Contains(t, []int{http.StatusForbidden, http.StatusMethodNotAllowed}, before)
	}
	require.NotZero(t, delivered)
}

// TestSessionCookies: by TLS, also that of a proxy, the cookie of a session is for this host alone, and no other one
// counts.
func TestSessionCookies(t *testing.T) {
	s, _, token := asked(t, 0)
	ask := func(method, path, body string, header http.Header) *http.Response {
		request := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		request.Header = header.Clone()
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		return answer.Result()
	}
	form := url.Values{"token": {token}}.Encode()
	for name, test := range map[string]struct {
		header http.Header
		secure bool
	}{
		"plain":           {http.Header{}, false},
		"a proxy":         {http.Header{"X-Forwarded-Proto": {"https"}}, true},
		"several proxies": {http.Header{"X-Forwarded-Proto": {"HTTPS, http"}}, true},
		"the browser says": {
			http.Header{"Origin": {"https://waymark.example"}, "Sec-Fetch-Site": {"same-origin"}}, true,
		},
	} {
		answer := ask(http.MethodPost, "/login", form, test.header)
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, name)
		require.Len(t, answer.Cookies(), 1)
		cookie := answer.Cookies()[0]
		require.Equal(t, test.secure, cookie.Secure, name)
		require.Equal(t, test.secure, cookie.Name == hostPrefix+sessionCookie, name)
		require.Equal(t, []any{"/", true, http.SameSiteStrictMode},
			[]any{cookie.Path, cookie.HttpOnly, cookie.SameSite})
		require.Empty(t, cookie.Domain)
		own := http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}
		require.Equal(t, http.StatusOK, ask(http.MethodGet, "/runs", "", own).StatusCode, name)
		others := http.Header{"Cookie": {sessionCookie + "=" + cookie.Value}, "X-Forwarded-Proto": {"https"}}
		answer = ask(http.MethodGet, "/runs", "", others)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "one of a neighbour in the domain")
		both := sessionCookie + "=x; " + cookie.Name + "=" + cookie.Value
		if test.secure {
			require.Equal(t, http.StatusOK, ask(http.MethodGet, "/runs", "", http.Header{"Cookie": {both}}).StatusCode)
		}
		leaving := own.Clone()
		leaving["X-Forwarded-Proto"] = test.header["X-Forwarded-Proto"]
		out := ask(http.MethodPost, "/logout", "", leaving)
		require.Equal(t, http.StatusSeeOther, out.StatusCode, name)
		require.Len(t, out.Cookies(), 2, "both names are taken away")
		require.Equal(t, http.StatusUnauthorized, ask(http.MethodGet, "/runs", "", own).StatusCode)
	}
}

// TestAnAdminOfSomePipelines sees and revokes access to these, and learns nothing of the rest.
func TestAnAdminOfSomePipelines(t *testing.T) {
	s, home, _ := asked(t, 0)
	_, admin := given(t, home, client.AccessRequest{Pipelines: []string{"orders*", "refunds"}}, landscape.Admin)
	var seen, unseen []string
	for patterns, visible := range map[string]bool{
		"orders": true, "orders-old": true, "orders*": true, "orders-?": true, "refunds": true, "orders,refunds": true,
		"": false, "*": false, "o*": false, "crm": false, "orders,crm": false, "refund?": false, "[o]rders": false,
	} {
		of := strings.FieldsFunc(patterns, func(c rune) bool { return c == ',' })
		id, _ := given(t, home, client.AccessRequest{Pipelines: of}, landscape.Viewer)
		if visible {
			seen = append(seen, id)
		} else {
			unseen = append(unseen, id)
		}
	}
	list := get(s, "/v1/access", admin).Body.String()
	revoke := func(id string) *httptest.ResponseRecorder {
		path := "/v1/access/" + id + "/revoke"
		request := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(`{"why":"x"}`))
		request.Header.Set("Authorization", "Bearer "+admin)
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		return answer
	}
	for _, id := range seen {
		require.Contains(t, list, id)
		require.Equal(t, http.StatusOK, revoke(id).Code)
	}
	for _, id := range unseen {
		require.NotContains(t, list, id)
		require.Equal(t, http.StatusNotFound, revoke(id).Code)
	}
	for _, run := range []string{"orders", "crm"} {
		require.NoError(t, home.Disclose(t.Context(), run, landscape.AccessToken{Name: "ann"}, "explain", "in:3"))
	}
	require.NotContains(t, get(s, "/v1/disclosures", admin).Body.String(), "in:3", "of runs that are not on record")
	checks := get(s, "/v1/doctor", admin).Body.String()
	require.Contains(t, checks, `"check":"program"`)
	for _, about := range []string{"record", "log", "size", "outputs", "triggers", "orders", "archives"} {
		require.NotContains(t, checks, fmt.Sprintf(`"check":%q`, about))
	}
}

// TestEveryFixedCheckIsMade: the checks that everybody may see are those of a doctor.
func TestEveryFixedCheckIsMade(t *testing.T) {
	s, _, token := asked(t, 0)
	checks := get(s, "/v1/doctor", token).Body.String()
	cluster := []string{"workers", "search attributes", "codec keys"}
	for _, name := range ofNoPipeline {
		if !slices.Contains(cluster, name) {
			require.Contains(t, checks, fmt.Sprintf(`"check":%q`, name))
		}
	}
}
