package aws_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"prowgate/gangway/gangwaytest"
	"prowgate/infra/aws/lambdatest"
	"prowgate/infra/wire"
	"prowgate/shared/queue"
	"prowgate/shared/queue/sqs"
	"prowgate/shared/store/dynamodb"
)

// stage is the service as it is deployed, every part on this machine: the program behind five functions, the
// queues and the table of other people's making, and the stand-in for Prow.
type stage struct {
	exe    string
	world  *gangwaytest.World
	api    *awssqs.Client
	base   string // of the queues' URLs
	queues *sqs.Queues

	submit, poll, cancel, sweep, face *lambdatest.Function

	sources map[string]*lambdatest.Source
}

const speed = 10 // Prow's clock runs that much faster, and begins ten minutes behind ours: a job must not start in our future

func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{exe: filepath.Join(t.TempDir(), "bootstrap")}
	build(t, st.exe, "prowgate/functions/lambda")
	queueHost, tableHost := "http://"+wire.Start(t, "sqs.mjs"), "http://"+wire.Start(t, "dynamodb.mjs")
	cfg := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""), BaseEndpoint: &queueHost}
	st.api = awssqs.NewFromConfig(cfg)
	for _, q := range queuesOf(readTemplate(t)) {
		st.create(t, q)
	}
	var err error
	if st.queues, err = sqs.Open(cfg, "sqs:"+st.base, time.Now); err != nil {
		t.Fatal(err)
	}
	cfg.BaseEndpoint = &tableHost
	createTable(t, awsdb.NewFromConfig(cfg), "records")
	env := []string{
		"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key", "AWS_ENDPOINT_URL_SQS=" + queueHost,
		"AWS_ENDPOINT_URL_DYNAMODB=" + tableHost, "QUEUE_URL=sqs:" + st.base, "STORE_URL=dynamodb:records",
		"GANGWAY_RATE_PER_MINUTE=6000", "GANGWAY_BURST=100",
	}
	prow := st.prow(t)
	env = append(env, "GANGWAY_URL="+prow, "PROW_URL="+prow, "ARTIFACTS_URL="+prow)
	out := lines(t)
	for _, f := range []**lambdatest.Function{&st.submit, &st.poll, &st.cancel, &st.sweep, &st.face} {
		*f = lambdatest.New(t, st.exe, env, out)
	}
	return st
}

func build(t *testing.T, out, pkg string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc,grpcnotrace", "-ldflags", "-s -w -buildid=", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
}

// lines writes whole writes to the test's log, from many processes.
func lines(t *testing.T) *output { return &output{t: t} }

type output struct {
	t  *testing.T
	mu sync.Mutex
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.t.Output().Write(p)
}

// prow starts the stand-in, which kills the polling program as soon as it asks for certain things. By then
// all jobs are there: a POST of unclear result would be looked for for minutes.
func (st *stage) prow(t *testing.T) string {
	t.Helper()
	begun := time.Now()
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	var created, read int
	st.world = gangwaytest.New(gangwaytest.Options{
		Clock:   func() time.Time { return begun.Add(speed*time.Since(begun) - 10*time.Minute) },
		BaseURL: base, ScriptFor: gangwaytest.Demo(20 * time.Second),
		Interfere: func(c gangwaytest.Call) gangwaytest.Fault { // one at a time
			switch {
			case c.Endpoint == gangwaytest.Create:
				created++
			case c.Endpoint == gangwaytest.DeckJob && created == len(stories()):
				if read++; read == 4 || read == 7 {
					go st.poll.Kill()
				}
			case c.Endpoint == gangwaytest.BulkChange && c.N == 1:
				go st.cancel.Kill()
				go st.poll.Kill()
			}
			return gangwaytest.Fault{}
		},
	})
	server.Config.Handler = st.world
	server.Start()
	t.Cleanup(server.Close)
	return base
}

// create makes a queue and the one that its failed messages go to.
func (st *stage) create(t *testing.T, name string) {
	t.Helper()
	dead, err := st.api.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String(name + sqs.DeadLetterSuffix)})
	if err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:sqs:eu-west-1:000000000000:" + name + sqs.DeadLetterSuffix
	out, err := st.api.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{
		"MaximumMessageSize": "1048576", "RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":"10"}`,
	}})
	if err != nil {
		t.Fatal(err, aws.ToString(dead.QueueUrl))
	}
	st.base = strings.TrimSuffix(aws.ToString(out.QueueUrl), "/"+name)
}

func createTable(t *testing.T, api *awsdb.Client, name string) {
	t.Helper()
	key := func(sort string) []dbtypes.KeySchemaElement {
		return []dbtypes.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}, {AttributeName: &sort, KeyType: "RANGE"}}
	}
	_, err := api.CreateTable(t.Context(), &awsdb.CreateTableInput{
		TableName: &name, KeySchema: key("sk"), BillingMode: dbtypes.BillingModePayPerRequest,
		AttributeDefinitions: []dbtypes.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: "S"},
			{AttributeName: aws.String("sk"), AttributeType: "S"},
			{AttributeName: aws.String("due"), AttributeType: "N"},
		},
		GlobalSecondaryIndexes: []dbtypes.GlobalSecondaryIndex{{
			IndexName: aws.String(dynamodb.DueIndex), KeySchema: key("due"), Projection: &dbtypes.Projection{ProjectionType: "KEYS_ONLY"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run lets the event sources work until the returned function is called. Every third message comes twice, late and
// out of order, but no more than 100 of a queue: a copy of the current tick makes another one of the next.
func (st *stage) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	st.sources = map[string]*lambdatest.Source{}
	for name, f := range map[string]*lambdatest.Function{"gate-submit": st.submit, "gate-poll": st.poll, "gate-cancel": st.cancel} {
		s := &lambdatest.Source{
			API: st.api, QueueURL: st.base + "/" + name, ARN: "arn:aws:sqs:eu-west-1:000000000000:" + name,
			Batch: 5, Limit: time.Minute, Function: f, Repeat: func(n int) bool { return n%3 == 1 && n < 300 },
		}
		st.sources[name] = s
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Turn(ctx, 5*time.Second); err != nil && ctx.Err() == nil {
					t.Logf("%s: %v", name, err)
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

func (st *stage) send(t *testing.T, name, body string) {
	t.Helper()
	if err := st.queues.Send(t.Context(), name, queue.Message{Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

func (st *stage) checkNothingPutAside(t *testing.T) {
	t.Helper()
	for _, name := range []string{"gate-submit", "gate-poll", "gate-cancel"} {
		if d, ok, err := st.queues.Receive(t.Context(), name+queue.DeadLetter, "", 0); ok || err != nil {
			t.Errorf("%s has put aside %s, %v", name, d.Body, err)
		}
	}
}

// buildHelper builds a function that does what its event says.
func buildHelper(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "bootstrap")
	build(t, exe, "prowgate/infra/aws/lambdatest/echo")
	return exe
}
