package onaws

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prowgate/infra/ev2/gate/console"
	"prowgate/infra/ev2/gate/onaws/signaturetest"
	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// use leaves only these settings of AWS in the environment.
func use(t *testing.T, env map[string]string) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	all := map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_SESSION_TOKEN": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_SQS": "", "AWS_ENDPOINT_URL_STS": "",
		"AWS_ROLE_ARN": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	}
	for name, value := range env {
		all[name] = value
	}
	for name, value := range all {
		t.Setenv(name, value)
	}
}

func withKey(more ...string) map[string]string {
	env := map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_SESSION_TOKEN": "session", "AWS_REGION": "eu-west-1"}
	for i := 0; i < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	return env
}

// key is the one that withKey signs with.
func key() signaturetest.Key {
	return signaturetest.Key{ID: "id", Secret: "hush", Token: "session", Region: "eu-west-1", Service: service, Clock: time.Now}
}

// ask makes a signed request and returns the status.
func ask(t *testing.T, rt http.RoundTripper, address string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, nil
}

func TestOnlyTheRightSignatureIsLetIn(t *testing.T) {
	server := httptest.NewServer(key().Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer server.Close()
	path := server.URL + "/api/gates/a%2Fb%20c/completion"
	use(t, withKey())
	signed := NewTransport(http.DefaultTransport, time.Now)
	for range 2 {
		if code, err := ask(t, signed, path); code != 200 || err != nil {
			t.Fatalf("signed: %d, %v", code, err)
		}
	}
	if code, err := ask(t, http.DefaultTransport, path); code != 403 || err != nil {
		t.Errorf("not signed: %d, %v", code, err)
	}
	old := NewTransport(http.DefaultTransport, func() time.Time { return time.Now().Add(-time.Hour) })
	if code, err := ask(t, old, path); code != 403 || err != nil {
		t.Errorf("an hour ago: %d, %v", code, err)
	}
	moved := NewTransport(elsewhere{server.URL}, time.Now)
	if code, err := ask(t, moved, server.URL+"/api/gates/g"); code != 403 || err != nil {
		t.Errorf("signed for another path: %d, %v", code, err)
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "other", "AWS_SECRET_ACCESS_KEY": "other", "AWS_SESSION_TOKEN": "other", "AWS_REGION": "us-east-1",
	} {
		use(t, withKey(name, value))
		if code, err := ask(t, NewTransport(http.DefaultTransport, time.Now), path); code != 403 || err != nil {
			t.Errorf("another %s: %d, %v", name, code, err)
		}
	}
}

// elsewhere sends what was signed for one path to another.
type elsewhere struct{ base string }

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	u, err := url.Parse(e.base + "/api/gates")
	if err != nil {
		return nil, err
	}
	r.URL = u
	return http.DefaultTransport.RoundTrip(r)
}

func TestRegionOfAFunctionURL(t *testing.T) {
	use(t, withKey("AWS_REGION", "us-east-1"))
	var seen string
	rt := NewTransport(tap(func(r *http.Request) { seen = r.Header.Get("Authorization") }), time.Now)
	if _, err := ask(t, rt, "https://abc.lambda-url.eu-west-1.on.aws/api/gates"); err == nil || !strings.Contains(seen, "/eu-west-1/lambda/aws4_request") {
		t.Errorf("%v: %s", err, seen)
	}
}

// tap sees a request and sends it nowhere.
type tap func(*http.Request)

func (f tap) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, errors.New("nowhere")
}

func TestWhatIsNotSigned(t *testing.T) {
	use(t, withKey())
	sent := false
	rt := NewTransport(tap(func(*http.Request) { sent = true }), time.Now)
	if _, err := ask(t, rt, "http://face.example/api/gates"); !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "https only") {
		t.Errorf("over http: %v", err)
	}
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://face.example", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.RoundTrip(post); !fault.Is(err, fault.Refused) {
		t.Errorf("with a body: %v", err)
	}
	use(t, withKey("AWS_REGION", ""))
	if _, err := ask(t, NewTransport(rt, time.Now), "https://face.example"); !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
	if sent {
		t.Error("a request was made")
	}
}

func TestNoCredentials(t *testing.T) {
	use(t, map[string]string{"AWS_REGION": "eu-west-1"})
	rt := NewTransport(tap(func(*http.Request) { t.Error("a request was made") }), time.Now)
	_, err := ask(t, rt, "https://face.example")
	q, openErr := Queues(t.Context(), "sqs:http://127.0.0.1:1/000000000000", time.Now)
	if openErr != nil {
		t.Fatal(openErr)
	}
	for what, err := range map[string]error{"face": err, "queue": q.Send(t.Context(), "gate-submit", queue.Message{Body: []byte("{}")})} {
		if !fault.Is(err, fault.NothingHappened) || !errors.Is(err, console.ErrNoCredentials) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRegionOfQueues(t *testing.T) {
	for _, c := range []struct {
		raw, env string
		ok       bool
	}{
		{"https://sqs.eu-west-1.amazonaws.com/123456789012", "", true},
		{"sqs:https://sqs.cn-north-1.amazonaws.com.cn/123456789012", "", true},
		{"sqs:http://127.0.0.1:1/000000000000", "eu-west-1", true},
		{"sqs:http://127.0.0.1:1/000000000000", "", false},
	} {
		use(t, withKey("AWS_REGION", c.env))
		if _, err := Queues(context.WithoutCancel(t.Context()), c.raw, time.Now); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.raw, err)
		}
	}
}
