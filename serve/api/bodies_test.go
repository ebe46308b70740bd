package api

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// posting sends bodies to every route of a Server that takes one, as somebody who may do all.
type posting struct {
	*testing.T
	s             *Server
	token, cookie string
}

func (p posting) post(path string, body io.Reader, length int64) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "http://localhost"+path, body)
	request.ContentLength = length
	request.Header.Set("Content-Type", "application/json")
	if isPage(path) {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Cookie", sessionCookie+"="+p.cookie)
	} else {
		request.Header.Set("Authorization", "Bearer "+p.token)
	}
	answer := httptest.NewRecorder()
	p.s.ServeHTTP(answer, request)
	return answer
}

// TestBodiesHaveOneBudget sends a body to every route while the server holds as many bytes as it may: none is read, and
// when there is room again, each is, and all is given back.
func TestBodiesHaveOneBudget(t *testing.T) {
	s, _, token := asked(t, 0)
	p := posting{t, s, token, s.sessions.begin(session{token: token}, time.Now())}
	reached := problem(http.StatusTeapot, "REACHED", "here it is")
	var held int64
	for i := range s.routes {
		s.routes[i].handle = func(c *call) (any, error) {
			text, err := io.ReadAll(c.Body)
			if err != nil {
				return nil, err
			}
			require.Len(t, text, 5)
			held = s.bodies.all
			return nil, reached
		}
	}
	others := []sender{{"token a", true}, {"token b", true}, {"token c", true}, {"token d", true}}
	for _, r := range s.routes {
		if r.method == http.MethodGet {
			continue
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(r.path)
		for _, length := range []int64{5, -1} {
			for _, other := range others {
				require.True(t, s.bodies.take(other, mostOfOne))
			}
			answer := p.post(path, strings.NewReader("hello"), length)
			require.Equal(t, http.StatusServiceUnavailable, answer.Code, path)
			require.Contains(t, answer.Body.String(), tooMuchAtOnce, path)
			if !r.page() {
				require.Equal(t, "1", answer.Header().Get("Retry-After"), path)
			}
			for _, other := range others {
				s.bodies.take(other, -mostOfOne)
			}
			require.Equal(t, http.StatusTeapot, p.post(path, strings.NewReader("hello"), length).Code, path)
			require.Positive(t, held)
			require.Zero(t, s.bodies.all)
		}
	}
	require.Zero(t, s.bodies.unknown)
	require.Empty(t, s.bodies.of)
}

// TestNobodyTakesTheWholeBudget: neither one caller nor all strangers keep others from sending bodies.
func TestNobodyTakesTheWholeBudget(t *testing.T) {
	var b bodies
	stranger, other := sender{"address 1.2.3.4 /login", false}, sender{"address 5.6.7.8 /login", false}
	require.True(t, b.take(stranger, mostOfOne))
	require.False(t, b.take(stranger, 1))
	require.True(t, b.take(other, mostOfOne))
	require.False(t, b.take(sender{"address 9.9.9.9 /login", false}, 1))
	service := sender{"token service", true}
	require.True(t, b.take(service, mostOfOne))
	require.False(t, b.take(service, 1))
	require.True(t, b.take(sender{"token ann", true}, mostRowsBody))
}

// unwanted is a body that nobody has a reason to read.
type unwanted struct{ read bool }

func (u *unwanted) Read([]byte) (int, error) {
	u.read = true
	return 0, errors.New("it was read")
}

// slow is a body that does not come in time.
type slow struct{}

func (slow) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestBodiesOfStrangers: a delivery without a trigger is not read, nor is a body without an access token, and forms are
// small. One that comes too slowly is refused as such.
func TestBodiesOfStrangers(t *testing.T) {
	s, _, token := asked(t, 0)
	stranger := posting{T: t, s: s, token: "x"}
	for path, want := range map[string]int{"/in/default/x/y": 401, "/v1/runs": 401, "/pipelines": 401} {
		var body unwanted
		require.Equal(t, want, stranger.post(path, &body, mostBody-1).Code, path)
		require.False(t, body.read, path)
	}
	known := posting{t, s, token, s.sessions.begin(session{token: token}, time.Now())}
	for _, path := range []string{"/login", "/runs/x/cancel", "/pipelines/x/rollback"} {
		form := "token=" + strings.Repeat("x", mostForm)
		require.Equal(t, http.StatusRequestEntityTooLarge, known.post(path, strings.NewReader(form), -1).Code, path)
	}
	for _, path := range []string{"/login", "/v1/pipelines/x/rollback"} {
		require.Equal(t, http.StatusRequestTimeout, known.post(path, slow{}, 100).Code, path)
	}
	document := "document=" + strings.Repeat("x", mostForm)
	require.Equal(t, http.StatusBadRequest, known.post("/pipelines", strings.NewReader(document), -1).Code)
}
