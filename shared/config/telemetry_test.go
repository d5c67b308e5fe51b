package config

import (
	"strings"
	"testing"
)

// otlpEnv is every variable of OpenTelemetry that is checked.
func otlpEnv() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
		"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_RESOURCE_ATTRIBUTES",
	}
}

// telemetryOf loads good settings and these.
func telemetryOf(t *testing.T, env map[string]string) (Settings, error) {
	t.Helper()
	base := map[string]string{"QUEUE_URL": "http://127.0.0.1:7071", "STORE_URL": "memory:"}
	for _, s := range Describe() {
		if value, ok := env[s.Name]; ok {
			base[s.Name] = value
		}
	}
	setenv(t, base)
	for _, name := range otlpEnv() {
		t.Setenv(name, env[name])
	}
	return Load()
}

func TestTelemetryIsOffUnlessACollectorIsNamed(t *testing.T) {
	const general, traces, metrics = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	for _, c := range []struct {
		env             map[string]string
		traces, metrics bool
	}{
		{nil, false, false},
		{map[string]string{general: " ", traces: "", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, false, false},
		{map[string]string{general: "https://collector:4318"}, true, true},
		{map[string]string{traces: "http://collector:4318/v1/traces"}, true, false},
		{map[string]string{metrics: "http://collector:4318/v1/metrics"}, false, true},
	} {
		s, err := telemetryOf(t, c.env)
		if err != nil || s.Traces != c.traces || s.Metrics != c.metrics {
			t.Errorf("%v: traces %t, metrics %t, %v", c.env, s.Traces, s.Metrics, err)
		}
	}
}

func TestTelemetrySettings(t *testing.T) {
	const absolute, list, spoken = "must be an absolute http or https URL", "must be name=value,name=value, with values escaped as in a URL", "must be http/protobuf or http/json"
	for _, c := range []struct{ name, value, want string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", absolute},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:hunter2@collector", "must not hold a user name or password"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "unix:/a", absolute},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://collector/?key=hunter2", "must not have a query"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x-team = hcp ", ""},
		{"OTEL_EXPORTER_OTLP_HEADERS", "Authorization: hunter2", list},
		{"OTEL_EXPORTER_OTLP_HEADERS", "=hunter2", list},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=hunter2,", list},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a b=hunter2", list},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=%zzhunter2", list},
		{"OTEL_EXPORTER_OTLP_HEADERS", "@Microsoft.KeyVault(VaultName=v;SecretName=hunter2)", "is a Key Vault reference that was not resolved"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "hunter2", list},
		{"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "hunter2", list},
		{"OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=int,team=hcp", ""},
		{"OTEL_RESOURCE_ATTRIBUTES", "hunter2", list},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", ""},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", spoken},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "hunter2", spoken},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json", ""},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc", spoken},
	} {
		_, err := telemetryOf(t, map[string]string{c.name: c.value})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		case c.want != "" && (err == nil || err.Error() != c.name+": "+c.want):
			t.Errorf("%s=%s: error %v, want %s", c.name, c.value, err, c.want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the error repeats the value: %v", c.name, err)
		}
	}
}

// TestMetricsAreNotSentAsJSON: the SDK would send protobuf, whatever is set.
func TestMetricsAreNotSentAsJSON(t *testing.T) {
	const all, traces, metrics = "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"
	const endpoint, tracesOnly = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, c := range []struct {
		env  map[string]string
		name string // of the variable that is told of
	}{
		{map[string]string{endpoint: "http://c:4318", all: "http/json"}, all},
		{map[string]string{endpoint: "http://c:4318", metrics: "http/json"}, metrics},
		{map[string]string{endpoint: "http://c:4318", all: "http/protobuf", metrics: " http/json "}, metrics},
		{map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:4318", all: "http/json"}, all},
		{map[string]string{endpoint: "http://c:4318", all: "http/json", metrics: "http/protobuf"}, ""},
		{map[string]string{endpoint: "http://c:4318", traces: "http/json"}, ""},
		{map[string]string{tracesOnly: "http://c:4318", all: "http/json"}, ""},
	} {
		_, err := telemetryOf(t, c.env)
		want := c.name + ": metrics are not sent as http/json; set OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf"
		if c.name == "" && err != nil || c.name != "" && (err == nil || err.Error() != want) {
			t.Errorf("%v: %v", c.env, err)
		}
	}
}
