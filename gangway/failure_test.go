package gangway

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"prowgate/shared/fault"
)

// Faults before the request left: it surely did nothing.

func TestCreateNotSent(t *testing.T) {
	dial := func(err error) http.RoundTripper {
		return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, err }}
	}
	fail := func(err error) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) { return nil, err })
	}
	tests := map[string]http.RoundTripper{
		"DNS":                     dial(&net.DNSError{Err: "no such host", Name: "gangway.invalid", IsNotFound: true}),
		"dial time-out":           dial(&net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}),
		"any error while dialing": dial(errors.New("proxy said no")),
		"refused, untraced":       fail(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}),
		"DNS, untraced":           fail(&net.DNSError{Err: "no such host"}),
		"certificate, untraced":   fail(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}),
	}
	for name, transport := range tests {
		t.Run(name, func(t *testing.T) {
			c := configOf(t, "http://gangway.invalid")
			c.Transport = transport
			_, err := NewClient(c).Create(t.Context(), aSubmission())
			wantFault(t, err, fault.NothingHappened, "create execution: not sent: ")
		})
	}
}

func TestCreateConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := configOf(t, "http://"+l.Addr().String())
	_ = l.Close()
	_, err = NewClient(c).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.NothingHappened, "connection refused")
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error("the cause is lost")
	}
}

func TestCreateHandshakeFails(t *testing.T) {
	t.Run("unknown authority", func(t *testing.T) {
		s := httptest.NewUnstartedServer(answer(200, "application/json", `{"id":"x"}`))
		s.Config.ErrorLog = nopLog()
		s.StartTLS()
		defer s.Close()
		_, err := NewClient(configOf(t, s.URL)).Create(t.Context(), aSubmission())
		wantFault(t, err, fault.NothingHappened, "certificate")
	})
	t.Run("hang-up", func(t *testing.T) {
		base := hangUp(t)
		_, err := NewClient(configOf(t, "https://"+base)).Create(t.Context(), aSubmission())
		wantFault(t, err, fault.NothingHappened, "not sent")
	})
}

func TestCreateDeadlineWhileDialing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := configOf(t, "http://gangway.invalid")
	c.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	_, err := NewClient(c).Create(ctx, aSubmission())
	wantFault(t, err, fault.NothingHappened, "the call was given up")
}

func TestCreateWithoutTime(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	_, err := NewClient(configOf(t, "http://gangway.invalid")).Create(ctx, aSubmission())
	wantFault(t, err, fault.NothingHappened, "the time was up")
}

func TestCreateWithoutToken(t *testing.T) {
	var asked atomic.Int32
	c := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	c.Token = func(context.Context) (string, error) { return "", errors.New("vault sealed") }
	_, err := NewClient(c).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.NothingHappened, "no token vault sealed")
	c.Token = func(context.Context) (string, error) { return secretToken + "\r\nX-Evil: 1", nil }
	_, err = NewClient(c).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.Refused, "the token holds characters")
	if asked.Load() != 0 {
		t.Error("a request was sent")
	}
}

// Faults after the request left: it may have done its work.

func TestCreateAnswerLost(t *testing.T) {
	tests := map[string]func(t *testing.T, conn *net.TCPConn){
		"EOF":      func(*testing.T, *net.TCPConn) {},
		"reset":    func(t *testing.T, conn *net.TCPConn) { check(t, conn.SetLinger(0)) },
		"cut head": func(t *testing.T, conn *net.TCPConn) { write(t, conn, "HTTP/1.1 200 O") },
		"no HTTP":  func(t *testing.T, conn *net.TCPConn) { write(t, conn, "SSH-2.0-x\r\n\r\n") },
		"cut body": func(t *testing.T, conn *net.TCPConn) {
			write(t, conn, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"id\":\"a\"}")
		},
		"cut chunk": func(t *testing.T, conn *net.TCPConn) {
			write(t, conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id")
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			var posts atomic.Int32
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				posts.Add(1)
				hijack(t, w, end)
			})
			_, err := NewClient(c).Create(t.Context(), aSubmission())
			wantFault(t, err, fault.MayHaveHappened, "create execution: ")
			if n := posts.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestCreateDeadlineAfterSending(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	_, err := NewClient(c).Create(ctx, aSubmission())
	wantFault(t, err, fault.MayHaveHappened, "the call was given up")
}

// Done, but reported as a failure that by itself would mean that nothing was sent.
func TestCreateDoneButReportedAsRefused(t *testing.T) {
	var posts atomic.Int32
	c := serve(t, func(http.ResponseWriter, *http.Request) { posts.Add(1) })
	inner := c.Transport
	c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := inner.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	})
	_, err := NewClient(c).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.MayHaveHappened, "no usable answer")
	if posts.Load() != 1 {
		t.Error("the request did not arrive")
	}
}

