package gangwaytest_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
)

// objects lists all pages of a prefix.
func (r *rig) objects(prefix string) (names []string) {
	r.t.Helper()
	token := ""
	for {
		var page struct {
			NextPageToken string
			Items         []struct{ Name string }
		}
		r.ok("GET", "/storage/v1/b/"+gangwaytest.Bucket+"/o?prefix="+url.QueryEscape(prefix)+"&pageToken="+url.QueryEscape(token), "", &page)
		for _, i := range page.Items {
			names = append(names, i.Name)
		}
		if token = page.NextPageToken; token == "" {
			return names
		}
	}
}

// run creates a job, lets d pass, and returns its folder in the bucket.
func (r *rig) run(d time.Duration) (root string) {
	r.t.Helper()
	id := r.periodic("a")
	s := r.after(d).deckJob(id).Status
	_, root, _ = strings.Cut(s.URL, "/view/gs/"+gangwaytest.Bucket+"/")
	return root
}

// finished reads a finished.json.
func (r *rig) finished(path string) (f struct {
	Timestamp int64
	Passed    *bool
	Result    string
	Metadata  map[string]any
},
) {
	r.t.Helper()
	r.ok("GET", "/"+gangwaytest.Bucket+"/"+path, "", &f)
	return f
}

func TestFailingRun(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Failing(time.Minute, []string{"x", "y"}, []string{"y", "z"})))
	root := r.run(2 * time.Minute)
	step := root + "/artifacts/e2e-parallel/aro-hcp-test-local/"
	f := r.finished(step + "finished.json")
	want := map[string]any{
		"ev2-failed-tests": []any{"x", "y"}, "ev2-allow-retry-tests": []any{"y"},
		"ev2-suite-summary": map[string]any{"total": 40.0, "failed": 2.0, "passed": 38.0, "skipped": 0.0},
	}
	if diff := cmp.Diff(want, f.Metadata); diff != "" || *f.Passed || f.Result != "FAILURE" {
		t.Errorf("%+v %s", f, diff)
	}
	top := r.finished(root + "/finished.json")
	if _, ev2 := top.Metadata["ev2-failed-tests"]; ev2 || top.Metadata["repo"] == nil || *top.Passed {
		t.Errorf("root: %+v", top)
	}
	if at := time.Unix(top.Timestamp, 0).UTC(); at.Minute() != 1 || at.Second() != 0 {
		t.Errorf("finished at %v", at)
	}
	names := strings.Join(r.objects(root+"/"), "\n")
	for _, name := range []string{
		"/started.json", "/prowjob.json", "/build-log.txt", "/artifacts/e2e-parallel/aro-hcp-provision-environment/finished.json",
		"/artifacts/e2e-parallel/aro-hcp-deprovision-environment/finished.json", "aro-hcp-test-local/artifacts/finished.json",
	} {
		if !strings.Contains(names, name) {
			t.Errorf("no %s in\n%s", name, names)
		}
	}
}

func TestPassingRunReportsAnEmptyList(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	root := r.run(2 * time.Minute)
	f := r.finished(root + "/artifacts/e2e-parallel/aro-hcp-test-local/finished.json")
	if list, ok := f.Metadata["ev2-failed-tests"].([]any); !ok || len(list) != 0 || !*f.Passed {
		t.Errorf("%+v", f)
	}
}

func TestInfraFailingRunHasNoTests(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.InfraFailing(time.Minute)))
	root := r.run(2 * time.Minute)
	names := strings.Join(r.objects(root), "\n")
	if strings.Contains(names, "aro-hcp-test-local") || !strings.Contains(names, "aro-hcp-deprovision") {
		t.Error(names)
	}
	if f := r.finished(root + "/artifacts/e2e-parallel/aro-hcp-provision-environment/finished.json"); *f.Passed || len(f.Metadata) != 0 {
		t.Errorf("%+v", f)
	}
}

func TestArtifactsAppearInTime(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	root := r.run(20 * time.Second)
	if got := r.objects(root); !cmp.Equal(got, []string{root + "/prowjob.json", root + "/started.json"}) {
		t.Errorf("pending: %v", got)
	}
	state := func() string {
		var j deckItem
		r.ok("GET", "/"+gangwaytest.Bucket+"/"+root+"/prowjob.json", "", &j)
		return j.Status.State
	}
	if got := state(); got != "pending" {
		t.Errorf("prowjob.json says %s", got)
	}
	r.after(30 * 24 * time.Hour) // the bucket outlives the ProwJob
	if got := state(); got != "success" {
		t.Errorf("at the end prowjob.json says %s", got)
	}
}

func TestErroredJobHasNoURL(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Erroring(time.Second)))
	s := r.after(time.Minute).deckJob(r.periodic("a")).Status
	if s.State != "triggered" {
		t.Errorf("%+v", s)
	}
	s = r.after(time.Minute).deckJob("id-1").Status
	if s.State != "error" || s.URL != "" || s.BuildID != "" || s.CompletionTime == "" {
		t.Errorf("%+v", s)
	}
	noURL := gangwaytest.Passing(time.Minute)
	noURL.NoURL = true
	r.SetScript("n", noURL)
	if s := r.after(time.Hour).deckJob(r.periodic("n")).Status; s.URL != "" {
		t.Errorf("%+v", s)
	}
}

func TestAbortedRunWritesAborted(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	root := r.run(20 * time.Second)
	if err := r.Move("id-1", prow.Aborted, "by hand"); err != nil {
		t.Fatal(err)
	}
	r.after(time.Hour)
	if f := r.finished(root + "/finished.json"); f.Result != "ABORTED" || *f.Passed {
		t.Errorf("%+v", f)
	}
	if names := r.objects(root); len(names) != 3 {
		t.Errorf("the stopped pod went on: %v", names)
	}
}

