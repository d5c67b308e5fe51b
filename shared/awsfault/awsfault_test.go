package awsfault

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"prowgate/shared/fault"
)

const limit = 10 * time.Second

func service() Service {
	return Service{Conflict: []string{"Beaten"}, NotDone: []string{"Busy"}, Texts: map[string]string{"Beaten": "somebody was first"}}
}

// answer is a transport that answers every request alike, or fails it.
type answer struct {
	status int
	body   string
	err    error
}

func (a answer) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{
		StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "Retry-After": {"7"}},
	}, nil
}

func code(name string) string { return `{"__type":"com.amazonaws.sqs#` + name + `","message":"no"}` }

func static() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("id", "key", "")
}

// client is one of the SDK's, as the adapters use them.
func client(doer aws.HTTPClient, from aws.CredentialsProvider, address string) *sqs.Client {
	cfg := aws.Config{Region: "eu-west-1", Credentials: from, BaseEndpoint: &address, HTTPClient: doer}
	return sqs.NewFromConfig(cfg, func(o *sqs.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = Watch(o.HTTPClient)
	})
}

// send is a call that changes something, through the SDK.
func send(c *sqs.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String("http://h/1/q"), MessageBody: aws.String("x")})
		return err
	}
}

// Before the work: no credentials, no connection, a refusal, too much at once. After it: the answer is lost, cut
// off, or says that the server broke.
func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		answer
		want fault.Kind
		text string
	}{
		"refused connection": {answer{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, fault.NothingHappened, "dial: connection refused"},
		"no such host":       {answer{err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}}, fault.NothingHappened, "no such host"},
		"reset":              {answer{err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}, fault.MayHaveHappened, "read: connection reset by peer"},
		"time-out":           {answer{err: context.DeadlineExceeded}, fault.MayHaveHappened, "the time was up"},
		"throttled":          {answer{status: 400, body: code("ThrottlingException")}, fault.NothingHappened, "ThrottlingException: no"},
		"throttled by name":  {answer{status: 400, body: code("RequestThrottled")}, fault.NothingHappened, "RequestThrottled: no"},
		"throttled with 503": {answer{status: 503, body: code("SlowDown")}, fault.NothingHappened, "SlowDown: no"},
		"too many":           {answer{status: 429}, fault.NothingHappened, ""},
		"busy":               {answer{status: 400, body: code("Busy")}, fault.NothingHappened, "Busy: no"},
		"beaten":             {answer{status: 400, body: code("Beaten")}, fault.Conflict, "somebody was first"},
		"token run out":      {answer{status: 403, body: code("ExpiredTokenException")}, fault.NothingHappened, "ExpiredTokenException: no"},
		"clock wrong":        {answer{status: 403, body: code("RequestTimeTooSkewed")}, fault.NothingHappened, "RequestTimeTooSkewed: no"},
		"no right":           {answer{status: 403, body: code("AccessDeniedException")}, fault.Refused, "AccessDeniedException: no"},
		"not there":          {answer{status: 400, body: code("QueueDoesNotExist")}, fault.Refused, "QueueDoesNotExist: no"},
		"request time-out":   {answer{status: 408}, fault.MayHaveHappened, ""},
		"server error":       {answer{status: 500, body: code("InternalFailure")}, fault.MayHaveHappened, "InternalFailure: no"},
		"unavailable":        {answer{status: 503}, fault.MayHaveHappened, ""},
		"a proxy's page":     {answer{status: 502, body: "<html>"}, fault.MayHaveHappened, ""},
		"cut off":            {answer{status: 200, body: `{"MessageId":`}, fault.MayHaveHappened, "HTTP 200 with an answer that cannot be read: unexpected end of JSON input"},
	} {
		err := service().Call(t.Context(), "send", "q", limit, send(client(c.answer, static(), "http://h")))
		if !fault.Is(err, c.want) || !strings.HasPrefix(err.Error(), "send: q: ") || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v (%v), want %v with %q", name, err, fault.KindOf(err), c.want, c.text)
		}
		if c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: the cause is lost in %v", name, err)
		}
		read := c.want
		if read != fault.Refused {
			read = fault.NothingHappened
		}
		if err := service().Read(t.Context(), "receive", limit, send(client(c.answer, static(), "http://h"))); !fault.Is(err, read) {
			t.Errorf("%s: a read: %v (%v), want %v", name, err, fault.KindOf(err), read)
		}
	}
}

