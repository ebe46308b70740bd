package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
)

// signIn posts an access token to the page on which people sign in, and returns the key of the session.
func signIn(t *testing.T, s *Server, token string) string {
	t.Helper()
	form := url.Values{"token": {token}}.Encode()
	request := httptest.NewRequest(http.MethodPost, "http://localhost/login", strings.NewReader(form))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	require.Equal(t, http.StatusSeeOther, answer.Code, answer.Body)
	return answer.Result().Cookies()[0].Value
}

// TestNobodyEndsTheSessionsOfOthers: who signs in again and again ends none but sessions of the same access token, the
// one that was used least recently first.
func TestNobodyEndsTheSessionsOfOthers(t *testing.T) {
	s, home, token := asked(t, 0)
	_, viewer := given(t, home, client.AccessRequest{}, landscape.Viewer)
	admins := signIn(t, s, token)
	first, second := signIn(t, s, viewer), signIn(t, s, viewer)
	known := func(key string) bool {
		_, known := s.sessions.use(key, time.Now())
		return known
	}
	require.True(t, known(first))
	for range mostSession - 1 {
		signIn(t, s, viewer)
	}
	require.True(t, known(first))
	require.False(t, known(second))
	for range 2 * mostSession {
		signIn(t, s, viewer)
	}
	require.True(t, known(admins))
	require.False(t, known(first))
	require.Len(t, s.sessions.of, mostSession+1)
}
