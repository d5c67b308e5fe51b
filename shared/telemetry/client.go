package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// exportTime is how long one export may take when no variable says so (the SDK's default).
const exportTime = 10 * time.Second

// newClient returns the client of one signal, "TRACES" or "METRICS". It follows no redirect: the exporters' own one
// would send the headers, which hold the key, to wherever the collector points, and take any page's 200 for success.
// For that an exporter has to be given a client, and with one it sets the variables of certificates and time-outs
// aside (otlptracehttp and otlpmetrichttp, WithHTTPClient); so these are read here, as it would read them.
func newClient(c Config, signal string) (*http.Client, error) {
	secured, err := tlsOf(signal)
	if err != nil {
		return nil, err
	}
	rt := c.Transport
	if own, ok := http.DefaultTransport.(*http.Transport); ok && rt == nil {
		own = own.Clone()
		own.TLSClientConfig = secured
		rt = own
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: rt, CheckRedirect: stay, Timeout: timeoutOf(signal)}, nil
}

// variable returns what a variable of the exporters says: the signal's own, or else that of both.
func variable(signal, name string) string {
	for _, name := range []string{signal + "_" + name, name} {
		if value := strings.TrimSpace(os.Getenv("OTEL_EXPORTER_OTLP_" + name)); value != "" {
			return value
		}
	}
	return ""
}

// timeoutOf reads milliseconds. What is no number counts as missing, as for the exporters.
func timeoutOf(signal string) time.Duration {
	if n, err := strconv.Atoi(variable(signal, "TIMEOUT")); err == nil && n > 0 {
		return time.Duration(n) * time.Millisecond
	}
	return exportTime
}

// tlsOf reads the files of the collector's certificate authority and of our own certificate; nil when there are none.
func tlsOf(signal string) (*tls.Config, error) {
	ca, cert, key := variable(signal, "CERTIFICATE"), variable(signal, "CLIENT_CERTIFICATE"), variable(signal, "CLIENT_KEY")
	if ca == "" && cert == "" && key == "" {
		return nil, nil //nolint:nilnil // Go's default is nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE: the file holds no certificate")
		}
	}
	if cert != "" || key != "" {
		own, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}
