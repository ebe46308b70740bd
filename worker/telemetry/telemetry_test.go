package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/worker/spans"
)

func TestTracesAreOffUnlessAskedFor(t *testing.T) {
	const place = "http://127.0.0.1:1"
	for name, test := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing":         {nil, false},
		"endpoint":        {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": place}, true},
		"traces endpoint": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": place}, true},
		"exporter":        {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true},
		"others":          {map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "otlp"}, false},
		"none":            {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": place, "OTEL_TRACES_EXPORTER": "none"}, false},
		"disabled":        {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": place, "OTEL_SDK_DISABLED": "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o client.Options
			start(t, test.env).ClientOptions(&o)
			require.Equal(t, test.want, len(o.Interceptors) == 1)
			require.NotNil(t, o.MetricsHandler)
		})
	}
}

func TestTracesAreSent(t *testing.T) {
	var sent atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			sent.Add(1)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL) // the library reads it itself
	tel, err := Start(t.Context(), Options{Logger: slog.New(slog.DiscardHandler), Env: os.LookupEnv})
	require.NoError(t, err)
	_, span := tel.tracing.provider.Tracer("test").Start(t.Context(), "work")
	span.End()
	require.NoError(t, tel.Stop(t.Context()))
	require.Equal(t, int64(1), sent.Load())
}

// TestSpansWaitForTheirCollector: what a process could not send the next one sends.
func TestSpansWaitForTheirCollector(t *testing.T) {
	var away atomic.Bool
	var sent atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		sent.Add(1)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	o := Options{Logger: slog.New(slog.DiscardHandler), Env: os.LookupEnv, Spans: spans.Folder(t.TempDir())}
	away.Store(true)
	tel, err := Start(t.Context(), o)
	require.NoError(t, err)
	_, span := tel.tracing.provider.Tracer("test").Start(t.Context(), "work")
	span.End()
	require.NoError(t, tel.Stop(t.Context()))
	away.Store(false)
	tel, err = Start(t.Context(), o)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return sent.Load() == 1 }, 30*time.Second, 5*time.Millisecond)
	require.Eventually(t, func() bool { waits, err := o.Spans.Waiting(); return err == nil && waits.Spans == 0 }, 30*time.Second, 5*time.Millisecond)
	require.Equal(t, []string{`waymark_spans{state="dropped"} 0`, `waymark_spans{state="waiting"} 0`}, metrics(t, tel, "waymark_spans"))
	require.NoError(t, tel.Stop(t.Context()))
}

func TestAnUnknownProtocolIsRefused(t *testing.T) {
	_, err := Start(t.Context(), Options{Logger: slog.New(slog.DiscardHandler), Env: func(name string) (string, bool) {
		value, set := map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}[name]
		return value, set
	}})
	require.ErrorContains(t, err, `protocol "http/json": write grpc or http/protobuf`)
}

func TestQueuesOfProcessesHaveOneName(t *testing.T) {
	tel := start(t, nil)
	var o client.Options
	tel.ClientOptions(&o)
	for queue, want := range map[string]string{
		"waymark": "waymark", "waymark@host": "waymark@host", "waymark@host/4711-0b1c": "waymark@host/own",
	} {
		tags := map[string]string{"task_queue": queue, "namespace": "default"}
		o.MetricsHandler.WithTags(tags).WithTags(map[string]string{"worker_type": "ActivityWorker"}).Counter("temporal_test_" + want[len(want)-1:]).Inc(2)
		require.Equal(t, queue, tags["task_queue"], "the caller's map is left alone")
		require.Equal(t, []string{`temporal_test_` + want[len(want)-1:] + `_total{namespace="default",task_queue="` + want + `",worker_type="ActivityWorker"} 2`},
			metrics(t, tel, "temporal_test_"+want[len(want)-1:]+"_total"))
	}
}

func TestHistogramsAreOfSeconds(t *testing.T) {
	tel := start(t, nil)
	var o client.Options
	tel.ClientOptions(&o)
	o.MetricsHandler.Timer("temporal_test").Record(30 * time.Millisecond)
	tel.counts.add(event{activity: "Read", took: 30 * time.Millisecond}, Run{Pipeline: "orders"})
	for _, name := range []string{"temporal_test", "waymark_chunk"} {
		lines := strings.Join(metrics(t, tel, name+"_seconds_bucket"), "\n")
		require.Contains(t, lines, `le="0.025"} 0`)
		require.Contains(t, lines, `le="0.05"} 1`)
	}
}

func TestTheSameTroubleIsSaidOnce(t *testing.T) {
	var out strings.Builder
	say := quiet(slog.New(slog.NewTextHandler(&out, nil)))
	for _, text := range []string{"away", "away", "broken", "broken", "away"} {
		say(errors.New(text))
	}
	require.Equal(t, 3, strings.Count(out.String(), "\n"), out.String())
}

// TestWhoIsAskedMayMeasure: a call of a service counts itself, while others are counted for the first time.
func TestWhoIsAskedMayMeasure(t *testing.T) {
	var tel *Telemetry
	tel, err := Start(t.Context(), Options{
		Logger: slog.New(slog.DiscardHandler), Env: func(string) (string, bool) { return "", false },
		Ready: func(ctx context.Context) map[string]bool {
			counter, err := tel.meters.Meter("temporal").Int64Counter("temporal_first_call")
			counter.Add(ctx, 1)
			return map[string]bool{"temporal": err == nil, "landscape": false}
		},
	})
	require.NoError(t, err)
	asked := make(chan []string, 1)
	go func() { asked <- metrics(t, tel, "waymark_ready") }()
	select {
	case lines := <-asked:
		require.Equal(t, []string{`waymark_ready{check="landscape"} 0`, `waymark_ready{check="temporal"} 1`}, lines)
	case <-time.After(time.Minute):
		t.Fatal("who asks for metrics waits for the answer, and the answer waits for who asks")
	}
	require.NoError(t, tel.Stop(t.Context()))
}
