package api

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
)

// told is a line of the table in docs/security.md: what each role may do with its routes.
type told struct {
	may    map[landscape.Role]string
	routes []string // METHOD PATH
}

// toldRoles reads the table, and the routes for which nobody has to say who he is.
func toldRoles(t *testing.T) (lines []told, open []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	_, page, _ := strings.Cut(string(text), "\n## What each role can do\n")
	page, _, _ = strings.Cut(page, "\n## ")
	routes := regexp.MustCompile("`((?:GET|POST) /[^`]*)`")
	found := func(text string) (list []string) {
		for _, match := range routes.FindAllStringSubmatch(text, -1) {
			list = append(list, match[1])
		}
		return list
	}
	page, rest, _ := strings.Cut(page, "\nNobody has to say who he is")
	rest, _, _ = strings.Cut(rest, "\n\n")
	open = found(strings.ReplaceAll(rest, "\n", " "))
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch {
		case !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| --- ") || strings.HasPrefix(line, "| may "):
		default:
			require.Len(t, cells, 2+len(landscape.Roles()), line)
			one := told{map[landscape.Role]string{}, found(cells[len(cells)-1])}
			for i, role := range landscape.Roles() {
				one.may[role] = cells[1+i]
			}
			lines = append(lines, one)
		}
	}
	return lines, open
}

// knocking asks a server for every route, and learns who gets in.
type knocking struct {
	*testing.T
	s      *Server
	tokens map[landscape.Role]string
	cookie map[landscape.Role]string // of a session
}

// knock asks for a route, and returns the status and the code of the answer; 418 for who got in.
func (k *knocking) knock(asked, token, cookie string, header ...string) (int, string) {
	method, path, _ := strings.Cut(asked, " ")
	path = strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path)
	request := httptest.NewRequest(method, "http://localhost"+path, http.NoBody)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if cookie != "" {
		request.Header.Set("Cookie", sessionCookie+"="+cookie)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	k.s.ServeHTTP(answer, request)
	for _, code := range []client.Code{noToken, badToken, forbidden, crossSite} {
		if strings.Contains(answer.Body.String(), string(code)) {
			return answer.Code, string(code)
		}
	}
	return answer.Code, ""
}

// as asks for a route as who has these roles does: with a token, or for a page with the session of one.
func (k *knocking) as(asked string, key landscape.Role) int {
	token, cookie := k.tokens[key], ""
	if _, path, _ := strings.Cut(asked, " "); isPage(path) {
		token, cookie = "", k.cookie[key]
	}
	status, _ := k.knock(asked, token, cookie)
	return status
}

// TestRolesAreThoseOfThePage asks for every route and every page with every role, and as many others who should not get
// in: docs/security.md says who gets in. A new route fails until it has a line there.
func TestRolesAreThoseOfThePage(t *testing.T) {
	s, home, _ := asked(t, 0)
	reached := problem(http.StatusTeapot, "REACHED", "here it is")
	for i := range s.routes {
		s.routes[i].handle = func(*call) (any, error) { return nil, reached }
	}
	k := &knocking{t, s, map[landscape.Role]string{}, map[landscape.Role]string{}}
	grant := func(key landscape.Role, expires time.Time, roles ...landscape.Role) (id string) {
		id, k.tokens[key] = given(t, home, client.AccessRequest{Expires: expires}, roles...)
		k.cookie[key] = s.sessions.begin(session{of: id, token: k.tokens[key]}, time.Now())
		return id
	}
	lines, opened := toldRoles(t)
	require.NotEmpty(t, lines)
	for _, role := range landscape.Roles() {
		grant(role, time.Time{}, role)
		for _, other := range landscape.Roles() {
			grant(role+"+"+other, time.Time{}, role, other)
		}
	}
	over := time.Now().Add(time.Millisecond)
	grant("expired", over, landscape.Roles()...)
	gone := grant("revoked", time.Time{}, landscape.Roles()...)
	_, err := home.RevokeAccess(t.Context(), gone, client.By{Why: "left"})
	require.NoError(t, err)
	k.tokens["unknown"] = "wmk_0123456789ab_" + strings.Repeat("A", 43)
	k.tokens["forged"] = k.tokens[landscape.Admin][:20] + strings.Repeat("A", 40)
	k.tokens["garbage"] = "x"
	require.Eventually(t, func() bool { return time.Now().After(over) }, time.Minute, time.Millisecond)

	known := map[string]bool{}
	for _, line := range lines {
		require.NotEmpty(t, line.routes)
		for _, route := range line.routes {
			require.False(t, known[route], "%s is there twice", route)
			known[route] = true
			k.line(route, line.may)
			k.nobody(route)
		}
	}
	for _, route := range opened {
		known[route] = true
		status, code := k.knock(route, "", "")
		require.Equal(t, []any{http.StatusTeapot, ""}, []any{status, code}, route)
	}
	for _, r := range s.routes {
		name := r.method + " " + r.path
		require.True(t, known[name], "%s is in no line of docs/security.md: say who may use it", name)
	}
	require.Len(t, known, len(s.routes), "docs/security.md has routes that there are not")
}

// line holds what each role may do with a route.
func (k *knocking) line(route string, may map[landscape.Role]string) {
	for _, role := range landscape.Roles() {
		other, both := strings.CutPrefix(may[role], "with ")
		want := map[bool]int{
			true: http.StatusTeapot, false: http.StatusForbidden,
		}[may[role] == "yes" || may[role] == "own"]
		require.Equal(k, want, k.as(route, role), "%s as %s", route, role)
		for _, second := range landscape.Roles() {
			gets := want == http.StatusTeapot || may[second] == "yes" || may[second] == "own" ||
				both && other == string(second)
			want := map[bool]int{true: http.StatusTeapot, false: http.StatusForbidden}[gets]
			require.Equal(k, want, k.as(route, role+"+"+second), "%s as %s and %s", route, role, second)
		}
	}
}

// nobody holds that whose token does not count does not get in, nor who has a session and comes from another site, or
// to the API.
func (k *knocking) nobody(route string) {
	method, path, _ := strings.Cut(route, " ")
	everything := landscape.Role("revoked")
	for _, key := range []landscape.Role{"", "garbage", "unknown", "forged", "expired", everything} {
		require.Equal(k, http.StatusUnauthorized, k.as(route, key), "%s, %s", route, key)
	}
	all := slices.Concat([]string{"Sec-Fetch-Site", "cross-site"}, []string{"Origin", "https://evil.example"})
	if isPage(path) {
		status, _ := k.knock(route, k.tokens[landscape.Auditor], "")
		require.Equal(k, http.StatusUnauthorized, status, "%s with a token and no session", route)
		if method == http.MethodPost {
			status, code := k.knock(route, "", k.cookie["deployer+auditor"], all...)
			require.Equal(k, []any{http.StatusForbidden, string(crossSite)}, []any{status, code},
				"%s from another site", route)
		}
		return
	}
	status, _ := k.knock(route, "", k.cookie["deployer+auditor"])
	require.Equal(k, http.StatusUnauthorized, status, "%s with a session and no token", route)
}
