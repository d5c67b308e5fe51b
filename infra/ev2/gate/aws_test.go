package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"prowgate/infra/aws/lambdatest"
	"prowgate/infra/ev2/gate/onaws/signaturetest"
	"prowgate/infra/wire"
	"prowgate/shared/gate"
	"prowgate/shared/queue/sqs"
	"prowgate/shared/store"
	"prowgate/shared/store/dynamodb"
)

// cloud is what a step sees of the service on AWS: queues of somebody else's making, and the real program behind
// a function's URL that lets in only whom the key signs for. The test plays the other functions.
type cloud struct {
	t       *testing.T
	queues  *sqs.Queues
	records *dynamodb.Store
	url     string // of the queues
	face    string // the function's URL
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
	t.Setenv("AWS_SESSION_TOKEN", "")
	queueHost, tableHost := "http://"+wire.Start(t, "sqs.mjs"), "http://"+wire.Start(t, "dynamodb.mjs")
	t.Setenv("AWS_ENDPOINT_URL_SQS", queueHost) // the queues' own URLs name a host that only their server knows
	cfg := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""), BaseEndpoint: &queueHost}
	c := &cloud{t: t}
	for _, name := range []string{"gate-submit", "gate-cancel"} {
		out, err := awssqs.NewFromConfig(cfg).CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			t.Fatal(err)
		}
		c.url = "sqs:" + strings.TrimSuffix(aws.ToString(out.QueueUrl), "/"+name)
	}
	var err error
	if c.queues, err = sqs.Open(cfg, c.url, time.Now); err != nil {
		t.Fatal(err)
	}
	cfg.BaseEndpoint = &tableHost
	createTable(t, awsdb.NewFromConfig(cfg))
	c.records = dynamodb.New(cfg, "records")
	exe, err := function()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	c.face = functionURL(t, lambdatest.New(t, exe, []string{
		"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL_DYNAMODB=" + tableHost, "QUEUE_URL=" + c.url, "STORE_URL=dynamodb:records",
	}, t.Output()))
	return c
}

// function builds the program of the Lambda functions, once.
var function = sync.OnceValues(func() (string, error) {
	name, err := binary()
	if err != nil {
		return "", err
	}
	exe := filepath.Join(filepath.Dir(name), "bootstrap")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-tags", "lambda.norpc,grpcnotrace", "-o", exe, "prowgate/functions/lambda")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return exe, nil
})

func createTable(t *testing.T, api *awsdb.Client) {
	t.Helper()
	_, err := api.CreateTable(t.Context(), &awsdb.CreateTableInput{
		TableName: aws.String("records"), BillingMode: dbtypes.BillingModePayPerRequest,
		KeySchema:            []dbtypes.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}, {AttributeName: aws.String("sk"), KeyType: "RANGE"}},
		AttributeDefinitions: []dbtypes.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "S"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// functionURL serves a function behind a URL, as Lambda does with IAM.
func functionURL(t *testing.T, f *lambdatest.Function) string {
	t.Helper()
	key := signaturetest.Key{ID: "id", Secret: "key", Region: "eu-west-1", Service: "lambda", Clock: time.Now}
	s := httptest.NewServer(key.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event := fmt.Sprintf(`{"version":"2.0","rawPath":%q,"requestContext":{"http":{"method":%q}}}`, r.URL.EscapedPath(), r.Method)
		raw, err := f.Invoke(r.Context(), []byte(event), limit)
		var answer struct {
			StatusCode int
			Headers    map[string]string
			Body       string
		}
		if err != nil || json.Unmarshal(raw, &answer) != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		for name, value := range answer.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = io.WriteString(w, answer.Body)
	})))
	t.Cleanup(s.Close)
	return s.URL
}

// next takes the next message of a queue.
func (c *cloud) next(name string) []byte {
	c.t.Helper()
	d, ok, err := c.queues.Receive(c.t.Context(), name, "", 20*time.Second)
	if err == nil && ok {
		err = c.queues.Complete(c.t.Context(), name, d)
	}
	if err != nil || !ok {
		c.t.Fatalf("nothing in %s: %v", name, err)
	}
	return d.Body
}

