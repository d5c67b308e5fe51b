package gangway

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"prowgate/shared/fault"
)

const aRoot = "logs/e2e/1985"

func TestArtifactsList(t *testing.T) {
	pages := map[string]string{
		"":    `{"items":[{"name":"` + aRoot + `/finished.json"},{"name":"` + aRoot + `/"},{"name":"logs/e2e/19850/finished.json"}],"nextPageToken":"p 2"}`,
		"p 2": `{"nextPageToken":"p3"}`,
		"p3":  `{"kind":"storage#objects","items":[{"name":"` + aRoot + `/artifacts/t/finished.json","size":"1"},{"name":"other"}]}`,
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/storage/v1/b/test-platform-results/o" || r.FormValue("prefix") != aRoot+"/" || r.FormValue("fields") != "items(name),nextPageToken" {
			t.Error(r.URL)
		}
		answer(200, "application/json", pages[r.FormValue("pageToken")])(w, r)
	})
	for _, u := range []string{aJobURL, aJobURL + "/", strings.Replace(aJobURL, "/gs/", "/gcs/", 1)} {
		names, err := NewArtifacts(c).List(t.Context(), u)
		if want := []string{"finished.json", "artifacts/t/finished.json"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: %v %v", u, names, err)
		}
	}
}

func TestArtifactsListFailures(t *testing.T) {
	list := func(h http.HandlerFunc) error {
		names, err := NewArtifacts(serve(t, h)).List(t.Context(), aJobURL)
		if names != nil {
			t.Errorf("a partial listing: %v", names)
		}
		return err
	}
	second := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("pageToken") == "" {
				answer(200, "application/json", `{"items":[{"name":"`+aRoot+`/a"}],"nextPageToken":"2"}`)(w, r)
				return
			}
			then(w, r)
		}
	}
	wantFault(t, list(answer(200, "text/html", "<html>")), fault.MayHaveHappened, "login page")
	wantFault(t, list(answer(404, "application/json", `{"error":{"message":"no bucket"}}`)), fault.Refused, "no bucket")
	wantFault(t, list(answer(200, "application/json", `{"items":[`)), fault.MayHaveHappened, "JSON")
	wantFault(t, list(answer(200, "application/json", strings.Repeat(" ", maxPage+1))), fault.MayHaveHappened, "too large")
	wantFault(t, list(second(answer(503, "text/plain", "later"))), fault.MayHaveHappened, "HTTP 503")
	wantFault(t, list(second(answer(200, "application/json", `{"nextPageToken":"2"}`))), fault.MayHaveHappened, "circle")
	var n atomic.Int32
	endless := func(w http.ResponseWriter, r *http.Request) {
		answer(200, "application/json", fmt.Sprintf(`{"nextPageToken":"t%d"}`, n.Add(1)))(w, r)
	}
	wantFault(t, list(endless), fault.Refused, "too many")
	if n.Load() != maxPages {
		t.Errorf("%d pages were read", n.Load())
	}
	n.Store(0)
	item := fmt.Sprintf(`{"name":"%s/%s"}`, aRoot, strings.Repeat("x", 1000))
	page := strings.TrimSuffix(strings.Repeat(item+",", 1000), ",") // of a MiB
	long := func(w http.ResponseWriter, r *http.Request) {
		answer(200, "application/json", fmt.Sprintf(`{"items":[%s],"nextPageToken":"t%d"}`, page, n.Add(1)))(w, r)
	}
	wantFault(t, list(long), fault.Refused, "too many")
	if n.Load() > 20 {
		t.Errorf("%d MiB of names were kept", n.Load())
	}
	wantFault(t, list(second(func(w http.ResponseWriter, _ *http.Request) {
		hijack(t, w, func(*testing.T, *net.TCPConn) {})
	})), fault.MayHaveHappened, "no usable answer")
}

