package gangwaytest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/gangwaytest"
)

// rig is a World under a virtual clock, called in process.
type rig struct {
	*gangwaytest.World
	t      *testing.T
	now    time.Time
	ids    int
	client *http.Client
	token  string
}

func newRig(t *testing.T, o gangwaytest.Options) *rig {
	t.Helper()
	r := &rig{t: t, now: time.Date(2026, 11, 2, 10, 0, 0, 300e6, time.UTC)}
	o.Clock = func() time.Time { return r.now }
	if o.NewID == nil {
		o.NewID = func() string { r.ids++; return fmt.Sprintf("id-%d", r.ids) }
	}
	r.World = gangwaytest.New(o)
	r.client = &http.Client{Transport: r.Transport()}
	return r
}

func (r *rig) after(d time.Duration) *rig {
	r.now = r.now.Add(d)
	return r
}

func (r *rig) send(method, path, body string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://stand-in"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func (r *rig) do(method, path, body string) (int, string) {
	r.t.Helper()
	resp := r.send(method, path, body)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func (r *rig) get(path string) (int, string) { r.t.Helper(); return r.do("GET", path, "") }

// ok sends a request that must be answered 200 and decodes the answer.
func (r *rig) ok(method, path, body string, into any) {
	r.t.Helper()
	code, answer := r.do(method, path, body)
	if code != http.StatusOK {
		r.t.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		r.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
}

// periodic creates a job without refs and returns its id.
func (r *rig) periodic(name string) string {
	r.t.Helper()
	return r.create(fmt.Sprintf(`{"job_name":%q,"job_execution_type":"PERIODIC"}`, name))
}

const aroRefs = `"refs":{"org":"Azure","repo":"ARO-HCP","base_ref":"main","base_sha":"abc"}`

// postsubmit creates a job of Azure/ARO-HCP and returns its id.
func (r *rig) postsubmit(name string) string {
	r.t.Helper()
	return r.create(fmt.Sprintf(`{"job_name":%q,"job_execution_type":"POSTSUBMIT",%s}`, name, aroRefs))
}

func (r *rig) create(body string) string {
	r.t.Helper()
	var e execution
	r.ok("POST", "/v1/executions", body, &e)
	return e.ID
}

type execution struct {
	ID, JobName, JobType, JobStatus, JobURL, CreateTime, CompletionTime string
}

func (r *rig) execution(id string) (e execution) {
	r.t.Helper()
	r.ok("GET", "/v1/executions/"+id, "", &e)
	return e
}

func (r *rig) list(query string) []execution {
	r.t.Helper()
	var l struct{ JobExecution []execution }
	r.ok("GET", "/v1/executions?"+query, "", &l)
	return l.JobExecution
}

func (r *rig) bulk(body string) {
	r.t.Helper()
	if code, answer := r.do("POST", "/v1/bulk-job-status-update", body); code != 200 || answer != "{}" {
		r.t.Fatalf("bulk change: %d %s", code, answer)
	}
}

func (r *rig) state(id string) string {
	r.t.Helper()
	for _, j := range r.Jobs() {
		if j.ID == id {
			return string(j.State)
		}
	}
	r.t.Fatalf("no job %q", id)
	return ""
}

func (r *rig) wantState(id, want string) {
	r.t.Helper()
	if got := r.state(id); got != want {
		r.t.Errorf("state of %s: %q, want %q", id, got, want)
	}
}

// anyJob is a world where every job name is known and behaves as s.
func anyJob(s gangwaytest.Script) gangwaytest.Options { return gangwaytest.Options{AnyJob: &s} }
