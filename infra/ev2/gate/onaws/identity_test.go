package onaws

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// serve serves what gives credentials.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// hangs answers nothing until the client has gone.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func failing(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }

// web is the environment of a step that is known by a token in a file.
func web(t *testing.T, sts string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/step", "AWS_WEB_IDENTITY_TOKEN_FILE": file,
		"AWS_ENDPOINT_URL_STS": sts,
	}
}

// machine is the environment of a step that is known by the machine that it runs on.
func machine(imds string) map[string]string {
	return map[string]string{"AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": imds}
}

func open(t *testing.T, limit time.Duration) *Identified {
	t.Helper()
	q, err := queues(t.Context(), "sqs:http://127.0.0.1:1/000000000000", time.Now, limit)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func message() queue.Message { return queue.Message{Body: []byte("{}")} }

// Whatever ends the wait for credentials, nothing was sent, and the error says why.
func TestIdentityThatGivesNothing(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"STS hangs": web(t, serve(t, hangs)), "STS fails": web(t, serve(t, failing)),
		"IMDS hangs": machine(serve(t, hangs)), "IMDS fails": machine(serve(t, failing)),
	} {
		t.Run(name, func(t *testing.T) {
			use(t, env)
			short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer stop()
			for what, ask := range map[string]func() error{
				"its own limit":   func() error { return open(t, 20*time.Millisecond).Send(t.Context(), "gate-submit", message()) },
				"the caller's":    func() error { return open(t, time.Hour).Send(short, "gate-submit", message()) },
				"over already":    func() error { return open(t, time.Hour).Send(ended(t), "gate-submit", message()) },
				"inside the call": func() error { return open(t, 20*time.Millisecond).Queues.Send(t.Context(), "gate-submit", message()) },
				"of the face": func() error {
					req, err := http.NewRequestWithContext(short, http.MethodGet, "https://face.example", nil)
					if err != nil {
						return err
					}
					res, err := NewTransport(tap(func(*http.Request) { t.Error("a request was made") }), time.Now).RoundTrip(req)
					if err == nil {
						_ = res.Body.Close()
					}
					return err
				},
			} {
				if err := ask(); !errors.Is(err, console.ErrNoCredentials) || !fault.Is(err, fault.NothingHappened) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

func ended(t *testing.T) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	return ctx
}

// The limit leaves the call time to see the lack of credentials as what it is; what calls wait is in package sqs, and
// in package face.
func TestLimitOfTheIdentity(t *testing.T) {
	if identityLimit >= 15*time.Second {
		t.Errorf("%s", identityLimit)
	}
}

// A request that is never answered does not keep those to come from asking anew.
func TestIdentityThatComesBack(t *testing.T) {
	const answer = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>` +
		`<Credentials><AccessKeyId>id</AccessKeyId><SecretAccessKey>key</SecretAccessKey><SessionToken>s</SessionToken>` +
		`<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
	var requests atomic.Int64
	use(t, web(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			hangs(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		_, _ = io.WriteString(w, answer)
	})))
	q := open(t, 200*time.Millisecond)
	if err := q.Send(t.Context(), "gate-submit", message()); !errors.Is(err, console.ErrNoCredentials) {
		t.Fatalf("the first time: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		err := q.Send(ctx, "gate-submit", message())
		if !errors.Is(err, console.ErrNoCredentials) {
			break // nobody listens at the queues
		}
		if ctx.Err() != nil {
			t.Fatalf("%d requests, and still: %v", requests.Load(), err)
		}
	}
}
