package gangway

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

const aJobURL = "https://prow.ci.openshift.org/view/gs/test-platform-results/logs/e2e/1985"

// aProwJob is Deck's YAML of a ProwJob; the build id and a label are such that YAML alone would read them as
// a number and a bool.
const aProwJob = `apiVersion: prow.k8s.io/v1
kind: ProwJob
metadata:
  annotations: {ev2.rollout/gate-id: g1}
  labels:
    prow.k8s.io/type: postsubmit
    flag: true
  name: 5f1c
spec:
  cluster: build05
  job: branch-ci-e2e
  type: postsubmit
  refs: {org: Azure, repo: ARO-HCP, base_ref: main, base_sha: abc}
  extra_refs:
  - {org: openshift, repo: release}
status:
  build_id: 1985000000000000001
  startTime: 2026-11-03T09:00:00Z
  pendingTime: "2026-11-03T09:00:05Z"
  completionTime: null
  state: pending
  description: Job executing.
  url: ` + aJobURL + `
  unknown: {x: 1}
`

func wantJob() prow.Job {
	return prow.Job{
		ID: "5f1c", Name: "branch-ci-e2e", Type: prow.Postsubmit, State: prow.Pending, Cluster: "build05",
		Refs:        &prow.Refs{Org: "Azure", Repo: "ARO-HCP", BaseRef: "main", BaseSHA: "abc"},
		ExtraRefs:   []prow.Refs{{Org: "openshift", Repo: "release"}},
		Labels:      map[string]string{"prow.k8s.io/type": "postsubmit", "flag": "true"},
		Annotations: map[string]string{"ev2.rollout/gate-id": "g1"},
		StartTime:   time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC),
		URL:         aJobURL, BuildID: "1985000000000000001", Description: "Job executing.",
	}
}

func TestDeckJob(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/prowjob?prowjob=5f1c" {
			t.Error(r.URL)
		}
		answer(200, "text/plain; charset=utf-8", aProwJob)(w, r)
	})
	j, ok, err := NewDeck(c).Job(t.Context(), "5f1c")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if d := cmp.Diff(wantJob(), j); d != "" {
		t.Error(d)
	}
}

func TestDeckJobFailures(t *testing.T) {
	tests := []struct {
		name       string
		status     int
		kind, body string
		want       fault.Kind
		text       string
	}{
		{"login page", 200, "text/html", "<html>", fault.MayHaveHappened, "login page"},
		{"login page as text", 200, "text/plain", "<!doctype HTML>", fault.MayHaveHappened, "login page"},
		{"another job", 200, "text/plain", strings.Replace(aProwJob, "name: 5f1c", "name: other", 1), fault.MayHaveHappened, "another job"},
		{"empty", 200, "text/plain", "", fault.MayHaveHappened, "not a ProwJob"},
		{"prose", 200, "text/plain", "hello", fault.MayHaveHappened, "not a ProwJob"},
		{"bad time", 200, "text/plain", strings.Replace(aProwJob, "2026-11-03T09:00:00Z", "yesterday", 1), fault.MayHaveHappened, "not a ProwJob"},
		{"too large", 200, "text/plain", strings.Repeat("#", maxProwJob+1), fault.MayHaveHappened, "too large"},
		{"forbidden", 403, "text/html", "<html>", fault.Refused, "HTTP 403"},
		{"server error", 500, "text/plain", "boom", fault.MayHaveHappened, "HTTP 500: boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, ok, err := NewDeck(serve(t, answer(tt.status, tt.kind, tt.body))).Job(t.Context(), "5f1c")
			wantFault(t, err, tt.want, tt.text)
			if ok {
				t.Error("ok with an error")
			}
		})
	}
	_, ok, err := NewDeck(serve(t, answer(404, "text/html", "<html>ProwJob not found"))).Job(t.Context(), "5f1c")
	if ok || err != nil {
		t.Error("404:", ok, err)
	}
	_, _, err = NewDeck(configOf(t, "http://deck.invalid")).Job(t.Context(), "a&b")
	wantFault(t, err, fault.Refused, "not an execution id")
}

func TestDeckRedirects(t *testing.T) {
	var strangers atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	defer other.Close()
	target := "/moved"
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			answer(200, "text/plain", aProwJob)(w, r)
			return
		}
		http.Redirect(w, r, target, http.StatusFound)
	})
	if _, ok, err := NewDeck(c).Job(t.Context(), "5f1c"); !ok || err != nil {
		t.Error("same host:", ok, err)
	}
	target = other.URL
	_, _, err := NewDeck(c).Job(t.Context(), "5f1c")
	wantFault(t, err, fault.MayHaveHappened, "a redirect to 127.0.0.1")
	target = "/again"
	_, _, err = NewDeck(c).Job(t.Context(), "5f1c")
	wantFault(t, err, fault.MayHaveHappened, "not followed")
	if strangers.Load() != 0 {
		t.Error("followed to another host")
	}
}

