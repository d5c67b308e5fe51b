package dynamodb_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"prowgate/infra/wire"
	"prowgate/shared/fault"
	"prowgate/shared/store"
	"prowgate/shared/store/dynamodb"
	"prowgate/shared/store/storetest"
)

func config(address string) aws.Config {
	return aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""),
		BaseEndpoint: aws.String("http://" + address),
	}
}

// shielded carries a request to its end although its caller has left: the server of these tests dies of a
// request that is broken off. The caller cannot tell, and its write takes effect, as it may anywhere.
type shielded struct {
	inner http.RoundTripper
	base  func() context.Context // without the caller's trace, which would tell of a request that the caller has left
}

func (s shielded) Do(r *http.Request) (*http.Response, error) {
	type answer struct {
		res *http.Response
		err error
	}
	body, err := io.ReadAll(r.Body) // the SDK closes it when its caller leaves
	if err != nil {
		return nil, err
	}
	done := make(chan answer, 1)
	whole := r.Clone(context.WithoutCancel(s.base()))
	whole.Body = io.NopCloser(bytes.NewReader(body))
	go func() {
		res, err := s.inner.RoundTrip(whole)
		done <- answer{res, err}
	}()
	select {
	case a := <-done:
		return a.res, a.err
	case <-r.Context().Done():
		go func() { discard((<-done).res) }()
		return nil, r.Context().Err()
	}
}

func discard(res *http.Response) {
	if res != nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// tables makes one new table after another, as the template describes it.
func tables(tb testing.TB) (next func(tb testing.TB) *dynamodb.Store) {
	tb.Helper()
	cfg := config(wire.Start(tb, "dynamodb.mjs"))
	cfg.HTTPClient = shielded{&http.Transport{MaxIdleConnsPerHost: 32}, tb.Context}
	admin := awsdb.NewFromConfig(cfg)
	var made atomic.Int64
	return func(tb testing.TB) *dynamodb.Store {
		tb.Helper()
		name := fmt.Sprint("records-", made.Add(1))
		create(tb, admin, name)
		return dynamodb.New(cfg, name)
	}
}

// create makes a table and waits until it takes requests.
func create(tb testing.TB, admin *awsdb.Client, name string) {
	tb.Helper()
	if _, err := admin.CreateTable(tb.Context(), definition(name)); err != nil {
		tb.Fatal(err)
	}
	for range 1000 {
		out, err := admin.DescribeTable(tb.Context(), &awsdb.DescribeTableInput{TableName: &name})
		if err != nil {
			tb.Fatal(err)
		}
		if out.Table.TableStatus == types.TableStatusActive {
			return
		}
	}
	tb.Fatalf("table %s does not become active", name)
}

func definition(name string) *awsdb.CreateTableInput {
	key := func(sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
		}
	}
	attribute := func(name string, t types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: t}
	}
	return &awsdb.CreateTableInput{
		TableName: aws.String(name), KeySchema: key("sk"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("pk", "S"), attribute("sk", "S"), attribute("due", "N")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(dynamodb.DueIndex), KeySchema: key("due"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
}

func TestStore(t *testing.T) {
	next := tables(t)
	storetest.Run(t, func(t *testing.T) store.Store { return next(t) })
}

func BenchmarkStore(b *testing.B) {
	next := tables(b)
	storetest.Bench(b, func(b *testing.B) store.Store { return next(b) })
}

// What no compression makes fit is refused before anything is sent, and what fits is not.
func TestBodyThatDoesNotFit(t *testing.T) {
	s := tables(t)(t)
	noise := make([]byte, 512<<10)
	random := rand.New(rand.NewSource(1)) //nolint:gosec // no secret
	for i := range noise {
		noise[i] = byte(random.Intn(256))
	}
	if _, err := s.Save(t.Context(), store.Entry{Key: "k", Body: noise}); !fault.Is(err, fault.Refused) {
		t.Errorf("512 KiB of noise: %v", err)
	}
	if _, ok, err := s.Load(t.Context(), "k"); ok || err != nil {
		t.Errorf("after the refusal: found %t, %v", ok, err)
	}
	if _, err := s.Save(t.Context(), store.Entry{Key: "k", Body: noise[:398<<10]}); err != nil {
		t.Errorf("398 KiB of noise: %v", err)
	}
}

// More due entries than a page holds.
func TestDueOverPages(t *testing.T) {
	s := tables(t)(t)
	body := make([]byte, 300<<10)         // noise: 4 of them are more than the 1 MiB of a page
	random := rand.New(rand.NewSource(1)) //nolint:gosec // no secret
	for i := range body {
		body[i] = byte(random.Intn(256))
	}
	for i := range 6 {
		if _, err := s.Save(t.Context(), store.Entry{Key: fmt.Sprint("k", i), Due: day(i), Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context(), "k", "", 5)
	if err != nil || len(list) != 5 || list[4].Key != "k4" {
		t.Errorf("%d entries, %v", len(list), err)
	}
	due, err := s.Due(t.Context(), day(4), 100)
	if err != nil || len(due) != 5 || due[4].Key != "k4" || len(due[4].Body) != len(body) {
		t.Errorf("%d entries are due, %v", len(due), err)
	}
}
