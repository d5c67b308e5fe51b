package gangwaytest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"prowgate/gangway/gangwaytest"
)

const createBody = `{"job_name":"j","job_execution_type":"PERIODIC"}`

// outcome is what a client sees of a request.
type outcome struct {
	code int
	body string
	err  error
}

func post(ctx context.Context, c *http.Client, base string) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/executions", strings.NewReader(createBody))
	if err != nil {
		return outcome{err: err}
	}
	resp, err := c.Do(req)
	if err != nil {
		return outcome{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return outcome{resp.StatusCode, string(body), err}
}

// faultCases are the modes with what a client sees of them.
func faultCases() []struct {
	name  string
	fault gangwaytest.Fault
	seen  func(outcome) bool
} {
	timedOut := func(o outcome) bool {
		var n net.Error
		return errors.As(o.err, &n) && n.Timeout()
	}
	return []struct {
		name  string
		fault gangwaytest.Fault
		seen  func(outcome) bool
	}{
		{"answer", gangwaytest.Fault{Mode: gangwaytest.Answer}, func(o outcome) bool { return o.code == 500 && strings.Contains(o.body, "nginx") }},
		{"own answer", gangwaytest.Fault{Mode: gangwaytest.Answer, Status: 503, Body: `{"code":14}`}, func(o outcome) bool { return o.code == 503 && o.body == `{"code":14}` }},
		{"cut", gangwaytest.Fault{Mode: gangwaytest.Cut}, func(o outcome) bool { return o.err != nil && o.code == 0 }},
		{"cut body", gangwaytest.Fault{Mode: gangwaytest.CutBody}, func(o outcome) bool { return o.code == 200 && errors.Is(o.err, io.ErrUnexpectedEOF) }},
		{"empty object", gangwaytest.Fault{Mode: gangwaytest.EmptyObj}, func(o outcome) bool { return o.code == 200 && o.body == "{}" }},
		{"page", gangwaytest.Fault{Mode: gangwaytest.HTMLPage}, func(o outcome) bool { return o.code == 200 && strings.Contains(o.body, "<html>") }},
		{"time-out", gangwaytest.Fault{Mode: gangwaytest.Timeout}, timedOut},
	}
}

func TestFaultsAtBothMoments(t *testing.T) {
	for _, c := range faultCases() {
		for when, jobs := range map[gangwaytest.Moment]int{gangwaytest.Before: 0, gangwaytest.After: 1} {
			r := newRig(t, anyJob(gangwaytest.Hanging()))
			c.fault.When = when
			r.FailNext(gangwaytest.Create, c.fault)
			if o := post(t.Context(), r.client, "http://stand-in"); !c.seen(o) {
				t.Errorf("%s, in process: %+v", c.name, o)
			}
			if n := len(r.Jobs()); n != jobs {
				t.Errorf("%s at moment %d: %d jobs", c.name, when, n)
			}
			if o := post(t.Context(), r.client, "http://stand-in"); o.code != 200 || o.err != nil {
				t.Errorf("%s: the next request: %+v", c.name, o)
			}
		}
	}
}

func TestFaultsOverASocket(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	server := httptest.NewServer(http.StripPrefix("/prow", r.World))
	defer server.Close()
	for _, c := range faultCases() {
		ctx, cancel := context.WithCancel(t.Context())
		if c.fault.Mode == gangwaytest.Timeout {
			ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
		}
		r.FailNext(gangwaytest.Create, c.fault)
		if o := post(ctx, server.Client(), server.URL+"/prow"); !c.seen(o) {
			t.Errorf("%s: %+v", c.name, o)
		}
		cancel()
	}
	if o := post(t.Context(), server.Client(), server.URL+"/prow"); o.code != 200 || len(r.Jobs()) != 1 {
		t.Errorf("without a fault: %+v, %d jobs", o, len(r.Jobs()))
	}
}

func TestRefusedConnectionNeverArrives(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	r.FailNext(gangwaytest.Create, gangwaytest.Fault{Mode: gangwaytest.Refuse, When: gangwaytest.After})
	if o := post(t.Context(), r.client, "http://stand-in"); !errors.Is(o.err, syscall.ECONNREFUSED) {
		t.Errorf("%+v", o)
	}
	if len(r.Jobs()) != 0 || len(r.Requests()) != 0 || r.Count(gangwaytest.Create) != 1 {
		t.Errorf("%d jobs, requests %v", len(r.Jobs()), r.Requests())
	}
}

func TestEndedContextDoesNotReachTheWorld(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := post(ctx, r.client, "http://stand-in"); !errors.Is(o.err, context.Canceled) || len(r.Jobs()) != 0 {
		t.Errorf("%+v, %d jobs", o, len(r.Jobs()))
	}
}

func TestJobCreatedLateByDelay(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	r.FailNext(gangwaytest.Create, gangwaytest.Fault{Mode: gangwaytest.Timeout, When: gangwaytest.After, Delay: 10 * time.Second})
	if o := post(t.Context(), r.client, "http://stand-in"); o.err == nil {
		t.Errorf("%+v", o)
	}
	if n := len(r.list("job_name=j")); n != 0 {
		t.Errorf("listed at once: %d", n)
	}
	if e := r.after(10 * time.Second).execution("id-1"); e.CreateTime != "2026-11-02T10:00:10Z" || e.JobStatus != "TRIGGERED" {
		t.Errorf("%+v", e)
	}
}

func TestInterfereIsAskedOncePerRequest(t *testing.T) {
	var calls []gangwaytest.Call
	o := anyJob(gangwaytest.Hanging())
	o.Interfere = func(c gangwaytest.Call) gangwaytest.Fault {
		calls = append(calls, c)
		if c.Endpoint == gangwaytest.DeckJob && c.N == 2 {
			return gangwaytest.Fault{Mode: gangwaytest.Lost}
		}
		return gangwaytest.Fault{}
	}
	r := newRig(t, o)
	id := r.periodic("a")
	for i, want := range []int{200, 404, 200} {
		if code, _ := r.get("/prowjob?prowjob=" + id); code != want {
			t.Errorf("request %d: %d", i+1, code)
		}
	}
	want := []gangwaytest.Call{{Endpoint: gangwaytest.Create, N: 1}, {Endpoint: gangwaytest.DeckJob, N: 1}, {Endpoint: gangwaytest.DeckJob, N: 2}, {Endpoint: gangwaytest.DeckJob, N: 3}}
	if !slices.Equal(calls, want) {
		t.Errorf("asked %v", calls)
	}
}

func TestRateLimitCountsAsNginx(t *testing.T) {
	o := anyJob(gangwaytest.Hanging())
	o.RatePerMinute, o.Burst = 9, 5
	r := newRig(t, o)
	code := func() int {
		c, _ := r.get("/v1/executions?job_name=a")
		return c
	}
	for i := range 6 {
		if c := code(); c != 200 {
			t.Fatalf("request %d: %d", i+1, c)
		}
	}
	resp := r.send("POST", "/v1/executions", createBody)
	page, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != 429 || !strings.Contains(string(page), "nginx") || resp.Header.Get("Retry-After") != "" || len(r.Jobs()) != 0 {
		t.Errorf("the seventh: %d %v", resp.StatusCode, resp.Header)
	}
	if c, _ := r.get("/prowjobs.js"); c != 200 {
		t.Errorf("Deck is limited: %d", c)
	}
	r.after(6600 * time.Millisecond)
	if c := code(); c != 429 {
		t.Errorf("too early: %d", c)
	}
	r.after(67 * time.Millisecond)
	if a, b := code(), code(); a != 200 || b != 429 {
		t.Errorf("after one interval: %d, then %d", a, b)
	}
	if n := len(r.Requests()); n != 10 {
		t.Errorf("%d requests on record", n)
	}
}

func TestRetryAfterWhenConfigured(t *testing.T) {
	o := anyJob(gangwaytest.Hanging())
	o.RatePerMinute, o.RetryAfter = 1, "7"
	r := newRig(t, o)
	r.periodic("a")
	resp := r.send("GET", "/v1/executions", "")
	_ = resp.Body.Close()
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "7" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if got := r.Requests(); got[1].Status != 429 || got[1].Endpoint != gangwaytest.List || !got[1].At.Equal(r.now) {
		t.Errorf("on record: %+v", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	o := anyJob(gangwaytest.Passing(time.Minute))
	o.NewID = nil
	now := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	o.Clock = func() time.Time { return now }
	w := gangwaytest.New(o)
	client := &http.Client{Transport: w.Transport()}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			post(t.Context(), client, "http://stand-in")
			w.Jobs()
			_, _ = w.Snapshot()
		})
	}
	all.Wait()
	ids := map[string]bool{}
	for _, j := range w.Jobs() {
		ids[j.ID] = true
	}
	if len(ids) != 20 {
		t.Errorf("%d ids", len(ids))
	}
}