func TestArtifactsRead(t *testing.T) {
	const text = `{"result":"SUCCESS"}`
	files := map[string]http.HandlerFunc{
		"finished.json":     answer(200, "application/json", text),
		"packed.json":       answer(200, "application/json", pack(t, text)),
		"declared.json":     declared(t, text),
		"report.html":       answer(200, "text/html", text),
		"a b+c&d=ü.json":    answer(200, "application/json", text),
		"artifacts/t/x.txt": answer(200, "text/plain", text),
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/test-platform-results/"+aRoot+"/")
		if h, ok := files[name]; ok {
			h(w, r)
			return
		}
		answer(404, "application/xml", "<Error><Code>NoSuchKey</Code></Error>")(w, r)
	})
	plain := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	for _, transport := range []http.RoundTripper{c.Transport, plain} {
		c.Transport = transport
		for name := range files {
			body, ok, err := NewArtifacts(c).Read(t.Context(), aJobURL, name)
			if err != nil || !ok || string(body) != text {
				t.Errorf("%s: %q %v %v", name, body, ok, err)
			}
		}
	}
	body, ok, err := NewArtifacts(c).Read(t.Context(), aJobURL, "missing.json")
	if err != nil || ok || body != nil {
		t.Error("missing:", body, ok, err)
	}
}

// declared sends gzip with its Content-Encoding, as the bucket does when it is asked for it.
func declared(t *testing.T, text string) http.HandlerFunc {
	packed := pack(t, text)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		answer(200, "application/json", packed)(w, r)
	}
}

func TestArtifactsReadFailures(t *testing.T) {
	read := func(h http.HandlerFunc) error {
		body, ok, err := NewArtifacts(serve(t, h)).Read(t.Context(), aJobURL, "finished.json")
		if ok || body != nil {
			t.Errorf("%d bytes, ok %v", len(body), ok)
		}
		return err
	}
	large := strings.Repeat(" ", maxAnswer+1)
	wantFault(t, read(answer(200, "application/json", large)), fault.Refused, "too large")
	wantFault(t, read(answer(200, "application/json", pack(t, large))), fault.Refused, "too large")
	wantFault(t, read(declared(t, large)), fault.Refused, "too large")
	packed := pack(t, `{"result":"SUCCESS"}`)
	wantFault(t, read(answer(200, "application/json", packed[:len(packed)-4])), fault.MayHaveHappened, "cut off")
	wantFault(t, read(answer(200, "application/json", packed[:2])), fault.MayHaveHappened, "cut off")
	wantFault(t, read(answer(200, "text/html", "<html>")), fault.MayHaveHappened, "login page")
	wantFault(t, read(answer(403, "application/xml", "<Error>AccessDenied</Error>")), fault.Refused, "AccessDenied")
	wantFault(t, read(answer(500, "text/plain", "")), fault.MayHaveHappened, "HTTP 500")
	wantFault(t, read(func(w http.ResponseWriter, _ *http.Request) {
		hijack(t, w, func(t *testing.T, conn *net.TCPConn) {
			write(t, conn, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}")
		})
	}), fault.MayHaveHappened, "cut off")
}

func TestArtifactsReadUpToTheLimit(t *testing.T) {
	c := serve(t, answer(200, "application/json", pack(t, strings.Repeat(" ", maxAnswer))))
	body, ok, err := NewArtifacts(c).Read(t.Context(), aJobURL, "finished.json")
	if err != nil || !ok || len(body) != maxAnswer {
		t.Error(len(body), ok, err)
	}
}

func TestArtifactsNamesThatAreNone(t *testing.T) {
	a := NewArtifacts(configOf(t, "http://artifacts.invalid"))
	for _, name := range []string{"", "/x", "x/", "a//b", "..", "a/../b", "./a", "a?b", "a#b", "a%2fb", `a\b`, "a\nb", "\xff", strings.Repeat("x", 1025)} {
		_, _, err := a.Read(t.Context(), aJobURL, name)
		wantFault(t, err, fault.Refused, "not the name")
	}
}

func TestArtifactsRedirects(t *testing.T) {
	var strangers atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	defer other.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	_, _, err := NewArtifacts(c).Read(t.Context(), aJobURL, "finished.json")
	wantFault(t, err, fault.MayHaveHappened, "not followed")
	if strangers.Load() != 0 {
		t.Error("followed to another host")
	}
}

