package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func page(t *testing.T, handler http.Handler) (int, string) {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	return answer.Code, answer.Body.String()
}

func TestReadyIsWhenAllAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness("temporal", "landscape")
		code, text := page(t, r)
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Equal(t, "temporal: not reached yet\nlandscape: not reached yet\n", text)

		var fault error
		r.set("temporal", nil, nil)
		r.set("landscape", func(context.Context) error { return fault }, nil)
		code, text = page(t, r)
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, "temporal: ok\nlandscape: ok\n", text)

		fault = errors.New("nobody listens")
		code, _ = page(t, r)
		require.Equal(t, http.StatusOK, code, "it was asked just now")
		time.Sleep(2 * probePause) // of the test's own clock
		code, text = page(t, r)
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Equal(t, "temporal: ok\nlandscape: nobody listens\n", text)
		require.Equal(t, map[string]bool{"temporal": true, "landscape": false}, r.checks(t.Context()))

		fault = nil
		time.Sleep(2 * probePause)
		code, _ = page(t, r)
		require.Equal(t, http.StatusOK, code, "it came back")
	})
}

func TestAServiceThatDoesNotAnswerIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness("landscape")
		r.set("landscape", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, nil)
		began := time.Now()
		code, _ := page(t, r)
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Equal(t, probeTimeout, time.Since(began))
	})
}

func TestWaitingGoesOnUntilTheServiceIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r, tries := newReadiness("temporal"), 0
		found, err := waitFor(t.Context(), "temporal", slog.New(slog.NewTextHandler(&log, nil)), r, func(error) bool { return false },
			func(context.Context) (string, error) {
				if tries++; tries < 4 {
					return "", errors.New("nobody listens at db:5432")
				}
				_, text := page(t, r)
				require.Equal(t, "temporal: nobody listens at db:5432\n", text)
				return "there", nil
			})
		require.NoError(t, err)
		require.Equal(t, "there", found)
		require.Equal(t, 3, bytes.Count(log.Bytes(), []byte(`msg="waiting for temporal" error="nobody listens at db:5432"`)), log.String())
	})
}

func TestWaitingEnds(t *testing.T) {
	lasting := errors.New("the key is wrong")
	quiet := slog.New(slog.DiscardHandler)
	never := func(context.Context) (int, error) { return 0, lasting }
	_, err := waitFor(t.Context(), "temporal", quiet, newReadiness(), func(error) bool { return true }, never)
	require.Equal(t, lasting, err)

	ctx, stop := context.WithCancel(t.Context())
	_, err = waitFor(ctx, "temporal", quiet, newReadiness(), func(error) bool { stop(); return false }, never)
	require.ErrorIs(t, err, context.Canceled)
}
