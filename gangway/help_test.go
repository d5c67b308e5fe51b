package gangway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

const secretToken = "sha256~only-gangway-may-see-this"

// aNow is the clock of every test.
func aNow() time.Time { return time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC) }

// configOf points all three clients at one server.
func configOf(t *testing.T, base string) Config {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		GangwayURL: u, ProwURL: u, ArtifactsURL: u, Clock: aNow, Transport: &http.Transport{DisableKeepAlives: true},
		Token: func(context.Context) (string, error) { return secretToken + "\n", nil },
	}
}

// serve starts a server that lives as long as the test.
func serve(t *testing.T, h http.HandlerFunc) Config {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return configOf(t, s.URL)
}

// answer is a handler that always says the same.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// roundTripper is a transport made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func aSubmission() prow.Submission {
	return prow.Submission{JobName: "periodic-e2e", Type: prow.Periodic, Labels: map[string]string{"ev2.rollout/gate-id": "g1"}}
}

// wantFault checks an error's kind and that no error in its chain holds the token.
func wantFault(t *testing.T, err error, kind fault.Kind, text string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("error %v (%T) is no fault", err, err)
	}
	if f.Kind != kind {
		t.Errorf("kind %q, want %q: %v", f.Kind, kind, err)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("error %q does not say %q", err, text)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), secretToken[:12]) {
			t.Errorf("the token is in %#v", e)
		}
	}
}
