// Package gangwaytest stands in for Gangway, Deck and the artifacts bucket: one http.Handler with the
// real servers' status codes, semantics and flaws. Tests mount it with httptest, the simulator calls it
// in process through Transport, the local host serves it on a port.
//
// It owns no goroutine and no timer. What a job looks like is a function of its creation, its Script,
// the changes made to it and the time that Options.Clock tells, so that runs repeat exactly under a
// virtual clock and a Snapshot loses nothing. It speaks the JSON with structs of its own, so that a
// mistake in the client is not repeated here.
//
// Entry point: New. Rules are taken from kubernetes-sigs/prow: pkg/gangway, cmd/deck, pkg/plank,
// cmd/sinker.
package gangwaytest

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Bucket is the name of the artifacts bucket.
const Bucket = "test-platform-results"

const (
	defaultBaseURL  = "https://prow.ci.openshift.org"
	defaultCacheAge = 30 * time.Second // prow, pkg/deck/jobs/jobs.go
	defaultPageSize = 1000             // the storage API's maxResults
	maxJobAge       = 24 * time.Hour   // sinker's max_prowjob_age in OpenShift CI
	stopDelay       = 2 * time.Second  // until plank has deleted an aborted job's pod and set its completion time
	patchDelay      = 2 * time.Second  // until plank's own patch overwrites a change it did not know of
)

// Options are what a World is made of. Only Clock is required.
type Options struct {
	Clock func() time.Time // asked once per request
	NewID func() string    // execution ids; nil: random UUIDs

	Token         string // the bearer token that Gangway wants; "": any
	BulkForbidden bool   // the token lacks the right to the bulk path: 403 there alone
	RatePerMinute int    // of requests to Gangway, all endpoints together; 0: no limit
	Burst         int    // how many may come at once beyond the first (nginx, nodelay)
	RetryAfter    string // header on a 429; "": none, as usual

	BaseURL  string        // external base of job URLs, without a trailing slash; "": OpenShift CI's Deck
	CacheAge time.Duration // how often Deck refreshes its list; 0: 30 s
	OldDeck  bool          // the list ignores org and repo
	JSONJobs bool          // /prowjob answers JSON, which is YAML too, and cheaper to make
	PageSize int           // most objects on a page of a bucket listing; 0: 1000

	// BulkDelay is the time between the answer to a bulk change and its work; 0: 1 to 2 s, varying.
	BulkDelay time.Duration

	// ScriptFor finds a job's script by name, after the ones set by SetScript and before AnyJob.
	ScriptFor func(jobName string) (Script, bool)
	AnyJob    *Script // for names that have no script; nil: such a job is unknown

	// Interfere is asked once per request that FailNext has nothing for. It must not call the World.
	Interfere func(Call) Fault
	// Changed is called after each request or call that changed what Snapshot returns. It may call
	// Snapshot.
	Changed func()
}

// World is Gangway, Deck and the bucket. Its methods may be called at once from many goroutines.
type World struct {
	opts Options

	mu       sync.Mutex
	jobs     []*job // in order of creation
	byID     map[string]*job
	builds   map[string]build // by path in the bucket
	scripts  map[string]Script
	bulks    []bulk // accepted, not yet applied
	bulkSeq  int
	counts   map[Endpoint]int
	requests []Request
	planned  map[Endpoint][]Fault
	limit    limiter
}

// New returns an empty World.
func New(o Options) *World {
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.BaseURL == "" {
		o.BaseURL = defaultBaseURL
	}
	if o.CacheAge <= 0 {
		o.CacheAge = defaultCacheAge
	}
	if o.PageSize <= 0 {
		o.PageSize = defaultPageSize
	}
	return &World{
		opts:    o,
		byID:    map[string]*job{},
		builds:  map[string]build{},
		scripts: map[string]Script{},
		counts:  map[Endpoint]int{},
		planned: map[Endpoint][]Fault{},
	}
}

// SetScript gives all jobs of this name that are created from now on the script s.
func (w *World) SetScript(jobName string, s Script) {
	w.change(func(time.Time) { w.scripts[jobName] = s })
}

// change runs f under the lock, with everything that is due already applied, and reports the change.
func (w *World) change(f func(now time.Time)) {
	w.locked(f)
	w.changed()
}

func (w *World) locked(f func(now time.Time)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.opts.Clock()
	w.advance(now)
	f(now)
}

func (w *World) changed() {
	if w.opts.Changed != nil {
		w.opts.Changed()
	}
}

// add takes a job into the world.
func (w *World) add(j *job) {
	w.jobs = append(w.jobs, j)
	w.byID[j.ID] = j
	for n := range j.Script.pods() {
		w.builds[j.path(n)] = build{job: j, n: n}
	}
}

// find returns the job of this id if the cluster holds it at t.
func (w *World) find(id string, t time.Time) (*job, status, bool) {
	j, ok := w.byID[id]
	if !ok {
		return nil, status{}, false
	}
	s, ok := j.seenAt(t)
	return j, s, ok
}

// script returns the script of a job by its name.
func (w *World) script(jobName string) (Script, bool) {
	if s, ok := w.scripts[jobName]; ok {
		return s, true
	}
	if w.opts.ScriptFor != nil {
		if s, ok := w.opts.ScriptFor(jobName); ok {
			return s, true
		}
	}
	if w.opts.AnyJob != nil {
		return *w.opts.AnyJob, true
	}
	return Script{}, false
}

// sortedSteps returns a copy of steps in order of time.
func sortedSteps(steps []Step) []Step {
	steps = slices.Clone(steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return int(a.After - b.After) })
	return steps
}
