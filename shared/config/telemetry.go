package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// otlp are the variables of OpenTelemetry's exporters that are checked here and used by its SDK, which
// would go on without those it cannot read, or print them (OpenTelemetry specification, protocol/exporter
// and resource/sdk). Of the two signals each goes its own way where it has a variable of its own.
type otlp struct {
	TracesEndpoint  string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"`
	MetricsEndpoint string `envconfig:"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"`
	Protocol        string `envconfig:"OTEL_EXPORTER_OTLP_PROTOCOL"`
	TracesProtocol  string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"`
	MetricsProtocol string `envconfig:"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"`
	TracesHeaders   string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_HEADERS"`
	MetricsHeaders  string `envconfig:"OTEL_EXPORTER_OTLP_METRICS_HEADERS"`
	Resource        string `envconfig:"OTEL_RESOURCE_ATTRIBUTES"`
}

// telemetry tells which signals are sent, and what is wrong with the variables that say how.
func (r *raw) telemetry(p *problems, s *Settings) {
	var o otlp
	if err := envconfig.Process("", &o); err != nil {
		p.add("OTEL_*", "cannot be read")
		return
	}
	for _, v := range [][2]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", r.OTLPEndpoint},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", o.TracesEndpoint},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", o.MetricsEndpoint},
	} {
		p.note(v[0], whenSet(v[1], collectorURL))
	}
	for _, v := range [][2]string{
		{"OTEL_EXPORTER_OTLP_HEADERS", r.OTLPHeaders},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", o.TracesHeaders},
		{"OTEL_EXPORTER_OTLP_METRICS_HEADERS", o.MetricsHeaders},
		{"OTEL_RESOURCE_ATTRIBUTES", o.Resource},
	} {
		p.note(v[0], whenSet(v[1], pairs))
	}
	for _, v := range [][2]string{
		{"OTEL_EXPORTER_OTLP_PROTOCOL", o.Protocol},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", o.TracesProtocol},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", o.MetricsProtocol},
	} {
		p.note(v[0], whenSet(v[1], protocol))
	}
	all := strings.TrimSpace(r.OTLPEndpoint) != ""
	s.Traces = all || strings.TrimSpace(o.TracesEndpoint) != ""
	s.Metrics = all || strings.TrimSpace(o.MetricsEndpoint) != ""
	if s.Metrics {
		p.note(o.metricsProtocol())
	}
}

// metricsProtocol refuses JSON where metrics are sent: the SDK has it for traces alone, and would send them as
// protobuf all the same (opentelemetry-go 1.47, otlpmetrichttp/client.go). What is set for metrics goes before.
func (o otlp) metricsProtocol() (name string, err error) {
	name, value := "OTEL_EXPORTER_OTLP_PROTOCOL", o.Protocol
	if strings.TrimSpace(o.MetricsProtocol) != "" {
		name, value = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", o.MetricsProtocol
	}
	if strings.TrimSpace(value) == "http/json" {
		err = errors.New("metrics are not sent as http/json; set OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf")
	}
	return name, err
}

// whenSet checks a value that is there.
func whenSet(value string, check func(string) error) error {
	if value = strings.TrimSpace(value); value == "" {
		return nil
	}
	return check(value)
}

func collectorURL(value string) error {
	_, err := webURL(value)
	return err
}

// pairs checks a list of name=value, the values escaped as in a URL (W3C Baggage, which both variables follow).
// The errors hold no value.
func pairs(value string) error {
	if strings.HasPrefix(value, "@Microsoft.KeyVault(") {
		return errors.New("is a Key Vault reference that was not resolved")
	}
	for pair := range strings.SplitSeq(value, ",") {
		name, text, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(text); err != nil || !found || !headerName(strings.TrimSpace(name)) {
			return errors.New("must be name=value,name=value, with values escaped as in a URL")
		}
	}
	return nil
}

// headerName reports whether the name may be that of a header.
func headerName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// protocol refuses gRPC, which this build does not speak.
func protocol(value string) error {
	if value != "http/protobuf" && value != "http/json" {
		return errors.New("must be http/protobuf or http/json")
	}
	return nil
}
