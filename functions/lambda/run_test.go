package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"prowgate/shared/config"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// use leaves exactly these settings in the environment of this process.
func use(t *testing.T, env map[string]string) {
	t.Helper()
	for _, s := range config.Describe() {
		t.Setenv(s.Name, env[s.Name])
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush-hush")
}

func good() map[string]string {
	return map[string]string{
		"QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012", "STORE_URL": "dynamodb:records",
		"SUBMIT_QUEUE": "s", "POLL_QUEUE": "p", "CANCEL_QUEUE": "c",
	}
}

func TestRunMakesTheHandler(t *testing.T) {
	use(t, good())
	h, err := run(t.Context(), io.Discard, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for queue, function := range map[string]string{"s": "submit", "p": "poll", "c": "cancel"} {
		if h.byQueue[queue] != function || h.functions[function] == nil {
			t.Errorf("queue %s is for %q", queue, h.byQueue[queue])
		}
	}
}

func TestRunTellsWhyItCannot(t *testing.T) {
	for name, value := range map[string]string{
		"QUEUE_URL": "http://127.0.0.1:7071", "STORE_URL": "memory:", "GANGWAY_URL": "hush-hush",
		"GANGWAY_TOKEN_URI": "https://ci-tokens.vault.azure.net/secrets/gangway",
	} {
		env := good()
		env[name] = value
		use(t, env)
		h, err := run(t.Context(), io.Discard, time.Now)
		if err == nil || h != nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hush-hush") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// Forms that this program does not open are told along with everything else.
func TestRunTellsAllThatIsWrong(t *testing.T) {
	env := good()
	env["LOG_LEVEL"] = "loud"
	env["QUEUE_URL"], env["STORE_URL"] = "http://127.0.0.1:7071", "memory:"
	env["GANGWAY_TOKEN_URI"] = "https://ci-tokens.vault.azure.net/secrets/gangway"
	use(t, env)
	_, err := run(t.Context(), io.Discard, time.Now)
	for _, name := range []string{"QUEUE_URL", "STORE_URL", "GANGWAY_TOKEN_URI", "LOG_LEVEL"} {
		if err == nil || strings.Count(err.Error(), name) != 1 {
			t.Errorf("%s is not told once: %v", name, err)
		}
	}
}

// The token is not asked for at the start, and its failure says what AWS calls it.
func TestTokenFromSecretsManager(t *testing.T) {
	env := good()
	env["GANGWAY_TOKEN_URI"] = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:gangway-a1B2c3"
	use(t, env)
	if _, err := run(t.Context(), io.Discard, time.Now); err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"SecretString":"sha256~token"}`:                       "sha256~token",
		`{"__type":"ResourceNotFoundException","message":"no"}`: "",
	} {
		server := answering(t, body)
		cfg := aws.Config{Region: "eu-west-1", BaseEndpoint: aws.String(server), Credentials: aws.AnonymousCredentials{}, Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
		got, err := readSecret(cfg, "arn")(t.Context())
		if got != want || want == "" && (!fault.Is(err, fault.NothingHappened) || !strings.Contains(err.Error(), "ResourceNotFoundException")) {
			t.Errorf("%s: got %q, %v", body, got, err)
		}
	}
}

// answering is a server that answers everything with that body, and with 400 when it tells an error.
func answering(t *testing.T, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if strings.Contains(body, "__type") {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// What libraries print by package log is a line of the log like any other.
func TestLibrariesPrintIntoTheLog(t *testing.T) {
	use(t, good())
	var out bytes.Buffer
	if _, err := run(t.Context(), &out, time.Now); err != nil {
		t.Fatal(err)
	}
	log.Printf("starting with %q", gate.Marker(gate.KnownIssueEligible))
	if line := out.String(); !strings.Contains(line, `"msg":"starting with`) || gate.HasMarker(line) {
		t.Errorf("got %s", line)
	}
}
