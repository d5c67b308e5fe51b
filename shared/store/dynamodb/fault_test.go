package dynamodb_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"prowgate/infra/wire"
	"prowgate/shared/fault"
	"prowgate/shared/store"
	"prowgate/shared/store/dynamodb"
)

func day(n int) time.Time { return time.Date(2026, 11, 1+n, 0, 0, 0, 0, time.UTC) }

// transport answers every request with one status and body, or fails it.
type transport struct {
	status int
	body   string
	err    error
	calls  int
}

func (tr *transport) Do(r *http.Request) (*http.Response, error) {
	tr.calls++
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	if tr.err != nil {
		return nil, tr.err
	}
	return &http.Response{
		StatusCode: tr.status, Body: io.NopCloser(strings.NewReader(tr.body)), Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

// The codes of this service, and each call at both moments; package awsfault has the rest of the rule.
func TestKindsOfFailure(t *testing.T) {
	code := func(name string) string {
		return `{"__type":"com.amazonaws.dynamodb.v20120810#` + name + `","message":"no"}`
	}
	for _, c := range []struct {
		name        string
		tr          transport
		read, write fault.Kind
	}{
		{"refused connection", transport{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, fault.NothingHappened, fault.NothingHappened},
		{"too much", transport{status: 400, body: code("ProvisionedThroughputExceededException")}, fault.NothingHappened, fault.NothingHappened},
		{"in a transaction", transport{status: 400, body: code("TransactionConflictException")}, fault.NothingHappened, fault.NothingHappened},
		{"in another region", transport{status: 400, body: code("ReplicatedWriteConflictException")}, fault.NothingHappened, fault.NothingHappened},
		{"condition", transport{status: 400, body: code("ConditionalCheckFailedException")}, fault.NothingHappened, fault.Conflict},
		{"no such table", transport{status: 400, body: code("ResourceNotFoundException")}, fault.Refused, fault.Refused},
		{"reset", transport{err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}, fault.NothingHappened, fault.MayHaveHappened},
		{"unavailable", transport{status: 503}, fault.NothingHappened, fault.MayHaveHappened},
	} {
		tr := c.tr
		cfg := config("127.0.0.1:1")
		cfg.HTTPClient = &tr
		s := dynamodb.New(cfg, "t")
		_, _, loaded := s.Load(t.Context(), "k")
		_, listed := s.List(t.Context(), "", "", 1)
		_, saved := s.Save(t.Context(), store.Entry{Key: "k"})
		deleted := s.Delete(t.Context(), "k", "v")
		for op, got := range map[string]struct {
			err  error
			want fault.Kind
		}{"load": {loaded, c.read}, "list": {listed, c.read}, "save": {saved, c.write}, "delete": {deleted, c.write}} {
			if !fault.Is(got.err, got.want) {
				t.Errorf("%s: %s: %v (%v), want %v", c.name, op, got.err, fault.KindOf(got.err), got.want)
			}
			if c.tr.err != nil && !errors.Is(got.err, c.tr.err) {
				t.Errorf("%s: %s: the cause is lost in %v", c.name, op, got.err)
			}
		}
		if tr.calls != 4 {
			t.Errorf("%s: %d requests, want one a call", c.name, tr.calls)
		}
	}
}

// losing drops the answer of a request that the server has carried out.
type losing struct{ inner http.RoundTripper }

func (l losing) Do(r *http.Request) (*http.Response, error) {
	res, err := l.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	return nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
}

// A write is done and its answer is lost: the error leaves it open, and nothing repeats the write.
func TestDoneButTheAnswerIsLost(t *testing.T) {
	cfg := config(wire.Start(t, "dynamodb.mjs"))
	create(t, awsdb.NewFromConfig(cfg), "records")
	good := dynamodb.New(cfg, "records")
	cfg.HTTPClient = losing{http.DefaultTransport}
	bad := dynamodb.New(cfg, "records")
	if _, err := bad.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`1`)}); !fault.Is(err, fault.MayHaveHappened) {
		t.Errorf("save: %v", err)
	}
	e, ok, err := good.Load(t.Context(), "k")
	if err != nil || !ok || string(e.Body) != `1` {
		t.Fatalf("stored %t %s, %v", ok, e.Body, err)
	}
	if err := bad.Delete(t.Context(), "k", e.Version); !fault.Is(err, fault.MayHaveHappened) {
		t.Errorf("delete: %v", err)
	}
	if _, ok, err := good.Load(t.Context(), "k"); ok || err != nil {
		t.Errorf("still there: %t, %v", ok, err)
	}
}