// item is one job of a listing.
func item(id, job string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"l":"1"}},"spec":{"job":%q,"type":"periodic"},"status":{"state":"pending","startTime":"2026-11-03T09:00:00Z"}}`, id, job)
}

func listing(items ...string) string {
	return `{"kind":"list","items":[` + strings.Join(items, ",") + `],"more":{"x":[1,{}]}}` + "\n"
}

func TestDeckJobs(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/prowjobs.js" || r.FormValue("omit") != "decoration_config,pod_spec" || r.FormValue("var") != "" {
			t.Error(r.URL)
		}
		w.Header().Set("Date", "Tue, 03 Nov 2026 10:00:07 GMT")
		answer(200, "application/json", listing(item("1", "a"), item("2", "b"), item("3", "a")))(w, r)
	})
	list, err := NewDeck(c).Jobs(t.Context(), func(j prow.Job) bool { return j.Name == "a" })
	check(t, err)
	if list.Seen != 3 || len(list.Jobs) != 2 || list.Jobs[1].ID != "3" || list.Jobs[0].Labels["l"] != "1" {
		t.Errorf("%+v", list)
	}
	if want := time.Date(2026, 11, 3, 10, 0, 7, 0, time.UTC); !list.At.Equal(want) {
		t.Errorf("at %v", list.At)
	}
	list, err = NewDeck(c).Jobs(t.Context(), nil)
	if err != nil || len(list.Jobs) != 3 {
		t.Error("keep nil:", list, err)
	}
}

func TestDeckJobsWithoutDate(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		answer(200, "application/json", listing())(w, r)
	})
	list, err := NewDeck(c).Jobs(t.Context(), nil)
	if err != nil || !list.At.IsZero() || list.Seen != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestDeckJobsFailures(t *testing.T) {
	deck := func(h http.HandlerFunc) error {
		list, err := NewDeck(serve(t, h)).Jobs(t.Context(), nil)
		if len(list.Jobs) != 0 || list.Seen != 0 {
			t.Errorf("a partial listing: %+v", list)
		}
		return err
	}
	whole := listing(item("1", "a"), item("2", "b"))
	wantFault(t, deck(answer(200, "text/html", "<html>")), fault.MayHaveHappened, "login page")
	wantFault(t, deck(answer(200, "text/javascript", "var allBuilds = "+whole+";")), fault.MayHaveHappened, "list jobs: after 0 jobs")
	wantFault(t, deck(answer(502, "text/html", "<html>")), fault.MayHaveHappened, "HTTP 502")
	wantFault(t, deck(answer(404, "text/plain", "no")), fault.Refused, "HTTP 404")
	wantFault(t, deck(answer(200, "application/json", whole[:len(whole)-10])), fault.MayHaveHappened, "after 2 jobs: the list was cut off")
	wantFault(t, deck(func(w http.ResponseWriter, _ *http.Request) {
		hijack(t, w, func(t *testing.T, conn *net.TCPConn) {
			write(t, conn, "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"+whole[:len(whole)-60])
		})
	}), fault.MayHaveHappened, "after 1 jobs")
}

func TestDeckJobsPacked(t *testing.T) {
	packed := pack(t, listing(item("1", "a")))
	c := serve(t, answer(200, "application/json", packed))
	list, err := NewDeck(c).Jobs(t.Context(), nil)
	if err != nil || list.Seen != 1 {
		t.Errorf("%+v %v", list, err)
	}
	_, err = NewDeck(serve(t, answer(200, "application/json", packed[:len(packed)-9]))).Jobs(t.Context(), nil)
	wantFault(t, err, fault.MayHaveHappened, "cut off")
}

func pack(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	write(t, w, text)
	check(t, w.Close())
	return b.String()
}

func TestDecodeJobsOfEveryPrefixFails(t *testing.T) {
	whole := strings.TrimSpace(listing(item("1", "a"), item("2", "b")))
	for n := range len(whole) {
		if jobs, _, err := decodeJobs(strings.NewReader(whole[:n]), nil); err == nil || jobs != nil {
			t.Fatalf("%d of %d bytes: %v, error %v", n, len(whole), jobs, err)
		}
	}
	if _, seen, err := decodeJobs(strings.NewReader(whole), nil); err != nil || seen != 2 {
		t.Error(seen, err)
	}
}

func TestDecodeJobsRefuses(t *testing.T) {
	tests := map[string]string{
		"nothing": ``, "null": `null`, "array": `[]`, "no items": `{}`, "items null": `{"items":null}`,
		"items an object": `{"items":{}}`, "items twice": `{"items":[],"items":[]}`, "trailing": `{"items":[]};`,
		"two documents": `{"items":[]}{"items":[]}`, "job null": `{"items":[null]}`, "job a number": `{"items":[1]}`,
		"job without name": `{"items":[{"spec":{"job":"a"}}]}`, "bad time": strings.Replace(listing(item("1", "a")), "2026-11", "2026-13", 1),
	}
	for name, body := range tests {
		if _, _, err := decodeJobs(strings.NewReader(body), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// many is a listing of n jobs of about 4 KB each, written as it is read.
func many(n int) io.Reader {
	parts := []io.Reader{strings.NewReader(`{"items":[`)}
	one := padded("1", 4000)
	for range n - 1 {
		parts = append(parts, strings.NewReader(one), strings.NewReader(","))
	}
	return io.MultiReader(append(parts, strings.NewReader(one), strings.NewReader("]}"))...)
}

// padded is an item with a long description.
func padded(id string, n int) string {
	return strings.Replace(item(id, "a"), `"status":{`, `"status":{"description":"`+strings.Repeat("x", n)+`",`, 1)
}

func TestDecodeJobsLimits(t *testing.T) {
	body := listing(item("1", "a"), padded("2", 20000), item("3", "b"))
	for _, in := range []allowance{{perValue: 10000, total: 1 << 20}, {perValue: 1 << 20, total: 20000}} {
		in.in = strings.NewReader(body)
		if _, seen, err := decodeBounded(&in, nil); !errors.Is(err, errTooLarge) || seen != 1 {
			t.Errorf("%d jobs, error %v", seen, err)
		}
	}
	in := allowance{in: strings.NewReader(body), perValue: 22000, total: int64(len(body)) + 1}
	if _, seen, err := decodeBounded(&in, nil); err != nil || seen != 3 {
		t.Errorf("%d jobs, error %v", seen, err)
	}
}

func TestDecodeJobsHoldsOneAtATime(t *testing.T) {
	const n = 1000 // 4 MB of text
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, worst, count := heap(), uint64(0), 0
	_, seen, err := decodeJobs(many(n), func(prow.Job) bool {
		if count++; count%500 == 0 {
			worst = max(worst, heap())
		}
		return false
	})
	if err != nil || seen != n {
		t.Fatal(seen, err)
	}
	if worst > before+2<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, worst)
	}
}

func BenchmarkDecodeJobs(b *testing.B) {
	const n = 1000
	b.ReportAllocs()
	b.SetBytes(n * int64(len(padded("1", 4000))))
	for b.Loop() {
		if _, seen, err := decodeJobs(many(n), func(prow.Job) bool { return false }); err != nil || seen != n {
			b.Fatal(seen, err)
		}
	}
}

func FuzzDecodeJobs(f *testing.F) {
	f.Add([]byte(listing(item("1", "a"))))
	f.Add([]byte(`{"items":[{"metadata":{"name":"x"},"status":{"startTime":null}}]}`))
	f.Add([]byte(`{"items":[[[[`))
	f.Fuzz(func(t *testing.T, body []byte) {
		jobs, seen, err := decodeJobs(bytes.NewReader(body), nil)
		if err != nil && jobs != nil || err == nil && len(jobs) != seen {
			t.Error(jobs, seen, err)
		}
	})
}

func FuzzParseProwJob(f *testing.F) {
	f.Add([]byte(aProwJob))
	f.Add([]byte(item("1", "a")))
	f.Add([]byte("a: &a [*a, *a]"))
	f.Add([]byte("metadata: {name: [x]}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if j, err := ParseProwJob(body); err == nil && j.ID == "" {
			t.Error("a job without a name")
		}
	})
}

func TestParseProwJobAsJSON(t *testing.T) {
	j, err := ParseProwJob([]byte(item("1", "a")))
	if err != nil || j.ID != "1" || j.Name != "a" || j.State != prow.Pending || j.StartTime.IsZero() || j.Refs != nil {
		t.Errorf("%+v %v", j, err)
	}
}

func TestParseProwJobRefusesWhatNoProwSays(t *testing.T) {
	for name, body := range map[string]string{
		"long id":      `{"metadata":{"name":"` + strings.Repeat("a", 300) + `"}}`,
		"id with path": `{"metadata":{"name":"../x"}}`,
		"long job":     `{"metadata":{"name":"a"},"spec":{"job":"` + strings.Repeat("j", 300) + `"}}`,
		"long state":   `{"metadata":{"name":"a"},"status":{"state":"` + strings.Repeat("s", 300) + `"}}`,
		"long URL":     `{"metadata":{"name":"a"},"status":{"url":"` + strings.Repeat("u", 3000) + `"}}`,
		"far future":   `{"metadata":{"name":"a"},"status":{"startTime":"9999-12-31T23:59:59-01:00"}}`,
		"far past":     `{"metadata":{"name":"a"},"status":{"completionTime":"0000-01-02T00:00:00+23:00"}}`,
	} {
		if j, err := ParseProwJob([]byte(body)); err == nil {
			t.Errorf("%s: %+v", name, j)
		}
	}
}
