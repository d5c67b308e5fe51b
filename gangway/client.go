package gangway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"prowgate/gangway/gangwaypb"
	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

// Client speaks Gangway's REST form. Each method is one request against the server's rate limit. It may be
// used by many goroutines at once. Redirects are never followed, so the token reaches no other host.
//
// Kinds of failure: NothingHappened when the request did not leave or was turned away unread (429, 425), or with a token that has been renewed meanwhile (401, 403);
// Refused when the server said no (other 4xx, a 500 that names a mistake of ours);
// MayHaveHappened for all else, which includes every 2xx that cannot be read.
type Client struct {
	caller *caller
	base   *url.URL
}

// NewClient returns a client of c.GangwayURL.
func NewClient(c Config) *Client {
	caller := newCaller(c)
	caller.token, caller.refused = c.Token, c.TokenRefused
	caller.http.CheckRedirect = noRedirect
	return &Client{caller: caller, base: c.GangwayURL}
}

// rejections are texts of a 500 that Gangway or the API server behind it answers before anything is
// created: unknown jobs and wrong refs come as plain errors, without a gRPC code, and so as 500 (prow,
// pkg/gangway/gangway.go, getProwJobSpec and validateRefs; the last one is Kubernetes' NewInvalid, for bad
// label keys and annotations that are too large).
func rejections() []string {
	return []string{
		"failed to find associated ",
		" matches multiple prow jobs from orgRepo ",
		"failed getting prowjob spec",
		"unsupported JobExecutionType",
		" must be supplied",
		" under pubsub_triggers -> allowed_clusters",
		" is invalid: ",
	}
}

// Create makes a job and returns its execution id. It takes CreateTimeout at most. There is no idempotency
// key: a create that MayHaveHappened and is repeated makes a second job.
func (c *Client) Create(ctx context.Context, s prow.Submission) (string, error) {
	const op = "create execution"
	req, err := createRequest(op, s)
	if err != nil {
		return "", err
	}
	var out gangwaypb.JobExecution
	q := call{op: op, method: http.MethodPost, url: below(c.base, "/v1/executions", nil), timeout: CreateTimeout, noes: rejections()}
	if err := c.exchange(ctx, q, req, &out); err != nil {
		return "", err
	}
	if !validID(out.GetId()) {
		return "", &fault.Error{Op: op, Text: "the answer holds no execution id"}
	}
	if name := out.GetJobName(); name != "" && name != s.JobName {
		return "", &fault.Error{Op: op, Text: "the answer is about another job"}
	}
	return out.GetId(), nil
}

// Get returns one job, read live, without refs and labels. An unknown id is Refused; Gangway answers 500
// for it.
func (c *Client) Get(ctx context.Context, id string) (prow.Job, error) {
	const op = "get execution"
	if !validID(id) {
		return prow.Job{}, &fault.Error{Kind: fault.Refused, Op: op, Text: "not an execution id"}
	}
	var out gangwaypb.JobExecution
	q := call{op: op, method: http.MethodGet, url: below(c.base, "/v1/executions/"+id, nil), timeout: ReadTimeout, noes: []string{" not found"}}
	if err := c.exchange(ctx, q, nil, &out); err != nil {
		return prow.Job{}, err
	}
	if out.GetId() != id {
		return prow.Job{}, &fault.Error{Op: op, Text: "the answer is about another execution"}
	}
	return toJob(&out), nil
}

// List returns the jobs of exactly this name, in the given state or, when it is empty, in any. They hold id,
// name, type and state only. A list that failed inside the server comes as an empty one, so an empty list
// proves nothing (prow, pkg/gangway/gangway.go, ListJobExecutions).
func (c *Client) List(ctx context.Context, jobName string, state prow.State) ([]prow.Job, error) {
	const op = "list executions"
	query := url.Values{"job_name": {jobLabel(jobName)}}
	if state != "" {
		status := toStatus(state)
		if status == gangwaypb.JobExecutionStatus_JOB_EXECUTION_STATUS_UNSPECIFIED {
			return nil, &fault.Error{Kind: fault.Refused, Op: op, Text: fmt.Sprintf("unknown state %q", state)}
		}
		query.Set("status", status.String())
	}
	var out gangwaypb.JobExecutions
	q := call{op: op, method: http.MethodGet, url: below(c.base, "/v1/executions", query), timeout: ReadTimeout}
	if err := c.exchange(ctx, q, nil, &out); err != nil {
		return nil, err
	}
	var jobs []prow.Job
	for _, e := range out.GetJobExecution() {
		// Other names share the label of a name that was cut.
		if e.GetJobName() == jobName {
			jobs = append(jobs, toJob(e))
		}
	}
	return jobs, nil
}

// Abort asks Gangway to move every job that a selects to aborted. A nil error means only that it was asked
// for: the server works in the background and tells nobody how it went. A selection that is open on any
// side is Refused here, because the server would take it for "all".
func (c *Client) Abort(ctx context.Context, a prow.Abort) error {
	const op = "abort execution"
	req, err := abortRequest(op, a)
	if err != nil {
		return err
	}
	q := call{op: op, method: http.MethodPost, url: below(c.base, "/v1/bulk-job-status-update", nil), timeout: AbortTimeout}
	return c.exchange(ctx, q, req, &emptypb.Empty{})
}

// exchange sends in, unless it is nil, and reads the answer into out. Fields and enum names that a newer
// server sends are skipped.
func (c *Client) exchange(ctx context.Context, q call, in, out proto.Message) error {
	q.limit = maxAnswer
	if in != nil {
		body, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(in)
		if err != nil {
			return &fault.Error{Kind: fault.Refused, Op: q.op, Text: "the request cannot be encoded", Err: err}
		}
		q.body = body
	}
	answer, err := c.caller.do(ctx, q)
	if err != nil {
		return err
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(answer, out); err != nil {
		return &fault.Error{Op: q.op, Text: "the answer is not the JSON that was expected", Err: err}
	}
	return nil
}

// jobLabel is the value of the label prow.k8s.io/job by which the server lists: the name, cut to what a
// label may hold (prow, pkg/pod-utils/decorate/podspec.go).
func jobLabel(name string) string {
	const longest = 63
	if len(name) <= longest {
		return name
	}
	return strings.TrimRight(name[:longest], "._-")
}

// validID reports whether id can be the name of a ProwJob, and so be put into a path.
func validID(id string) bool {
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}
	return id != "" && len(id) <= 253 && strings.Trim(id, ".") != "" && !strings.ContainsFunc(id, strange)
}