// An item that the index still names, but that has changed, is judged by what it is now.
func TestLaggingIndex(t *testing.T) {
	index := `{"Count":3,"Items":[{"pk":{"S":"record"},"sk":{"S":"gone"},"due":{"N":"1"}},` +
		`{"pk":{"S":"record"},"sk":{"S":"later"},"due":{"N":"1"}},{"pk":{"S":"record"},"sk":{"S":"due"},"due":{"N":"1"}}]}`
	cfg := config("127.0.0.1:1")
	cfg.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		answer := index
		switch {
		case strings.Contains(string(body), `"later"`):
			answer = `{"Item":{"pk":{"S":"record"},"sk":{"S":"later"},"version":{"S":"v"},"due":{"N":"9000000000000000"}}}`
		case strings.Contains(string(body), `"due"`) && !strings.Contains(string(body), "IndexName"):
			answer = `{"Item":{"pk":{"S":"record"},"sk":{"S":"due"},"version":{"S":"v"},"due":{"N":"2"}}}`
		case strings.Contains(string(body), `"gone"`):
			answer = `{}`
		}
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(answer)), Request: r, Header: http.Header{}}, err
	})
	due, err := dynamodb.New(cfg, "t").Due(t.Context(), day(0), 10)
	if err != nil || len(due) != 1 || due[0].Key != "due" || !due[0].Due.Equal(time.UnixMicro(2)) {
		t.Errorf("due: %+v, %v", due, err)
	}
}

// An item of somebody else's holds up none of the others, and who asks for it is told.
func TestForeignItemIsPassedOver(t *testing.T) {
	cfg := config(wire.Start(t, "dynamodb.mjs"))
	api := awsdb.NewFromConfig(cfg)
	create(t, api, "records")
	put := func(key, attribute string, value types.AttributeValue) {
		_, err := api.PutItem(t.Context(), &awsdb.PutItemInput{TableName: aws.String("records"), Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "record"}, "sk": &types.AttributeValueMemberS{Value: key},
			"due": &types.AttributeValueMemberN{Value: "1"}, "version": &types.AttributeValueMemberS{Value: "v"}, attribute: value,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("garbage", "gzip", &types.AttributeValueMemberB{Value: []byte("no gzip")})
	put("edited", "body", &types.AttributeValueMemberS{Value: "text, edited by hand"})
	put("unversioned", "version", &types.AttributeValueMemberN{Value: "1"})
	put("fraction", "due", &types.AttributeValueMemberN{Value: "1.5"})
	s := dynamodb.New(cfg, "records")
	if _, err := s.Save(t.Context(), store.Entry{Key: "k", Due: day(0), Body: []byte(`1`)}); err != nil {
		t.Fatal(err)
	}
	due, err := s.Due(t.Context(), day(0), 10)
	if err != nil || len(due) != 1 || due[0].Key != "k" {
		t.Errorf("due: %+v, %v", due, err)
	}
	list, err := s.List(t.Context(), "", "", 1)
	if err != nil || len(list) != 1 || list[0].Key != "k" {
		t.Errorf("list: %+v, %v", list, err)
	}
	for _, key := range []string{"garbage", "edited", "unversioned", "fraction"} {
		if _, _, err := s.Load(t.Context(), key); !fault.Is(err, fault.NothingHappened) {
			t.Errorf("load %s: %v", key, err)
		}
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

var _ aws.HTTPClient = doer(nil)
