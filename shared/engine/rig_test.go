package engine_test

import (
	"context"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/engine"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// rig is an engine with everything around it under the test's control.
type rig struct {
	*engine.Engine
	now     time.Time
	store   *brokenStore
	sent    []queue.Message
	queues  []string
	sendErr error

	created   []prow.Submission
	createErr error
	aborted   []prow.Abort
	abortErr  error
	job       prow.Job
	listing   prow.Listing
	objects   map[string]string
	onCreate  func()
}

func newRig() *rig {
	r := &rig{now: start, store: &brokenStore{Store: memory.New()}}
	r.Engine = engine.New(engine.Parts{
		Gangway: r, Deck: deck{r}, Artifacts: artifacts{r}, Store: r.store, Queue: r,
		Queues: engine.Queues{Poll: "poll", Completion: "completion"},
		Clock:  func() time.Time { return r.now }, RatePerMinute: 9, Burst: 5,
	})
	return r
}

func (r *rig) Create(_ context.Context, s prow.Submission) (string, error) {
	if r.onCreate != nil {
		r.onCreate()
	}
	r.created = append(r.created, s)
	return "e1", r.createErr
}

func (r *rig) Abort(_ context.Context, a prow.Abort) error {
	r.aborted = append(r.aborted, a)
	return r.abortErr
}

func (r *rig) Send(_ context.Context, name string, m queue.Message) error {
	if r.sendErr != nil {
		return r.sendErr
	}
	r.sent, r.queues = append(r.sent, m), append(r.queues, name)
	return nil
}

type deck struct{ *rig }

func (d deck) Job(context.Context, string) (prow.Job, bool, error) { return d.job, d.job.ID != "", nil }

func (d deck) Jobs(_ context.Context, keep func(prow.Job) bool) (prow.Listing, error) {
	l := prow.Listing{At: d.listing.At, Seen: len(d.listing.Jobs)}
	for _, j := range d.listing.Jobs {
		if keep(j) {
			l.Jobs = append(l.Jobs, j)
		}
	}
	return l, nil
}

type artifacts struct{ *rig }

func (a artifacts) List(context.Context, string) ([]string, error) {
	var names []string
	for name := range a.objects {
		names = append(names, name)
	}
	return names, nil
}

func (a artifacts) Read(_ context.Context, _, name string) ([]byte, bool, error) {
	body, ok := a.objects[name]
	if body == "large" {
		return nil, false, &fault.Error{Kind: fault.Refused, Text: "larger than 1 MiB"}
	}
	return []byte(body), ok, nil
}

func (a artifacts) Job(context.Context, string) (prow.Job, bool, error) {
	return prow.Job{}, false, nil
}

// brokenStore fails or interferes when it is told to.
type brokenStore struct {
	store.Store
	before, after    error
	onSave, onDelete func()
}

func (s *brokenStore) Delete(ctx context.Context, key, version string) error {
	if f := s.onDelete; f != nil {
		s.onDelete = nil
		f()
	}
	return s.Store.Delete(ctx, key, version)
}

func (s *brokenStore) Save(ctx context.Context, e store.Entry) (string, error) {
	if f := s.onSave; f != nil {
		s.onSave = nil
		f()
	}
	if s.before != nil {
		return "", s.before
	}
	version, err := s.Store.Save(ctx, e)
	if s.after != nil {
		return "", s.after
	}
	return version, err
}

func gating(t *testing.T, fields string) gate.Gating {
	t.Helper()
	g, rejection, err := gate.ParseGating([]byte(
		`{"gateId":"g1","jobName":"e2e","cloud":"public","environment":"int","region":"westus3"` + fields + `}`))
	if err != nil || rejection != nil {
		t.Fatal(err, rejection)
	}
	return g
}

// ownJob is the running job of g1, with all that Gangway selects by.
func ownJob() prow.Job {
	return prow.Job{
		ID: "e1", Name: "e2e", Type: prow.Periodic, State: prow.Pending, StartTime: start,
		ExtraRefs: []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}}, Labels: map[string]string{gate.KeyGateID: "g1"},
	}
}

func (r *rig) record(t *testing.T) gate.Record {
	t.Helper()
	e, ok, err := r.store.Load(t.Context(), "gate:g1")
	if err != nil || !ok {
		t.Fatal("no record", err)
	}
	rec, err := gate.DecodeRecord(e.Body)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