// put stores a gate as the functions do.
func (c *cloud) put(r gate.Record) {
	c.t.Helper()
	before, _, err := c.records.Load(c.t.Context(), r.Key())
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := r.Encode()
	if err == nil {
		_, err = c.records.Save(c.t.Context(), store.Entry{Key: r.Key(), Version: before.Version, Body: body})
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func running(events ...string) gate.Record {
	r := gate.Record{GateID: "g", Phase: gate.PhaseRunning, Gating: gate.Gating{GateID: "g", JobName: "job"}}
	for i, e := range events {
		r.Timeline = append(r.Timeline, gate.Moment{At: time.Unix(int64(i), 0).UTC(), Event: "state", Text: e})
	}
	return r
}

func ended(n gate.Notice) gate.Record {
	r := running("pending", "ended")
	n.Kind, n.GateID, n.JobName, n.SentAt = gate.KindCompletion, "g", "job", time.Now().UTC()
	r.Phase, r.Verdict, r.Sent = gate.PhaseDone, &n, true
	return r
}

func (c *cloud) start(more ...string) *process {
	return start(c.t, c.url, runArgs(append([]string{"--status-url", c.face, "--status-interval", "100ms"}, more...)...)...)
}

// The step reads its gate at the status face; the verdict stays there, for a step that is run again.
func TestVerdictOnAWS(t *testing.T) {
	c := newCloud(t)
	p := c.start("--gate-promotion", "--allow-ev2-retry")
	if g, rejection, err := gate.ParseGating(c.next("gate-submit")); err != nil || rejection != nil || g.GateID != "g" {
		t.Fatalf("gating message %+v, %+v, %v", g, rejection, err)
	}
	c.put(running("pending"))
	p.waitFor("state: pending")
	c.put(ended(gate.Notice{Outcome: gate.Failed, Error: "the job failed", Retry: gate.KnownIssueEligible}))
	p.want(1)
	marker := gate.Marker(gate.KnownIssueEligible)
	want := "gate g did not pass: failed; job job\n" + marker + ": the job failed\n"
	if p.out.String() != want {
		t.Errorf("stdout %q, want %q", &p.out, want)
	}
	again := c.start("--gate-promotion", "--allow-ev2-retry")
	again.want(1)
	if again.out.String() != want {
		t.Errorf("the second time %q", &again.out)
	}
	status := start(t, c.url, "status", "--gate-id", "g", "--status-url", c.face)
	status.want(0)
	if !strings.Contains(status.out.String(), "failed") || gate.HasMarker(status.out.String()) {
		t.Errorf("status: %s", &status.out)
	}
}

func TestSIGTERMOnAWS(t *testing.T) {
	c := newCloud(t)
	p := c.start()
	c.next("gate-submit")
	c.put(running("pending"))
	p.waitFor("state: pending")
	p.signal(syscall.SIGTERM)
	if r, err := gate.ParseCancel(c.next("gate-cancel")); err != nil || r.GateID != "g" {
		t.Errorf("%+v, %v", r, err)
	}
	c.put(ended(gate.Notice{Outcome: gate.Cancelled, Error: "cancelled", Retry: gate.NotEligible, Abort: &gate.AbortReport{Outcome: gate.AbortDone}}))
	p.want(143)
	if !strings.Contains(p.out.String(), "abort: the job was aborted\n") {
		t.Errorf("stdout: %s", &p.out)
	}
}

// Who does not sign, or signs with another key, learns nothing and does not wait for hours.
func TestWrongSignatureOnAWS(t *testing.T) {
	c := newCloud(t)
	c.put(ended(gate.Notice{Outcome: gate.Succeeded, Passed: true, Retry: gate.NotEligible}))
	res, err := http.Get(c.face + "/api/gates/g/completion")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("not signed: %s", res.Status)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	p := c.start("--connect-timeout", "1s")
	p.want(3)
	if !strings.Contains(p.err.String(), "refuses to be read") || !strings.Contains(p.err.String(), "403") || p.out.Len() != 0 {
		t.Errorf("stdout %q, stderr %s", &p.out, &p.err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	nobody := c.start("--connect-timeout", "1s")
	nobody.want(3)
	if strings.Count(nobody.err.String(), "failed to get token") != 1 || !strings.Contains(nobody.err.String(), "nothing was submitted") {
		t.Errorf("stderr %s", &nobody.err)
	}
}