func TestCreateUnknownTransportError(t *testing.T) {
	c := configOf(t, "http://gangway.invalid")
	c.Transport = roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("strange") })
	_, err := NewClient(c).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.MayHaveHappened, "strange")
}

// A kept connection that dies under a POST must not make the transport send it again by itself.
func TestCreateOnDyingConnection(t *testing.T) {
	var posts atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if posts.Add(1) == 1 {
			answer(200, "application/json", `{"id":"a"}`)(w, r)
			return
		}
		hijack(t, w, func(*testing.T, *net.TCPConn) {})
	})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c.Transport = transport
	client := NewClient(c)
	if _, err := client.Create(t.Context(), aSubmission()); err != nil {
		t.Fatal(err)
	}
	_, err := client.Create(t.Context(), aSubmission())
	wantFault(t, err, fault.MayHaveHappened, "no usable answer")
	if n := posts.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// Answers.

func TestCreateAnswers(t *testing.T) {
	const js, html = "application/json", "text/html; charset=utf-8"
	login := "<!DOCTYPE html><html>Log in with OpenShift " + secretToken + "</html>"
	tests := []struct {
		name       string
		status     int
		kind, body string
		want       fault.Kind
		text       string
	}{
		{"no id", 200, js, `{}`, fault.MayHaveHappened, "no execution id"},
		{"empty", 200, js, ``, fault.MayHaveHappened, "JSON"},
		{"no content", 204, js, ``, fault.MayHaveHappened, "JSON"},
		{"id of another form", 200, js, `{"id":"../x"}`, fault.MayHaveHappened, "no execution id"},
		{"only dots", 200, js, `{"id":".."}`, fault.MayHaveHappened, "no execution id"},
		{"cut JSON", 200, js, `{"id":"a"`, fault.MayHaveHappened, "JSON"},
		{"wrong type", 200, js, `{"id":{}}`, fault.MayHaveHappened, "JSON"},
		{"login page", 200, html, login, fault.MayHaveHappened, "login page"},
		{"login page as text", 200, "text/plain", "\n " + login, fault.MayHaveHappened, "login page"},
		{"too large", 200, js, `{"id":"a","x":"` + strings.Repeat("x", maxAnswer) + `"}`, fault.MayHaveHappened, "too large"},
		{"bad request", 400, js, `{"code":3,"message":"invalid label: ` + secretToken + `"}`, fault.Refused, "HTTP 400: invalid label: (token)"},
		{"escaped echo", 400, js, `{"message":"bad \u0073` + secretToken[1:] + `"}`, fault.Refused, "HTTP 400: bad (token)"},
		{"unauthorized", 401, js, `{"message":"who?"}`, fault.Refused, "HTTP 401: who?"},
		{"forbidden page", 403, html, login, fault.Refused, "HTTP 403: an HTML page"},
		{"forbidden", 403, js, `{"code":7,"message":"client is not authorized"}`, fault.Refused, "not authorized"},
		{"no such path", 404, "text/plain", "404 page not found\n", fault.Refused, "HTTP 404: 404 page not found"},
		{"request time-out", 408, "text/plain", "", fault.MayHaveHappened, "HTTP 408: no text"},
		{"conflict", 409, js, `{}`, fault.Refused, "HTTP 409"},
		{"too early", 425, js, ``, fault.NothingHappened, "HTTP 425"},
		{"rate limit", 429, html, "<html><center>nginx</center></html>", fault.NothingHappened, "HTTP 429"},
		{"client gone", 499, js, ``, fault.MayHaveHappened, "HTTP 499"},
		{"unknown job", 500, js, `{"code":2,"message":"failed to find associated periodic job \"x\"","details":[]}`, fault.Refused, "failed to find"},
		{"wrong branch", 500, js, `{"code":2,"message":"failed to find associated postsubmit job \"x\" from orgRepo \"a/b\""}`, fault.Refused, "orgRepo"},
		{"two jobs", 500, js, `{"message":"x matches multiple prow jobs from orgRepo \"a/b\""}`, fault.Refused, "multiple"},
		{"bad label key", 500, js, `{"message":"ProwJob.prow.k8s.io \"u\" is invalid: metadata.labels: Invalid value"}`, fault.Refused, "metadata.labels"},
		{"refusal in a page", 500, html, "<html>failed to find associated ", fault.MayHaveHappened, "HTML page"},
		{"refusal as text", 500, "text/plain", "failed to find associated periodic job", fault.MayHaveHappened, "failed to find"},
		{"refusal with 502", 502, js, `{"message":"failed to find associated periodic job"}`, fault.MayHaveHappened, "HTTP 502"},
		{"server error", 500, js, `{"code":2,"message":"etcdserver: request timed out"}`, fault.MayHaveHappened, "etcdserver"},
		{"bad gateway", 502, html, login, fault.MayHaveHappened, "HTTP 502"},
		{"unavailable", 503, js, `{"code":14,"message":"no healthy upstream"}`, fault.MayHaveHappened, "HTTP 503"},
		{"gateway time-out", 504, html, login, fault.MayHaveHappened, "HTTP 504"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewClient(serve(t, answer(tt.status, tt.kind, tt.body))).Create(t.Context(), aSubmission())
			wantFault(t, err, tt.want, tt.text)
		})
	}
}

