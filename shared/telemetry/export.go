package telemetry

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// metricInterval is how often metrics are sent: more often than the SDK's minute, because the process is killed
// without notice and takes with it what was not sent. Spans go every five seconds, as the SDK has it.
const metricInterval = 15 * time.Second

// origin describes this process. The instance makes the counters of two processes two series.
func origin(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", scope), attribute.String("service.instance.id", uuid.NewString())),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last and win
	)
}

func newTraces(ctx context.Context, c Config, from *resource.Resource, told *troubles) (*sdktrace.TracerProvider, error) {
	client, err := newClient(c, "TRACES")
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithHTTPClient(client))
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithResource(from), sdktrace.WithBatcher(spanExporter{exporter, told})), nil
}

func newMetrics(ctx context.Context, c Config, from *resource.Resource, told *troubles) (*sdkmetric.MeterProvider, error) {
	client, err := newClient(c, "METRICS")
	if err != nil {
		return nil, err
	}
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithHTTPClient(client))
	if err != nil {
		return nil, err
	}
	var every []sdkmetric.PeriodicReaderOption
	if strings.TrimSpace(os.Getenv("OTEL_METRIC_EXPORT_INTERVAL")) == "" { // an option would go before the variable
		every = append(every, sdkmetric.WithInterval(metricInterval))
	}
	reader := sdkmetric.NewPeriodicReader(metricExporter{exporter, told}, every...)
	return sdkmetric.NewMeterProvider(sdkmetric.WithResource(from), sdkmetric.WithReader(reader)), nil
}

// spanExporter and metricExporter are exporters whose failures end here: the SDK would only print them.
type (
	spanExporter struct {
		sdktrace.SpanExporter
		told *troubles
	}
	metricExporter struct {
		sdkmetric.Exporter
		told *troubles
	}
)

// ExportSpans implements sdktrace.SpanExporter.
func (e spanExporter) ExportSpans(ctx context.Context, s []sdktrace.ReadOnlySpan) error {
	e.told.note(ctx, e.SpanExporter.ExportSpans(ctx, s))
	return nil
}

// Export implements sdkmetric.Exporter.
func (e metricExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	e.told.note(ctx, e.Exporter.Export(ctx, m))
	return nil
}
