package gangwaytest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// build is one of a job's runs: a revived pod makes another one, with a folder of its own.
type build struct {
	job *job
	n   int
}

// object is what the bucket holds under one name.
type object struct {
	at   time.Time
	body string
	gzip bool
}

// objects returns what the build has uploaded by t, by path below its root.
func (w *World) objects(b build, t time.Time) map[string]object {
	j := b.job
	var h history
	s := j.at(t, &h)
	if b.n >= len(h.pods) {
		return nil
	}
	found := map[string]object{}
	w.addProwFiles(found, b, h, s)
	for _, a := range j.Script.Artifacts {
		at := j.Created.Add(a.After)
		if at.After(t) || !h.writes(b.n, at) || at.Before(found[a.Path].at) {
			continue
		}
		body := strings.ReplaceAll(a.Body, "$TIMESTAMP", strconv.FormatInt(at.Unix(), 10))
		found[a.Path] = object{at: at, body: body, gzip: a.Gzip}
	}
	if stopped := h.cut.Add(stopDelay); !h.cut.IsZero() && b.n == len(h.pods)-1 && !stopped.After(t) {
		found["finished.json"] = object{at: stopped, body: fmt.Sprintf(
			`{"timestamp":%d,"passed":false,"result":"ABORTED"}`, stopped.Unix())}
	}
	return found
}

// writes reports whether the n-th pod was running at a time.
func (h history) writes(n int, at time.Time) bool {
	replaced := n+1 < len(h.pods) && !at.Before(h.pods[n+1])
	stopped := !h.cut.IsZero() && !at.Before(h.cut)
	return !at.Before(h.pods[n]) && !replaced && !stopped
}

// addProwFiles adds what Prow itself uploads: started.json, and prowjob.json as it was when crier last
// reported (prow, pkg/crier/reporters/gcs).
func (w *World) addProwFiles(found map[string]object, b build, h history, s status) {
	started := h.pods[b.n]
	found["started.json"] = object{at: started, body: fmt.Sprintf(`{"timestamp":%d}`, started.Unix())}
	reported := started
	if !s.Completed.IsZero() && b.n == len(h.pods)-1 {
		reported = s.Completed
	}
	found["prowjob.json"] = object{at: reported, body: string(marshal(w.prowJob(b.job, b.job.at(reported, nil))))}
}

// readObject serves one object without a login. Compressed ones are sent so to those who accept it.
func (w *World) readObject(c *call) reply {
	for _, root := range w.roots(c.arg) {
		o, ok := w.objects(w.builds[root], c.now)[strings.TrimPrefix(c.arg, root+"/")]
		if !ok || c.fault.Mode == Lost {
			continue
		}
		r := newReply(http.StatusOK, contentType(c.arg), []byte(o.body))
		r.header.Set("Last-Modified", o.at.UTC().Format(http.TimeFormat))
		if o.gzip && strings.Contains(c.Header.Get("Accept-Encoding"), "gzip") {
			r.header.Set("Content-Encoding", "gzip")
			r.body = compressed(r.body)
		}
		return r
	}
	return newReply(http.StatusNotFound, "application/xml; charset=UTF-8", []byte(
		`<?xml version='1.0' encoding='UTF-8'?><Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>`))
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

func contentType(name string) string {
	if path.Ext(name) == ".json" {
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

// roots returns the folders of builds whose objects may have names that begin with name.
func (w *World) roots(name string) []string {
	if parts := strings.SplitN(name, "/", 4); len(parts) == 4 {
		root := strings.Join(parts[:3], "/")
		if _, ok := w.builds[root]; ok {
			return []string{root}
		}
		return nil
	}
	var found []string
	for root := range w.builds {
		if strings.HasPrefix(root, name) {
			found = append(found, root)
		}
	}
	return found
}

type (
	objectPage struct {
		Kind          string       `json:"kind"`
		NextPageToken string       `json:"nextPageToken,omitempty"`
		Items         []objectItem `json:"items,omitempty"`
	}
	objectItem struct {
		Kind        string `json:"kind"`
		Name        string `json:"name"`
		Bucket      string `json:"bucket"`
		Size        string `json:"size"`
		ContentType string `json:"contentType"`
		Updated     string `json:"updated"`
	}
)

// listObjects serves a page of the storage JSON API. A page token is opaque to the client.
func (w *World) listObjects(c *call) reply {
	q := c.URL.Query()
	size := w.opts.PageSize
	if n, err := strconv.Atoi(q.Get("maxResults")); err == nil && n > 0 {
		size = min(size, n)
	}
	after, err := base64.StdEncoding.DecodeString(q.Get("pageToken"))
	if err != nil {
		return jsonReply(http.StatusBadRequest, []byte(`{"error":{"code":400,"message":"Invalid argument."}}`))
	}
	page := objectPage{Kind: "storage#objects"}
	if c.fault.Mode == Lost {
		return jsonReply(http.StatusOK, marshal(page))
	}
	for _, o := range w.matching(q.Get("prefix"), c.now) {
		if o.Name <= string(after) {
			continue
		}
		if len(page.Items) == size {
			page.NextPageToken = base64.StdEncoding.EncodeToString([]byte(page.Items[size-1].Name))
			break
		}
		page.Items = append(page.Items, o)
	}
	return jsonReply(http.StatusOK, marshal(page))
}

// matching returns all objects whose names begin with prefix, in order of name.
func (w *World) matching(prefix string, now time.Time) []objectItem {
	var found []objectItem
	for _, root := range w.roots(prefix) {
		objects := w.objects(w.builds[root], now)
		for name, o := range objects {
			full := root + "/" + name
			if !strings.HasPrefix(full, prefix) {
				continue
			}
			found = append(found, objectItem{
				Kind: "storage#object", Name: full, Bucket: Bucket, Size: strconv.Itoa(len(o.body)),
				ContentType: contentType(name), Updated: kubeTime(o.at),
			})
		}
	}
	slices.SortFunc(found, func(a, b objectItem) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// view is a small page about a run, in place of Deck's Spyglass.
func (w *World) view(c *call) reply {
	root := strings.Trim(c.arg, "/")
	b, ok := w.builds[root]
	if !ok {
		return textReply(http.StatusNotFound, "no such run")
	}
	page := struct {
		Job, ID, State, Description, Base string
		Objects                           []string
	}{Job: b.job.Name, ID: b.job.ID, Base: w.opts.BaseURL + "/" + Bucket + "/" + root + "/"}
	s := b.job.at(c.now, nil)
	page.State, page.Description = string(s.State), s.Description
	page.Objects = slices.Sorted(maps.Keys(w.objects(b, c.now)))
	var out strings.Builder
	if err := viewTemplate().Execute(&out, page); err != nil {
		return textReply(http.StatusInternalServerError, err.Error())
	}
	return htmlReply(http.StatusOK, out.String())
}

func viewTemplate() *template.Template {
	return template.Must(template.New("view").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Job}}</title></head>
<body><h1>{{.Job}}</h1>
<p>{{.ID}}: <strong>{{.State}}</strong> {{.Description}}</p>
<ul>{{range .Objects}}<li><a href="{{$.Base}}{{.}}">{{.}}</a></li>{{end}}</ul>
</body></html>
`))
}
