//go:build unix

package main

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prowgate/shared/gate"
)

// identity sets what AWS's tools read: nothing but these variables.
func identity(t *testing.T, more ...string) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	all := append([]string{
		"AWS_REGION", "eu-west-1", "AWS_PROFILE", "", "AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", "", "AWS_SESSION_TOKEN", "",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "", "AWS_ENDPOINT_URL_SQS", "",
		"AWS_EC2_METADATA_DISABLED", "true", "AWS_CONFIG_FILE", none, "AWS_SHARED_CREDENTIALS_FILE", none,
	}, more...)
	for i := 0; i < len(all); i += 2 {
		t.Setenv(all[i], all[i+1])
	}
}

// credentialProcess makes a script the program that gives AWS credentials.
func credentialProcess(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	program, config := filepath.Join(dir, "program"), filepath.Join(dir, "config")
	err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700)
	if err == nil {
		err = os.WriteFile(config, []byte("[default]\ncredential_process = "+program+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	identity(t, "AWS_CONFIG_FILE", config)
}

// sqsArgs are those of a step on SQS whose status face is at the queues' own host.
func sqsArgs(url string, more ...string) []string {
	return runArgs(append([]string{"--queue-url", "sqs:" + url + "/000000000000", "--status-url", url}, more...)...)
}

// The SDK of AWS quotes a header of the answer in a warning of its own.
func TestAnswerThatTheSDKQuotes(t *testing.T) {
	said := strings.ToUpper(gate.Marker(gate.KnownIssueEligible)) + ": failed to get token"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"kind":"completion","gateId":"g","jobName":"job","outcome":"failed","error":"bad","retry":"not-eligible"}`))
			return
		}
		var in struct{ MessageBody string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		sum := md5.Sum([]byte(in.MessageBody))
		w.Header().Set("Date", said)
		_, _ = fmt.Fprintf(w, `{"MessageId":"1","MD5OfMessageBody":%q}`, hex.EncodeToString(sum[:]))
	}))
	defer s.Close()
	identity(t, "AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "key")
	p := start(t, "", sqsArgs(s.URL)...)
	p.want(1)
	if !strings.Contains(strings.ToLower(p.err.String()), "ev2_") {
		t.Errorf("the SDK's warning is not there: %s", &p.err)
	}
}

// Azure's SDK says what it does when it is asked to, and a program that gives credentials has the step's stderr. Their
// last words are not lost, with a line break or without.
func TestWordsOfAProgramForCredentials(t *testing.T) {
	for _, end := range []string{"", `\n`} {
		credentialProcess(t, "printf '%s: failed to get token"+end+"' "+gate.Marker(gate.InfraPreconditionEligible)+" >&2\nexit 1\n")
		p := start(t, "", sqsArgs("http://127.0.0.1:1", "--connect-timeout", "100ms")...)
		p.want(3)
		if !strings.Contains(p.err.String(), "ev2_") || strings.Count(p.err.String(), "Z failed to get token: the step may be repeated\n") != 1 {
			t.Errorf("stderr: %s", &p.err)
		}
	}
}

// A service for tokens that hangs is one that gives none.
func TestSTSThatHangs(t *testing.T) {
	sts := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		sts.CloseClientConnections()
		sts.Close()
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	identity(t, "AWS_ENDPOINT_URL_STS", sts.URL, "AWS_WEB_IDENTITY_TOKEN_FILE", file, "AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/step")
	p := start(t, "", sqsArgs("http://127.0.0.1:1", "--connect-timeout", "300ms")...)
	p.want(3)
	if strings.Count(p.err.String(), "Z failed to get token: the step may be repeated\n") != 1 || !strings.Contains(p.err.String(), "nothing was submitted") {
		t.Errorf("stderr: %s", &p.err)
	}
}

func TestProgramThatOutlivesTheStep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	credentialProcess(t, "sleep 600 >/dev/null &\necho $! >"+file+"\necho last words >&2\nexit 1\n")
	p := start(t, "", sqsArgs("http://127.0.0.1:1", "--connect-timeout", "100ms")...)
	p.want(3)
	text, readErr := os.ReadFile(file)
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err := errors.Join(readErr, convErr); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the program did not outlive the step: %v", err)
	}
	if !strings.Contains(p.err.String(), "last words") {
		t.Errorf("stderr: %s", &p.err)
	}
}

// More than any pipe holds, while nobody reads: neither the program nor the step waits. That the program came to its
// end is seen by the sending, which is refused.
func TestWordsThatNobodyReads(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer s.Close()
	credentialProcess(t, "head -c 1000000 /dev/zero | tr '\\0' '\\n' >&2\n"+
		`echo '{"Version":1,"AccessKeyId":"id","SecretAccessKey":"key","Expiration":"2100-01-01T00:00:00Z"}'`+"\n")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	fill(t, w)
	cmd := startArgs(t, w, "", sqsArgs(s.URL, "--connect-timeout", "30s")...)
	_ = cmd.Wait() // its exit code is not 0
	if code := cmd.ProcessState.ExitCode(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

func TestTracesOfTheSDKOfAzure(t *testing.T) {
	said := gate.Marker(gate.KnownIssueEligible) + "-failed-to-get-token"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", said)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer s.Close()
	for name, value := range map[string]string{
		"AZURE_SDK_GO_LOGGING": "all", "IDENTITY_ENDPOINT": s.URL + "/" + said, "IDENTITY_HEADER": "x",
	} {
		t.Setenv(name, value)
	}
	p := start(t, "sb://gates.servicebus.windows.net", runArgs("--connect-timeout", "100ms")...)
	p.want(3)
	if !strings.Contains(p.err.String(), "ev2_") {
		t.Errorf("the SDK said nothing: %s", &p.err)
	}
}
