package sim

import (
	"container/heap"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"prowgate/gangway"
	"prowgate/gangway/gangwaytest"
	"prowgate/shared/engine"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

// epoch is when every world begins; an odd second, so that nothing works by being aligned.
var epoch = time.Date(2026, 11, 30, 12, 0, 7, 0, time.UTC)

const (
	submitQueue, pollQueue    = "gate-submit", "gate-poll"
	cancelQueue, finishQueue  = "gate-cancel", "gate-completion"
	ratePerMinute, burst      = 9, 5
	sweepEvery                = time.Minute
	lockFor, duplicatesWithin = time.Minute, 10 * time.Minute
)

// world is one run.
type world struct {
	opts   Options
	rng    *rand.Rand
	now    time.Time
	tasks  tasks
	order  int
	rates  rates
	calmAt time.Time // when faults stop
	endAt  time.Time // when the world gives up waiting for the gates

	prow      *gangwaytest.World
	broker    *broker.Broker
	store     *memory.Store
	instances []*instance
	running   *fiber

	gates      []*plannedGate
	byID       map[string]*plannedGate
	sent       []time.Time // when requests to Gangway were sent
	ids        int
	orphan     string // the execution id of a job that no gate owns, and that is to be aborted
	arrivals   int    // seconds in which the gating messages come
	nextLook   time.Time
	lastPost   time.Time // when the pipeline's last message comes
	noSweep    bool      // a mistake
	over       bool      // every gate is closed and nothing moves
	counts     map[string]int
	violations []string
	trace      []string
	closedAt   time.Time
	lastJobAt  time.Time
}

// instance is one process of the program.
type instance struct {
	number int
	skew   time.Duration // its clock is ahead of the world's by that much
	engine *engine.Engine
	fibers []*fiber
}

// task is something that happens at a time.
type task struct {
	at    time.Time
	order int
	do    func()
}

type tasks []task

func (t tasks) Len() int { return len(t) }
func (t tasks) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].order < t[j].order
}
func (t tasks) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *tasks) Push(x any)   { *t = append(*t, x.(task)) }
func (t *tasks) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

func newWorld(o Options) *world {
	w := &world{
		opts: o, rng: rand.New(rand.NewPCG(o.Seed, 0x70726f77)), now: epoch,
		counts: map[string]int{}, byID: map[string]*plannedGate{}, store: memory.New(),
	}
	w.rates = w.drawRates()
	clock := func() time.Time { return w.now }
	w.prow = gangwaytest.New(gangwaytest.Options{
		Clock: clock, NewID: w.newID("exec"), BaseURL: "https://prow.test", JSONJobs: true,
		RatePerMinute: w.serverRate(), Burst: burst, Interfere: w.interfere, PageSize: 5,
	})
	w.broker = broker.New(broker.Config{
		Clock: clock, NewLock: w.newID("lock"),
		Queues: []broker.QueueConfig{
			{Name: submitQueue, LockDuration: lockFor, DuplicateWindow: duplicatesWithin},
			{Name: pollQueue, LockDuration: lockFor, DuplicateWindow: duplicatesWithin},
			{Name: cancelQueue, LockDuration: lockFor, DuplicateWindow: duplicatesWithin},
			{Name: finishQueue, Sessions: true, DefaultTTL: 24 * time.Hour},
		},
	})
	for i := range 1 + w.rng.IntN(3) {
		w.instances = append(w.instances, w.newInstance(i))
	}
	return w
}

func (w *world) newInstance(number int) *instance {
	in := &instance{number: number}
	if !w.opts.Calm {
		in.skew = time.Duration(w.rng.IntN(16)-8) * time.Second
	}
	base, _ := url.Parse("https://prow.test")
	clock := func() time.Time { return w.now.Add(in.skew) }
	cfg := gangway.Config{GangwayURL: base, ProwURL: base, ArtifactsURL: base, Transport: wire{w}, Clock: clock}
	parts := engine.Parts{
		Gangway: gangway.NewClient(cfg), Deck: gangway.NewDeck(cfg), Artifacts: gangway.NewArtifacts(cfg),
		Store: faultyStore{w, w.store}, Queue: faultyQueue{w}, Clock: clock,
		Queues:        engine.Queues{Poll: pollQueue, Completion: finishQueue},
		RatePerMinute: ratePerMinute, Burst: burst, ExclusiveLabels: w.rates.exclusive,
		Log: slog.New(markerWatch{w}),
	}
	if w.opts.Mistake != nil {
		w.opts.Mistake.build(w, &parts)
	}
	in.engine = engine.New(parts)
	return in
}

// newID returns a source of names that repeat from run to run.
func (w *world) newID(prefix string) func() string {
	return func() string {
		w.ids++
		return fmt.Sprintf("%s-%d", prefix, w.ids)
	}
}

// at plans something.
func (w *world) at(t time.Time, do func()) {
	w.order++
	heap.Push(&w.tasks, task{at: t, order: w.order, do: do})
}

func (w *world) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

// play lets time pass until every gate is closed and nothing moves any more.
func (w *world) play() {
	w.at(epoch.Add(sweepEvery), w.sweep)
	for len(w.tasks) > 0 && !w.now.After(w.endAt) && !w.over {
		t := heap.Pop(&w.tasks).(task)
		if t.at.After(w.now) {
			w.now = t.at
		}
		t.do()
		w.deliver()
	}
}

