package gangway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

// Deck reads jobs from Prow's web server. It needs no token and is under no rate limit. Reading has no side
// effect, so whatever kind an error has, reading again is safe. It may be used by many goroutines at once.
type Deck struct {
	caller *caller
	base   *url.URL
}

// NewDeck returns a client of c.ProwURL.
func NewDeck(c Config) *Deck { return &Deck{caller: newCaller(c), base: c.ProwURL} }

// Job returns one job, read live. ok is false on 404, which Deck also answers when it could not read the
// job just now (prow, cmd/deck/main.go, handleProwJob).
func (d *Deck) Job(ctx context.Context, executionID string) (j prow.Job, ok bool, err error) {
	const op = "read job"
	if !validID(executionID) {
		return prow.Job{}, false, &fault.Error{Kind: fault.Refused, Op: op, Text: "not an execution id"}
	}
	target := below(d.base, "/prowjob", url.Values{"prowjob": {executionID}})
	body, err := d.caller.do(ctx, call{op: op, method: http.MethodGet, url: target, limit: maxProwJob, timeout: ReadTimeout})
	if errors.Is(err, httpStatus(http.StatusNotFound)) {
		return prow.Job{}, false, nil
	}
	if err != nil {
		return prow.Job{}, false, err
	}
	j, err = ParseProwJob(body)
	if err == nil && j.ID != executionID {
		err = errOtherJob
	}
	if err != nil {
		return prow.Job{}, false, &fault.Error{Op: op, Text: fault.Line(err.Error()), Err: err}
	}
	return j, true, nil
}

var errOtherJob = errors.New("the answer is about another job")

// Jobs returns those jobs of Deck's list that keep wants, or all when keep is nil. keep sees every job, in
// Deck's order, newest first. The list is read as a stream, so that only the kept jobs stay in memory, and
// comes whole or not at all. Its age: Deck refreshes it every 30 s, and goes on serving the old one when a
// refresh fails (prow, pkg/deck/jobs/jobs.go, tryUpdate), so At is the answer's age and not the list's.
func (d *Deck) Jobs(ctx context.Context, keep func(prow.Job) bool) (prow.Listing, error) {
	const op = "list jobs"
	ctx, cancel := context.WithTimeout(ctx, ListingTimeout)
	defer cancel()
	target := below(d.base, "/prowjobs.js", url.Values{"omit": {"decoration_config,pod_spec"}})
	resp, err := d.caller.open(ctx, call{op: op, method: http.MethodGet, url: target})
	if err != nil {
		return prow.Listing{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body := bufio.NewReader(resp.Body)
	if start, _ := body.Peek(512); isHTML(resp.Header, start) {
		return prow.Listing{}, &fault.Error{Op: op, Text: htmlText}
	}
	list := prow.Listing{}
	if list.Jobs, list.Seen, err = decodeJobs(body, keep); err != nil {
		text := fmt.Sprintf("after %d jobs: %s", list.Seen, fault.Reason(err))
		return prow.Listing{}, &fault.Error{Op: op, Text: text, Err: err}
	}
	// No Date, no age: At stays zero.
	list.At, _ = http.ParseTime(resp.Header.Get("Date"))
	return list, nil
}
