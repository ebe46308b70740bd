package defect

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// logged has defects logged until the end of a test, and returns the log.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	var log bytes.Buffer
	t.Cleanup(LogTo(slog.New(slog.NewTextHandler(&log, nil))))
	return &log
}

func TestAPanicIsAnError(t *testing.T) {
	log, before := logged(t), Counts()["edge"]
	var lock sync.Mutex
	err := Catch("edge", func() error {
		lock.Lock()
		defer lock.Unlock()
		rowsOf := func(string) map[string]string { return nil }
		rowsOf("nobody")["amount 4711"] = "of a customer"
		return nil
	})
	fault, ok := errors.AsType[*Error](err)
	require.True(t, ok)
	require.Equal(t, "edge", fault.Where)
	require.Len(t, fault.ID, 16)
	require.ErrorContains(t, err, "a defect of this program in edge, not of what you asked for: "+
		"its log has the cause under defect="+fault.ID)
	require.Contains(t, log.String(), "level=ERROR")
	require.Contains(t, log.String(), "defect="+fault.ID+" where=edge panic=\"assignment to entry in nil map\"")
	require.Contains(t, log.String(), "TestAPanicIsAnError", "the stack says where")
	require.Equal(t, before+1, Counts()["edge"])
	require.True(t, lock.TryLock(), "what the panic passed by is released")
}

func TestNoPanicIsNoDefect(t *testing.T) {
	log, before := logged(t), Counts()
	own := errors.New("of its own")
	require.Equal(t, own, Catch("edge", func() error { return own }))
	require.NoError(t, Catch("edge", func() error { return nil }))
	require.Empty(t, log.String())
	require.Equal(t, before, Counts())
}

// TestADefectIsToldOnce: who waits for a goroutine passes on what that one caught.
func TestADefectIsToldOnce(t *testing.T) {
	log, before := logged(t), Counts()["edge"]
	inner := Catch("edge", func() error { panic("in a goroutine") })
	outer := Catch("request", func() error { panic(inner) })
	require.Equal(t, inner, outer)
	require.Equal(t, before+1, Counts()["edge"])
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("level=ERROR")))
}

// TestAgain: what others rely on begins again after its panics, and ends when it returns, or with its context.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged(t)
		began, times := time.Now(), 0
		Again(t.Context(), "loop", func() {
			if times++; times < 10 {
				panic("again")
			}
		})()
		require.Equal(t, 10, times)
		require.Equal(t, (1+2+4+8+16+32+3*60)*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		times = 0
		Again(ctx, "loop", func() { times++; panic("for ever") })()
		require.Equal(t, 2, times)
	})
}

func TestHandler(t *testing.T) {
	log, before := logged(t), Counts()["request"]
	mux := http.NewServeMux()
	mux.HandleFunc("/whole", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("all")) })
	mux.HandleFunc("/none", func(http.ResponseWriter, *http.Request) { panic("a secret") })
	mux.HandleFunc("/half", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half of it"))
		_ = http.NewResponseController(w).Flush()
		panic("a secret")
	})
	mux.HandleFunc("/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	server := httptest.NewServer(Handler("request", mux))
	defer server.Close()
	ask := func(path string) (int, string, error) {
		response, err := http.Get(server.URL + path)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = response.Body.Close() }()
		var body bytes.Buffer
		_, err = body.ReadFrom(response.Body)
		return response.StatusCode, body.String(), err
	}
	status, body, err := ask("/whole")
	require.Equal(t, []any{200, "all", nil}, []any{status, body, err})
	status, body, err = ask("/none")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, status)
	require.Regexp(t, "defect=[0-9a-f]{16}", body)
	require.NotContains(t, body, "secret")
	_, _, err = ask("/half")
	require.Error(t, err, "what came of it must not pass for all of it")
	require.Equal(t, before+2, Counts()["request"])
	_, _, err = ask("/cut")
	require.Error(t, err)
	require.Equal(t, before+2, Counts()["request"], "this is no defect")
	server.Close() // nobody writes the log any more
	require.Equal(t, 2, bytes.Count(log.Bytes(), []byte("a secret")))
}