// deliver hands every message that is there to an instance, and comes back when the next one is due.
func (w *world) deliver() {
	ctx := context.Background()
	for _, name := range []string{submitQueue, pollQueue, cancelQueue} {
		for {
			d, ok, err := w.broker.TryReceive(ctx, name, "")
			if err != nil || !ok {
				break
			}
			w.handle(name, d)
		}
	}
	next, ok := w.broker.NextEvent()
	if ok && (w.nextLook.IsZero() || !w.nextLook.After(w.now) || next.Before(w.nextLook)) {
		w.nextLook = next
		w.at(next, func() { w.nextLook = time.Time{} })
	}
}

// handle runs the function of a queue on one of the instances, and settles as the Functions host does.
func (w *world) handle(name string, d queue.Delivery) {
	in := w.instances[w.rng.IntN(len(w.instances))]
	w.tracef("%s <- %s (delivery %d)", name, d.Body, d.DeliveryCount)
	w.start(in, name+" "+d.ID, func(ctx context.Context) error {
		return function(ctx, in.engine, name, d.Body)
	}, func(f *fiber) {
		if f.err == nil {
			_ = w.broker.Complete(context.Background(), name, d)
			w.completed(name, d)
			return
		}
		w.count("handler failed")
		if !f.hurt {
			w.violate(8, "%s was failed, though neither store nor queue had failed: %v", f.name, f.err)
		}
		_ = w.broker.Abandon(context.Background(), name, d)
	})
}

// function decodes and calls the engine as the functions of the product do.
func function(ctx context.Context, e *engine.Engine, name string, body []byte) error {
	switch name {
	case submitQueue:
		g, rejection, err := gate.ParseGating(body)
		if err != nil {
			return err
		}
		if rejection != nil {
			return e.Reject(ctx, *rejection)
		}
		return e.Submit(ctx, g)
	case cancelQueue:
		c, err := gate.ParseCancel(body)
		if err != nil {
			return err
		}
		return e.Cancel(ctx, c)
	}
	t, err := gate.ParseTick(body)
	if err != nil {
		return err
	}
	return e.Poll(ctx, t)
}

// sweep runs the timer's function until every gate is closed.
func (w *world) sweep() {
	if w.quiet() {
		w.over = true
		return
	}
	w.after(sweepEvery, w.sweep)
	if w.noSweep {
		return
	}
	in := w.instances[w.rng.IntN(len(w.instances))]
	w.start(in, "sweep", in.engine.Sweep, func(*fiber) {})
}

// quiet reports whether nothing is left to happen but removals: every gate is closed, and no message
// waits.
func (w *world) quiet() bool {
	if w.now.Before(w.calmAt) || w.now.Before(w.lastPost) || !w.settled(submitQueue) || !w.settled(cancelQueue) {
		return false
	}
	for _, in := range w.instances {
		if len(in.fibers) > 0 {
			return false
		}
	}
	if !w.closed(gate.AbortKeyPrefix+w.orphan) && w.orphan != "" {
		return false
	}
	for _, g := range w.gates {
		if !g.arrived || !w.closed(gate.KeyPrefix+g.id) {
			return false
		}
	}
	return true
}

// closed reports whether nothing but its removal is left to happen to a record.
func (w *world) closed(key string) bool {
	r, ok := w.record(key)
	return ok && !r.Due().Before(w.now.Add(24*time.Hour))
}

// settled reports whether no message of a queue is left.
func (w *world) settled(name string) bool {
	c, err := w.broker.Counts(context.Background(), name)
	return err == nil && c.Active+c.Scheduled+c.Locked == 0
}

func (w *world) record(key string) (gate.Record, bool) {
	e, ok, err := w.store.Load(context.Background(), key)
	if err != nil || !ok {
		return gate.Record{}, false
	}
	r, err := gate.DecodeRecord(e.Body)
	return r, err == nil
}

func (w *world) count(name string) { w.counts[name]++ }

func (w *world) tracef(format string, args ...any) {
	if w.opts.Trace {
		w.trace = append(w.trace, fmt.Sprintf("%10s ", w.now.Sub(epoch))+fmt.Sprintf(format, args...))
	}
}

func (w *world) violate(invariant int, format string, args ...any) {
	text := fmt.Sprintf("invariant %d: ", invariant) + fmt.Sprintf(format, args...)
	w.violations = append(w.violations, text)
	w.tracef("VIOLATED %s", text)
}

// markerWatch is a log that only looks for markers.
type markerWatch struct{ w *world }

func (m markerWatch) Enabled(context.Context, slog.Level) bool { return true }
func (m markerWatch) WithAttrs([]slog.Attr) slog.Handler       { return m }
func (m markerWatch) WithGroup(string) slog.Handler            { return m }
func (m markerWatch) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	if gate.HasMarker(text) {
		m.w.violate(5, "a marker in the log: %s", text)
	}
	m.w.tracef("log %s", strings.TrimSpace(text))
	return nil
}

var _ store.Store = (*memory.Store)(nil)