func TestLaterArtifactReplacesAnEarlier(t *testing.T) {
	s := gangwaytest.Hanging()
	s.Artifacts = []gangwaytest.Artifact{
		{After: time.Minute, Path: "finished.json", Body: `{"result":"FAILURE"}`},
		{After: time.Second, Path: "finished.json", Body: `{"result":"ABORTED"}`},
	}
	r := newRig(t, anyJob(s))
	root := r.run(2 * time.Second)
	if f := r.finished(root + "/finished.json"); f.Result != "ABORTED" {
		t.Errorf("first %s", f.Result)
	}
	if f := r.after(time.Minute).finished(root + "/finished.json"); f.Result != "FAILURE" {
		t.Errorf("then %s", f.Result)
	}
}

func TestListingIsPaged(t *testing.T) {
	o := anyJob(gangwaytest.Passing(time.Minute))
	o.PageSize = 3
	r := newRig(t, o)
	root := r.run(2 * time.Minute)
	all := r.objects(root + "/artifacts/")
	if len(all) != 13 || r.Count(gangwaytest.ObjectList) != 5 {
		t.Errorf("%d objects in %d pages", len(all), r.Count(gangwaytest.ObjectList))
	}
	if !cmp.Equal(all, dedupe(all)) {
		t.Errorf("repeated: %v", all)
	}
	var page struct{ Items []any }
	r.ok("GET", "/storage/v1/b/"+gangwaytest.Bucket+"/o?maxResults=2", "", &page)
	if len(page.Items) != 2 {
		t.Errorf("%d items", len(page.Items))
	}
	if code, body := r.get("/storage/v1/b/" + gangwaytest.Bucket + "/o?prefix=logs/none/"); code != 200 || strings.Contains(body, "items") {
		t.Errorf("nothing: %d %s", code, body)
	}
	if code, _ := r.get("/storage/v1/b/" + gangwaytest.Bucket + "/o?pageToken=***"); code != 400 {
		t.Errorf("bad token: %d", code)
	}
}

func dedupe(names []string) (out []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			out = append(out, n)
		}
		seen[n] = true
	}
	return out
}

func TestObjectNotThere(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	root := r.run(2 * time.Minute)
	r.FailNext(gangwaytest.ObjectRead, gangwaytest.Fault{Mode: gangwaytest.Lost})
	for _, path := range []string{root + "/finished.json", root + "/none", "logs/a/1/finished.json", "x"} {
		if code, _ := r.get("/" + gangwaytest.Bucket + "/" + path); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, _ := r.get("/other-bucket/" + root + "/finished.json"); code != 404 {
		t.Errorf("another bucket: %d", code)
	}
}

func TestCompressedObject(t *testing.T) {
	s := gangwaytest.Hanging()
	s.Artifacts = []gangwaytest.Artifact{{Path: "finished.json", Body: strings.Repeat("a", 10000), Gzip: true}}
	r := newRig(t, anyJob(s))
	path := "/" + gangwaytest.Bucket + "/" + r.run(time.Second) + "/finished.json"
	if _, body := r.get(path); len(body) != 10000 {
		t.Errorf("plain: %d bytes", len(body))
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://stand-in"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(z); err != nil || len(body) != 10000 || resp.ContentLength > 1000 {
		t.Errorf("%d bytes of %d, %v", len(body), resp.ContentLength, err)
	}
}

func TestViewPage(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	root := r.run(2 * time.Minute)
	code, page := r.get("/view/gs/" + gangwaytest.Bucket + "/" + root + "/")
	if code != 200 || !strings.Contains(page, "success") || !strings.Contains(page, root+"/finished.json") {
		t.Errorf("%d %s", code, page)
	}
	if code, _ := r.get("/view/gs/" + gangwaytest.Bucket + "/logs/a/1"); code != 404 {
		t.Errorf("unknown run: %d", code)
	}
}

func TestScriptsTravelAsJSON(t *testing.T) {
	s := gangwaytest.Failing(time.Minute, []string{"x"}, nil)
	s.Steps = append(s.Steps, gangwaytest.Step{After: 90 * time.Second, Revive: true})
	s.ExtraRefs, s.LostChanges = []prow.Refs{{Org: "o"}}, 2
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `{"after":"1m30s","revive":true}`) {
		t.Errorf("%s", raw)
	}
	var back gangwaytest.Script
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`{"steps":[{"after":5}]}`, `{"artifacts":[{"after":"soon"}]}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func TestDemo(t *testing.T) {
	r := newRig(t, gangwaytest.Options{ScriptFor: gangwaytest.Demo(20 * time.Second)})
	want := map[string]string{
		"pass": "success", "fail": "failure", "flaky": "failure", "infra": "failure",
		"error": "error", "aborted": "aborted", "hang": "pending",
	}
	for suffix := range want {
		r.periodic("branch-ci-x-" + suffix)
	}
	r.after(time.Minute)
	for _, j := range r.Jobs() {
		if suffix := strings.TrimPrefix(j.Name, "branch-ci-x-"); string(j.State) != want[suffix] {
			t.Errorf("%s ends %s", j.Name, j.State)
		}
	}
	if code, _ := r.do("POST", "/v1/executions", `{"job_name":"other","job_execution_type":1}`); code != 500 {
		t.Errorf("a name of no kind: %d", code)
	}
}

func TestBuildIDs(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	seen := map[string]bool{}
	for range 200 {
		id := r.deckJob(r.periodic("a")).Status.BuildID
		if _, err := strconv.ParseUint(id, 10, 64); err != nil || len(id) != 19 || seen[id] {
			t.Fatalf("build id %q", id)
		}
		seen[id] = true
	}
}
