package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"

	"waymark/worker/spans"
)

// tracing sends traces.
type tracing struct {
	provider    *trace.TracerProvider
	interceptor interceptor.Interceptor
}

// startTracing returns nil unless OpenTelemetry's variables say where traces are to be sent. Everything else they can
// say is read by the libraries.
func startTracing(ctx context.Context, o Options) (*tracing, error) {
	if !wanted(o.Env) {
		return nil, nil
	}
	exporter, err := newExporter(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("OpenTelemetry's variables OTEL_EXPORTER_OTLP_*: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "waymark"), attribute.String("service.version", o.Code)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OpenTelemetry's variables OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME: %w", err)
	}
	t := &tracing{provider: trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))}
	t.interceptor, err = opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: t.provider.Tracer("waymark"), AllowInvalidParentSpans: true,
	})
	return t, err
}

// wanted reports whether the variables name a place for traces.
func wanted(env func(string) (string, bool)) bool {
	if of(env, "OTEL_SDK_DISABLED") == "true" || of(env, "OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return of(env, "OTEL_EXPORTER_OTLP_ENDPOINT") != "" || of(env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" ||
		slices.Contains(strings.Split(of(env, "OTEL_TRACES_EXPORTER"), ","), "otlp")
}

// newExporter speaks the protocol that the variables name, by default that of OpenTelemetry's specification.
func newExporter(ctx context.Context, o Options) (trace.SpanExporter, error) {
	var sends otlptrace.Client
	switch protocol := cmp.Or(of(o.Env, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), of(o.Env, "OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf"); protocol {
	case "grpc":
		sends = otlptracegrpc.NewClient()
	case "http/protobuf":
		sends = otlptracehttp.NewClient()
	default:
		return nil, fmt.Errorf("protocol %q: write grpc or http/protobuf", protocol)
	}
	if o.Spans != "" {
		sends = spans.New(sends, o.Spans, o.Logger)
	}
	return otlptrace.New(ctx, sends)
}

func of(env func(string) (string, bool), name string) string {
	value, _ := env(name)
	return value
}