func TestRetryAfter(t *testing.T) {
	tests := map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "7": 7 * time.Second, "999999999999": maxRetryAfter,
		aNow().Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		aNow().Add(-time.Hour).Format(http.TimeFormat):       0,
		aNow().AddDate(200, 0, 0).Format(http.TimeFormat):    maxRetryAfter,
	}
	for value, want := range tests {
		for _, status := range []int{429, 503} {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", value)
				w.WriteHeader(status)
			})
			_, err := NewClient(c).Create(t.Context(), aSubmission())
			if got := fault.RetryAfter(err); got != want {
				t.Errorf("Retry-After %q with %d: %v, want %v", value, status, got, want)
			}
		}
	}
	if got := retryAfter(aNow().Format(http.TimeFormat), nil); got != 0 {
		t.Errorf("a date without a clock: %v", got)
	}
}

func TestTokenGoesNowhereElse(t *testing.T) {
	var strangers atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var posts atomic.Int32
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+secretToken {
				t.Errorf("%s without the token", r.URL)
			}
			target := other.URL + "/oauth?session=private"
			if posts.Add(1) > 1 {
				target = "/here"
			}
			http.Redirect(w, r, target, status)
		})
		client := NewClient(c)
		_, err := client.Create(t.Context(), aSubmission())
		wantFault(t, err, fault.MayHaveHappened, "a redirect to "+strings.TrimPrefix(other.URL, "http://"))
		if strings.Contains(err.Error(), "private") {
			t.Error("the session is in the error")
		}
		_, err = client.Get(t.Context(), "a")
		wantFault(t, err, fault.MayHaveHappened, "not followed")
		if n := posts.Load(); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	}
	if strangers.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestReadersSendNoToken(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s carries the token", r.URL)
		}
		answer(200, "application/json", `{"items":[]}`)(w, r)
	})
	deck, artifacts := NewDeck(c), NewArtifacts(c)
	_, _, _ = deck.Job(t.Context(), "a")
	_, err := deck.Jobs(t.Context(), nil)
	check(t, err)
	_, err = artifacts.List(t.Context(), aJobURL)
	check(t, err)
}

func FuzzServerMessage(f *testing.F) {
	for _, s := range []string{`{"message":"a"}`, `{"message":"\u0000\n"}`, "<html>", "", "\xff\xfe", strings.Repeat("é", 400)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		text, _ := serverMessage(&http.Response{StatusCode: 500, Header: http.Header{}}, []byte(body), secretToken)
		if len([]rune(text)) > 303 || strings.ContainsAny(text, "\n\r\x00\x1b") {
			t.Errorf("%q", text)
		}
	})
}
