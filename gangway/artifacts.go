package gangway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

// The most of a listing that is read: pages, 1,000 names on each, and bytes of all names together. Real runs
// have some thousand names of about 100 bytes.
const (
	maxPages = 200
	maxNames = 16 << 20
)

// Artifacts reads what runs have uploaded, without credentials, from a server that speaks Google Cloud
// Storage's two read APIs. Only URLs below the configured base are ever requested, and redirects are
// followed on the same host only. It may be used by many goroutines at once.
type Artifacts struct {
	caller *caller
	base   *url.URL
}

// NewArtifacts returns a client of c.ArtifactsURL.
func NewArtifacts(c Config) *Artifacts { return &Artifacts{caller: newCaller(c), base: c.ArtifactsURL} }

// page is one answer of the JSON API's object listing.
type page struct {
	Items []struct {
		Name string `json:"name"`
	} `json:"items"`
	NextPageToken string `json:"nextPageToken"`
}

// List returns the names of all objects below the run's root, relative to it, in the server's order. All
// pages are read, or an error comes back. It takes ListingTimeout at most.
func (a *Artifacts) List(ctx context.Context, jobURL string) ([]string, error) {
	at, err := parseJobURL(jobURL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ListingTimeout)
	defer cancel()
	var names []string
	size, tokens := 0, map[string]bool{}
	for token := ""; ; {
		p, err := a.page(ctx, at, token)
		if err != nil {
			return nil, err
		}
		names = append(names, p.below(at.path+"/")...)
		size += p.size()
		token = p.NextPageToken
		switch {
		case token == "" && size <= maxNames:
			return names, nil
		case tokens[token]:
			return nil, &fault.Error{Op: opListing, Text: "the pages go round in a circle"}
		case len(tokens)+1 >= maxPages || size > maxNames:
			return nil, &fault.Error{Kind: fault.Refused, Op: opListing, Text: "the run has too many artifacts"}
		}
		tokens[token] = true
	}
}

const opListing = "list artifacts"

func (a *Artifacts) page(ctx context.Context, at root, token string) (page, error) {
	query := url.Values{"prefix": {at.path + "/"}, "fields": {"items(name),nextPageToken"}}
	if token != "" {
		query.Set("pageToken", token)
	}
	body, err := a.caller.do(ctx, call{
		op: opListing, method: http.MethodGet, limit: maxPage, timeout: ReadTimeout,
		url: below(a.base, "/storage/v1/b/"+at.bucket+"/o", query),
	})
	if err != nil {
		return page{}, err
	}
	var p page
	if err := json.Unmarshal(body, &p); err != nil {
		return page{}, &fault.Error{Op: opListing, Text: "the answer is not the JSON that was expected", Err: err}
	}
	return p, nil
}

// size is how many bytes the names hold.
func (p page) size() (n int) {
	for _, item := range p.Items {
		n += len(item.Name)
	}
	return n
}

// below returns the names that begin with prefix, without it.
func (p page) below(prefix string) []string {
	var names []string
	for _, item := range p.Items {
		if name, ok := strings.CutPrefix(item.Name, prefix); ok && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Read returns one object below the run's root, unpacked if it was stored packed; ok is false when it is
// not there. One that is larger than 1 MiB is Refused.
func (a *Artifacts) Read(ctx context.Context, jobURL, name string) (body []byte, ok bool, err error) {
	const op = "read artifact"
	at, err := parseJobURL(jobURL)
	if err != nil {
		return nil, false, err
	}
	if !validName(name) {
		return nil, false, &fault.Error{Kind: fault.Refused, Op: op, Text: "not the name of an artifact"}
	}
	body, err = a.caller.do(ctx, call{
		op: op, method: http.MethodGet, limit: maxAnswer, timeout: ReadTimeout, oversize: fault.Refused,
		url:  below(a.base, "/"+at.bucket+"/"+at.path+"/"+name, nil),
		html: strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".htm"),
	})
	if errors.Is(err, httpStatus(http.StatusNotFound)) {
		return nil, false, nil
	}
	return body, err == nil, err
}

// Job returns the ProwJob that the run keeps beside its artifacts, as it was when Prow last reported it
// (prow, pkg/crier/reporters/gcs); ok is false when there is none. The caller checks that it is the job it
// looks for.
func (a *Artifacts) Job(ctx context.Context, jobURL string) (j prow.Job, ok bool, err error) {
	body, ok, err := a.Read(ctx, jobURL, "prowjob.json")
	if err != nil || !ok {
		return prow.Job{}, false, err
	}
	if j, err = ParseProwJob(body); err != nil {
		return prow.Job{}, false, &fault.Error{Op: "read prowjob.json", Text: fault.Line(err.Error()), Err: err}
	}
	return j, true, nil
}