// A service that could not check a signature may repeat the request, the session's token in it.
func TestTextsHoldNoToken(t *testing.T) {
	for _, body := range []string{
		`{"__type":"InvalidSignatureException","message":"The Canonical String for this request should have been\n'POST\nx-amz-security-token:hush-hush\n'"}`,
		`{"__type":"AccessDenied","message":"x-amz-security-token:hush-hush is not good"}`,
		`{"__type":"ValidationException","message":"` + strings.Repeat("no ", 200) + `hush-hush"}`,
	} {
		err := service().Call(t.Context(), "send", "q", limit, send(client(answer{status: 403, body: body}, static(), "http://h")))
		if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%v", err)
		}
	}
}

// Without credentials nothing is sent, whatever it was that asking for them met.
func TestNoCredentials(t *testing.T) {
	for _, cause := range []error{errors.New("no role"), &net.OpError{Op: "read", Err: syscall.ECONNRESET}, context.DeadlineExceeded} {
		none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, cause })
		unused := answer{err: errors.New("sent all the same")}
		err := service().Call(t.Context(), "send", "", limit, send(client(unused, none, "http://h")))
		if !fault.Is(err, fault.NothingHappened) || !errors.Is(err, cause) || strings.Contains(err.Error(), "all the same") {
			t.Errorf("%v: %v (%v)", cause, err, fault.KindOf(err))
		}
	}
}

// Over real connections: nobody listens, and a server that takes the request and leaves.
func TestConnections(t *testing.T) {
	leaving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	}))
	defer leaving.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for address, want := range map[string]fault.Kind{leaving.URL: fault.MayHaveHappened, gone.URL: fault.NothingHappened} {
		err := service().Call(t.Context(), "send", "", limit, send(client(http.DefaultClient, static(), address)))
		if !fault.Is(err, want) || strings.Contains(err.Error(), address) {
			t.Errorf("%v (%v), want %v", err, fault.KindOf(err), want)
		}
	}
}

// A body that the SDK has closed ends well for a transport that looks for more only then; with an error, net/http
// would close the connection under an answer that is still being read.
func TestBodyEndsWellOnceClosed(t *testing.T) {
	var body io.Reader
	early := doer(func(r *http.Request) (*http.Response, error) {
		body = r.Body
		return answer{status: 200, body: `{}`}.Do(r)
	})
	if err := service().Call(t.Context(), "send", "", limit, send(client(early, static(), "http://h"))); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); n != 0 || err != nil {
		t.Errorf("%d more bytes and %v", n, err)
	}
}

// A server that never answers holds no call for longer than its limit.
func TestOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		silent := doer(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		err := service().Call(t.Context(), "send", "", limit, send(client(silent, static(), "http://h")))
		if !fault.Is(err, fault.MayHaveHappened) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != limit {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// A call whose context has ended makes no request, and an error that has a kind keeps it.
func TestCallItself(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asked := func(context.Context) error { t.Error("called"); return nil }
	if err := service().Call(ctx, "send", "", limit, asked); !fault.Is(err, fault.NothingHappened) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	known := &fault.Error{Kind: fault.Conflict}
	if err := service().Call(t.Context(), "send", "", limit, func(context.Context) error { return known }); !errors.Is(err, known) {
		t.Errorf("got %v", err)
	}
	// An answer that came by another way than HTTP is an answer too.
	coded := func(context.Context) error { return &smithy.GenericAPIError{Code: "InternalFailure"} }
	if err := service().Call(t.Context(), "send", "", limit, coded); !fault.Is(err, fault.MayHaveHappened) {
		t.Errorf("got %v", err)
	}
}
