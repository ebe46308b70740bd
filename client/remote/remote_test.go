package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
)

const token = "wmk_aaaaaaaaaaaa_bbbb"

// TestAddresses: a token travels to no address at which others could read it, and an error never quotes it.
func TestAddresses(t *testing.T) {
	for address, wrong := range map[string]string{
		"https://waymark.example.com": "", "https://10.0.0.1:8686/waymark/": "", "http://127.0.0.1:8686": "", "http://[::1]:8686": "", "http://localhost": "",
		"http://waymark.example.com":     "everybody on the way could read the access token: write https://waymark.example.com",
		"http://10.0.0.1:8686":           "write https://10.0.0.1:8686",
		"http://127.0.0.1.example.com":   "not encrypted",
		"http://localhost.example.com":   "not encrypted",
		"waymark.example.com":            "no address of a server",
		"ftp://waymark.example.com":      "no address of a server",
		"https://":                       "no address of a server",
		"https://ann:secret@example.com": "has no user",
		"https://example.com?token=x":    "has no user, query or fragment",
	} {
		_, err := remote.New(remote.Options{URL: address, Token: token})
		if wrong == "" {
			require.NoError(t, err, address)
			continue
		}
		require.ErrorContains(t, err, wrong, address)
		require.NotContains(t, err.Error(), "secret")
		require.Equal(t, client.Invalid, kind(t, err))
	}
	for _, given := range []string{"", " \n", "wmk_a b", "wmk_\x00", "wmk_ü"} {
		_, err := remote.New(remote.Options{URL: "https://example.com", Token: given})
		require.ErrorContains(t, err, "access token")
	}
}

func kind(t *testing.T, err error) client.Kind { return known(t, err).Kind }

func known(t *testing.T, err error) *client.Error {
	t.Helper()
	var failure *client.Error
	require.ErrorAs(t, err, &failure)
	return failure
}

// serving returns a Client of a server on this machine that answers so, and how many requests have come.
func serving(t *testing.T, answer func(n int64, w http.ResponseWriter, r *http.Request)) (*remote.Client, *atomic.Int64) {
	t.Helper()
	return servingFor(t, 5*time.Second, answer)
}

func servingFor(t *testing.T, patience time.Duration, answer func(n int64, w http.ResponseWriter, r *http.Request)) (*remote.Client, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("the token is not sent")
		}
		answer(asked.Add(1), w, r)
	}))
	t.Cleanup(s.Close)
	c, err := remote.New(remote.Options{URL: s.URL, Token: token + "\n", Patience: patience})
	require.NoError(t, err)
	return c, &asked
}

