package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"prowgate/functions"
	"prowgate/shared/azurefn"
	"prowgate/shared/gate"
)

// use puts settings into the environment of this process.
func use(t *testing.T, env []string) {
	t.Helper()
	for _, setting := range env {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	url, _ := broker(t)
	port := strconv.Itoa(freePort(t))
	use(t, append(settings(t, url), "FUNCTIONS_CUSTOMHANDLER_PORT="+port))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, w, time.Now)
		_ = w.Close()
	}()
	line := make([]byte, 4096)
	if n, err := r.Read(line); err != nil || !strings.Contains(string(line[:n]), "127.0.0.1:"+port) {
		t.Fatalf("out: %q, %v", line[:n], err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", res, err)
	}
	_ = res.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunTellsWhyItCannotServe(t *testing.T) {
	var listen net.ListenConfig
	taken, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	url, _ := broker(t)
	use(t, append(settings(t, url), "FUNCTIONS_CUSTOMHANDLER_PORT="+port))
	if err := run(t.Context(), io.Discard, time.Now); err == nil || !strings.Contains(err.Error(), port) {
		t.Errorf("got %v", err)
	}
	t.Setenv("STORE_URL", "sqlite:/nowhere/at/all.db")
	if err := run(t.Context(), io.Discard, time.Now); err == nil || !strings.Contains(err.Error(), "STORE_URL") {
		t.Errorf("got %v", err)
	}
}

func TestAdaptFailsAnInvocationWhoseMessageComesAgain(t *testing.T) {
	var body string
	var result error
	set := map[string]functions.Handler{"poll": func(_ context.Context, b []byte) error {
		body = string(b)
		return result
	}}
	handle := adapt(set, nil)["poll"]
	if err := handle(t.Context(), azurefn.Invocation{Body: []byte("tick")}); err != nil || body != "tick" {
		t.Errorf("%v, body %q", err, body)
	}
	result = errors.New("the queue is away")
	if err := handle(t.Context(), azurefn.Invocation{}); !errors.Is(err, result) {
		t.Errorf("got %v", err)
	}
}

// Everything that is wrong is told in one go: forms that this program does not open along with the other settings,
// and what only the parts can tell, once the settings are in order.
func TestRunTellsAllThatIsWrong(t *testing.T) {
	for _, wrong := range [][]string{
		{
			"LOG_LEVEL=loud", "QUEUE_URL=https://sqs.eu-west-1.amazonaws.com/123456789012", "STORE_URL=dynamodb:records",
			"GANGWAY_TOKEN_URI=arn:aws:secretsmanager:eu-west-1:123456789012:secret:x-a1B2c3",
		},
		{"LOG_LEVEL=loud", "STORE_URL=BlobEndpoint=https://a/;SharedAccessSignature=s;TableName=gates"},
		{"QUEUE_URL=Endpoint=sb://a.b/;SharedAccessKey=k", "STORE_URL=AccountName=a;AccountKey=no base64;TableName=gates"},
	} {
		url, _ := broker(t)
		use(t, append(append(settings(t, url), "GANGWAY_TOKEN=", "GANGWAY_TOKEN_URI=", "LOG_LEVEL=info"), wrong...))
		err := run(t.Context(), io.Discard, time.Now)
		for _, setting := range wrong {
			name, _, _ := strings.Cut(setting, "=")
			if err == nil || strings.Count(err.Error(), name+": ") != 1 {
				t.Errorf("%s is not told once: %v", name, err)
			}
		}
	}
}

// What libraries print by package log is a line of the log like any other.
func TestLibrariesPrintIntoTheLog(t *testing.T) {
	url, _ := broker(t)
	use(t, append(settings(t, url), "FUNCTIONS_CUSTOMHANDLER_PORT="+strconv.Itoa(freePort(t))))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := run(ended, &out, time.Now); err != nil {
		t.Fatal(err)
	}
	log.Printf("starting with %q", gate.Marker(gate.KnownIssueEligible))
	if text := out.String(); !strings.Contains(text, `"msg":"starting with`) || gate.HasMarker(text) {
		t.Errorf("got %s", text)
	}
}