func TestParseJobURLRefuses(t *testing.T) {
	const deck = "https://prow.ci.openshift.org"
	tests := map[string]string{
		"":                                    "the job has none",
		"/view/gs/bucket/a":                   "absolute",
		"ftp://x/view/gs/bucket/a":            "absolute",
		"https:///view/gs/bucket/a":           "absolute",
		"https://x:y/view/gs/bucket/a":        "absolute",
		deck + "/log?job=a":                   "more than a path",
		deck + "/log/a":                       "/view/",
		deck + "/view/s3/bucket/a":            "S3",
		deck + "/view/azure/bucket/a":         "unknown kind",
		deck + "/view/gs":                     "bucket",
		deck + "/view/gs/":                    "bucket",
		deck + "/view/gs//a":                  "bucket",
		deck + "/view/gs/../a":                "bucket",
		deck + "/view/gs/Bucket/a":            "bucket",
		deck + "/view/gs/b@host/a":            "bucket",
		deck + "/view/gs/bucket":              "path of a run",
		deck + "/view/gs/bucket/":             "path of a run",
		deck + "/view/gs/bucket//":            "path of a run",
		deck + "/view/gs/bucket/a//b":         "path of a run",
		deck + "/view/gs/bucket/a//":          "path of a run",
		deck + "/view/gs/bucket/a/../b":       "path of a run",
		deck + "/view/gs/bucket/..":           "path of a run",
		deck + "/view/gs/bucket/a/%2e%2e/b":   "more than a path",
		deck + "/view/gs/bucket/a%2Fb":        "more than a path",
		deck + "/view/gs/bucket/a?b":          "more than a path",
		deck + "/view/gs/bucket/a?":           "more than a path",
		deck + "/view/gs/bucket/a#b":          "more than a path",
		deck + `/view/gs/bucket/a\b`:          "more than a path",
		"https://me:pw@prow/view/gs/bucket/a": "more than a path",
	}
	for u, text := range tests {
		_, err := parseJobURL(u)
		if !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, want %q", u, err, text)
		}
	}
}

// Whatever a job's URL says, a request goes below the configured base, and for that URL's own path.
func FuzzParseJobURL(f *testing.F) {
	for _, u := range []string{aJobURL, aJobURL + "/", "http://d/deck/view/gcs/b-1/pr-logs/pull/1/2", "https://d/view/gs/abc/view/gs/x", "https://d/view/gs/abc/ü b"} {
		f.Add(u)
	}
	base, err := url.Parse("http://127.0.0.1:1/storage")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, jobURL string) {
		at, err := parseJobURL(jobURL)
		if err != nil {
			if !fault.Is(err, fault.Refused) {
				t.Error(err)
			}
			return
		}
		u, err := url.Parse(below(base, "/"+at.bucket+"/"+at.path+"/finished.json", nil))
		if err != nil {
			t.Fatal(err)
		}
		want := "/storage/" + at.bucket + "/" + at.path + "/finished.json"
		if u.Host != base.Host || u.Path != want || path.Clean(u.Path) != want || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("%q leads to %s", jobURL, u)
		}
	})
}

func TestArtifactsJob(t *testing.T) {
	const place = "/test-platform-results/" + aRoot + "/prowjob.json"
	body := item("5f1c", "e2e")
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != place || body == "" {
			http.NotFound(w, r)
			return
		}
		answer(200, "application/json", body)(w, r)
	})
	j, ok, err := NewArtifacts(c).Job(t.Context(), aJobURL)
	if err != nil || !ok || j.ID != "5f1c" || j.Name != "e2e" {
		t.Error(j, ok, err)
	}
	body = "{}"
	_, ok, err = NewArtifacts(c).Job(t.Context(), aJobURL)
	wantFault(t, err, fault.MayHaveHappened, "not a ProwJob")
	body = ""
	_, missing, err := NewArtifacts(c).Job(t.Context(), aJobURL)
	if ok || missing || err != nil {
		t.Error(ok, missing, err)
	}
}
