package telemetry_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/shared/azurefn"
	"prowgate/shared/telemetry"
	"prowgate/shared/telemetry/collectortest"
)

// network starts with a transport of its own, in the environment as it is.
func network(t *testing.T) (rig, error) {
	t.Helper()
	r := rig{log: &safeBuffer{}}
	told, err := telemetry.Start(t.Context(), telemetry.Config{
		Traces: true, Metrics: true, Log: slog.New(azurefn.NewLog(r.log, slog.LevelDebug)), Clock: time.Now,
	})
	r.Telemetry = told
	return r, err
}

// TestRedirectsAreNotFollowed: the place that a collector points to gets no key and nothing else, and the export has
// failed, whatever is there.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		clean(t)
		var asked atomic.Int32
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		t.Cleanup(elsewhere.Close)
		collector := httptest.NewServer(http.RedirectHandler(elsewhere.URL, status))
		t.Cleanup(collector.Close)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hush-hush")
		r, err := network(t)
		if err != nil {
			t.Fatal(err)
		}
		call(t, r, 1)
		r.Watch().Swept(t.Context(), 1)
		r.Stop(t.Context())
		if asked.Load() != 0 {
			t.Errorf("%d: another host was sent %d requests", status, asked.Load())
		}
		if log := r.log.String(); !strings.Contains(log, "telemetry was not taken") || !strings.Contains(log, http.StatusText(status)) {
			t.Errorf("%d: not told: %s", status, log)
		}
	}
}

// pemFile writes one block and returns where.
func pemFile(t *testing.T, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCertificates: a collector with a certificate of its own authority that asks for ours is sent to once the
// variables name both, for both signals or for each.
func TestCertificates(t *testing.T) {
	c := collectortest.New()
	server := httptest.NewUnstartedServer(c)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, private := pemFile(t, "CERTIFICATE", server.Certificate().Raw), pemFile(t, "PRIVATE KEY", key)
	names := []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"}
	for _, x := range []struct {
		prefixes []string
		want     int32
	}{{nil, 0}, {[]string{""}, 2}, {[]string{"TRACES_", "METRICS_"}, 4}} {
		clean(t)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
		for _, prefix := range []string{"", "TRACES_", "METRICS_"} {
			for _, name := range names {
				t.Setenv("OTEL_EXPORTER_OTLP_"+prefix+name, "")
			}
		}
		for _, prefix := range x.prefixes {
			for i, file := range []string{cert, cert, private} {
				t.Setenv("OTEL_EXPORTER_OTLP_"+prefix+names[i], file)
			}
		}
		r, err := network(t)
		if err != nil {
			t.Fatal(err)
		}
		call(t, r, 1)
		r.Watch().Swept(t.Context(), 1)
		r.Stop(t.Context())
		if n, broken := c.Exports(); int32(n) != x.want || len(broken) > 0 {
			t.Errorf("%q: %d exports have come, want %d; %v; %s", x.prefixes, n, x.want, broken, r.log)
		}
	}
}

// TestCertificatesThatCannotBeRead stop the start, by the variable's name.
func TestCertificatesThatCannotBeRead(t *testing.T) {
	missing, empty := filepath.Join(t.TempDir(), "none"), pemFile(t, "CERTIFICATE", nil)
	for _, c := range []struct{ name, file string }{{"CERTIFICATE", missing}, {"CERTIFICATE", empty}, {"CLIENT_CERTIFICATE", empty}, {"CLIENT_KEY", empty}} {
		t.Run(c.name, func(t *testing.T) {
			clean(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:1")
			t.Setenv("OTEL_EXPORTER_OTLP_"+c.name, c.file)
			if _, err := network(t); err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_"+c.name) {
				t.Errorf("%s: %v", c.file, err)
			}
		})
	}
}

// stuck answers nothing until the request is given up, and keeps how long the first one took.
type stuck struct{ took chan time.Duration }

func (s stuck) RoundTrip(req *http.Request) (*http.Response, error) {
	begun := time.Now()
	<-req.Context().Done()
	select {
	case s.took <- time.Since(begun):
	default:
	}
	return nil, req.Context().Err()
}

// TestTimeOut: an export is given up after what the variable says, or ten seconds.
func TestTimeOut(t *testing.T) {
	for _, c := range []struct {
		general, traces string
		want            time.Duration
	}{{"", "", 10 * time.Second}, {"3000", "", 3 * time.Second}, {"3000", "7000", 7 * time.Second}, {"soon", "", 10 * time.Second}} {
		clean(t)
		t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", c.general)
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", c.traces)
		synctest.Test(t, func(t *testing.T) {
			s := stuck{make(chan time.Duration, 1)}
			r := start(t.Context(), t, s)
			call(t, r, 1)
			if took := <-s.took; took != c.want {
				t.Errorf("%q, %q: given up after %v, want %v", c.general, c.traces, took, c.want)
			}
			r.Stop(t.Context())
			time.Sleep(4 * time.Minute) // what is tried again has a time limit of its own
		})
	}
}