func problem(w http.ResponseWriter, status int, code client.Code, kind client.Kind) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(remote.Problem{Status: status, Code: code, Kind: kind, Detail: "no", Request: "r1"})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// cut breaks the connection, after the request came.
func cut(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

// TestReadsAgain: the client sends a reading request again if the answer is lost, cut or a temporary refusal, and not after a permanent one.
func TestReadsAgain(t *testing.T) {
	c, asked := serving(t, func(n int64, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case 1:
			cut(w)
		case 2: // in the middle of an answer
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"name":`)
		case 3:
			problem(w, http.StatusTooManyRequests, "TOO_MANY", client.Unavailable)
		case 4:
			http.Error(w, "bad gateway", http.StatusBadGateway)
		case 5:
			answer(w, client.Access{Name: "ann"})
		default:
			problem(w, http.StatusConflict, client.NotComparable, client.Conflict)
		}
	})
	who, err := c.Whoami(t.Context())
	require.NoError(t, err)
	require.Equal(t, "ann", who.Name)
	require.EqualValues(t, 5, asked.Load())
	_, err = c.Whoami(t.Context())
	require.Equal(t, client.NotComparable, known(t, err).Code)
	require.EqualValues(t, 6, asked.Load())
}

// TestRetryAfter: nothing is asked again before the server wants that.
func TestRetryAfter(t *testing.T) {
	var first time.Time
	c, _ := serving(t, func(n int64, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			first = time.Now()
			w.Header().Set("Retry-After", "1")
			problem(w, http.StatusServiceUnavailable, client.StorageUnavailable, client.Unavailable)
			return
		}
		answer(w, client.Access{})
	})
	_, err := c.Whoami(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(first), time.Second)
}

// TestStartsUnderOneKey: a start is sent again under the same key, and one that names its run is not.
func TestStartsUnderOneKey(t *testing.T) {
	var keys []string
	c, asked := serving(t, func(n int64, w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		switch n {
		case 1, 4:
			_, _ = io.ReadAll(r.Body)
			cut(w)
		case 2: // a worker is about to record it
			w.Header().Set("Retry-After", "1")
			problem(w, http.StatusConflict, client.RunBusy, client.Busy)
		default:
			w.Header().Set("Idempotent-Replayed", "true")
			answer(w, client.RunReport{Status: &client.Status{Run: client.Run{ID: remote.RunOf("orders@2", "k")}}})
		}
	})
	report, again, err := c.Start(t.Context(), "k", remote.StartRequest{Pipeline: "orders@2"})
	require.NoError(t, err)
	require.True(t, again)
	require.Equal(t, remote.RunOf("orders", "k"), report.ID)
	require.Equal(t, []string{"k", "k", "k"}, keys)
	_, _, err = c.Start(t.Context(), "", remote.StartRequest{Pipeline: "orders", Run: "mine"})
	lost := known(t, err)
	require.Equal(t, client.AnswerLost, lost.Code)
	require.Equal(t, "mine", lost.Run)
	require.EqualValues(t, 4, asked.Load())
	_, _, err = c.Start(t.Context(), "k", remote.StartRequest{Pipeline: "orders", Run: "mine"})
	require.Equal(t, client.InvalidRequest, known(t, err).Code)
	require.EqualValues(t, 4, asked.Load())
}

// TestOrdersThatAreGivenOnce: an order that would do more the second time is not sent again when its answer is lost, and one that would not is.
func TestOrdersThatAreGivenOnce(t *testing.T) {
	c, asked := serving(t, func(n int64, w http.ResponseWriter, _ *http.Request) {
		if n%2 == 1 {
			cut(w)
			return
		}
		answer(w, remote.Ordered{Changed: true})
	})
	for name, order := range map[string]func() error{
		"resume":   func() error { _, err := c.Resume(t.Context(), "r", remote.ResumeRequest{Why: "w"}); return err },
		"rollback": func() error { _, err := c.Rollback(t.Context(), "p", remote.RedeployRequest{Why: "w"}); return err },
		"retry":    func() error { _, err := c.Retry(t.Context(), "r", remote.RetryRequest{Why: "w"}); return err },
		"slot": func() error {
			_, err := c.RunSlot(t.Context(), "default/p/s", remote.SlotRequest{Why: "w"})
			return err
		},
	} {
		asked.Store(0)
		require.Equal(t, client.AnswerLost, known(t, order()).Code, name)
		require.EqualValues(t, 1, asked.Load(), name)
	}
	for name, order := range map[string]func() error{
		"pause":  func() error { _, err := c.Pause(t.Context(), "r", "w"); return err },
		"cancel": func() error { _, err := c.Cancel(t.Context(), "r", "w", true); return err },
		"to": func() error {
			_, err := c.Rollback(t.Context(), "p", remote.RedeployRequest{Why: "w", Version: 2})
			return err
		},
	} {
		asked.Store(0)
		require.NoError(t, order(), name)
		require.EqualValues(t, 2, asked.Load(), name)
	}
}

// TestProblems: an error has the kind, the code, the cure and the run of the problem that the server answers; what is no problem of this API says so.
func TestProblems(t *testing.T) {
	c, _ := serving(t, func(_ int64, w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/runs/a":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(remote.Problem{Code: client.RunQueued, Kind: client.Conflict, Detail: "it waits", Cure: client.ShowStatus, Run: "a", Errors: []remote.PointerFault{{Pointer: "/why", Detail: "say why"}}})
		case "/v1/runs/b":
			problem(w, http.StatusInternalServerError, "INTERNAL", client.Failed)
		case "/v1/runs/c":
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		case "/v1/runs/d":
			http.Error(w, "<html>", http.StatusNotFound)
		case "/v1/runs/e%2F..":
			answer(w, "a text")
		default:
			answer(w, "a text")
		}
	})
	ask := func(run string) *client.Error {
		_, err := c.Run(t.Context(), run)
		return known(t, err)
	}
	a := ask("a")
	require.Equal(t, []any{client.Conflict, client.RunQueued, client.ShowStatus, "a", "it waits"}, []any{a.Kind, a.Code, a.Cure, a.Run, a.Message})
	var p *remote.Problem
	require.ErrorAs(t, a, &p)
	require.Equal(t, "/why", p.Errors[0].Pointer)
	require.Equal(t, "no (request r1)", ask("b").Message)
	require.Contains(t, ask("c").Message, "sends requests on to")
	require.Equal(t, client.ForeignAnswer, ask("d").Code)
	require.Equal(t, client.ForeignAnswer, ask("e").Code)
}

// TestPages: a list follows its cursors, and asks for no more than is wanted.
func TestPages(t *testing.T) {
	var queries []string
	c, _ := serving(t, func(_ int64, w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		var begin int
		_, _ = fmt.Sscanf(r.URL.Query().Get("after"), "c%d", &begin)
		page := remote.Page[client.Run]{Items: []client.Run{{ID: fmt.Sprint(begin)}, {ID: fmt.Sprint(begin + 1)}}, Next: fmt.Sprintf("c%d", begin+2)}
		if begin == 4 {
			page.Next = ""
		}
		answer(w, page)
	})
	ids := func(limit, stop int) (ids []string) {
		for run, err := range c.Runs(t.Context(), remote.RunFilter{Statuses: []string{"failed"}, Limit: limit}) {
			require.NoError(t, err)
			if ids = append(ids, run.ID); len(ids) == stop {
				break
			}
		}
		return ids
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, ids(0, 0))
	require.Equal(t, []string{"limit=500&status=failed", "after=c2&limit=500&status=failed", "after=c4&limit=500&status=failed"}, queries)
	queries = nil
	require.Equal(t, []string{"0", "1", "2", "3"}, ids(4, 0))
	require.Equal(t, []string{"limit=4&status=failed", "after=c2&limit=2&status=failed"}, queries)
	require.Equal(t, []string{"0"}, ids(0, 1))
}

// TestStreamsGoOn: a stream that is cut continues after the last event that came, however often that happens; one in which a server says reconnect, as well.
func TestStreamsGoOn(t *testing.T) {
	const all = 20
	c, asked := serving(t, func(n int64, w http.ResponseWriter, r *http.Request) {
		var last int
		_, _ = fmt.Sscan(r.Header.Get("Last-Event-Id"), &last)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 1000\n\n: alive\n\n")
		for i := last + 1; i <= min(last+3, all); i++ {
			_, _ = fmt.Fprintf(w, "id: %d\nevent: run.started\ndata: {\"position\": %[1]d}\n\n", i)
		}
		if n%2 == 0 {
			_, _ = io.WriteString(w, "event: reconnect\ndata: {}\n\n")
		} else {
			_, _ = fmt.Fprintf(w, "id: %d\ndata: {\"posi", min(last+4, all)) // and no end
			_ = http.NewResponseController(w).Flush()
			cut(w)
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	var came []int64
	for e, err := range c.Outbox(ctx, client.OutboxFilter{After: 2, Follow: true}) {
		if err != nil {
			require.Equal(t, client.Interrupted, kind(t, err))
			break
		}
		if came = append(came, e.Position); e.Position == all {
			stop()
		}
	}
	stop()
	require.Len(t, came, all-2)
	require.True(t, slices.IsSorted(came))
	require.Len(t, slices.Compact(came), all-2)
	require.Greater(t, asked.Load(), int64(5))
}

// TestAQuietStreamIsNoSilence: a client whose connections are cut, and to which nothing happens for longer than it is
// patient, waits on.
func TestAQuietStreamIsNoSilence(t *testing.T) {
	t.Parallel()
	const patience = 2100 * time.Millisecond // the longest pause, and a little more
	begun := time.Now()
	c, _ := servingFor(t, patience, func(_ int64, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 1000\n\n")
		if time.Since(begun) > patience {
			_, _ = io.WriteString(w, "id: 1\nevent: run.started\ndata: {\"position\": 1}\n\n")
		}
		_ = http.NewResponseController(w).Flush()
		cut(w)
	})
	for e, err := range c.Outbox(t.Context(), client.OutboxFilter{Follow: true}) {
		require.NoError(t, err)
		require.EqualValues(t, 1, e.Position)
		break
	}
}

// TestServerIsAway: the client says after a while that the server does not answer, and at once where another attempt cannot help.
func TestServerIsAway(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	var connections atomic.Int64
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	c, err := remote.New(remote.Options{URL: s.URL, Token: token})
	require.NoError(t, err)
	_, err = c.Whoami(t.Context())
	require.Equal(t, client.ServerUnavailable, known(t, err).Code)
	require.ErrorContains(t, err, "certificate")
	require.EqualValues(t, 1, connections.Load(), "it is not tried again")

	c, err = remote.New(remote.Options{URL: s.URL, Token: token, Transport: s.Client().Transport})
	require.NoError(t, err)
	_, err = c.Whoami(t.Context())
	require.Equal(t, client.ForeignAnswer, known(t, err).Code)

	s.Close()
	c, err = remote.New(remote.Options{URL: strings.Replace(s.URL, "https", "http", 1), Token: token, Patience: time.Second})
	require.NoError(t, err)
	for _, err := range c.Follow(t.Context(), "r") {
		require.Equal(t, client.ServerUnavailable, known(t, err).Code)
		require.NotContains(t, err.Error(), token)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = c.Pause(ctx, "r", "w")
	require.Equal(t, client.Interrupted, kind(t, err))
}
