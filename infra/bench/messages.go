package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"prowgate/infra/bench/report"
	"prowgate/shared/gate"
)

// callers is how many messages are under way at once: maxConcurrentCalls in host.json.
const callers = 8

// load is one kind of message. Its next returns the function and the document of the next one; it is called
// by all callers at once.
type load struct {
	name   string
	next   next
	beside next // for the handler that does nothing; nil: the same
}

type next func(ctx context.Context) (function string, document []byte, err error)

// turn is what one handler did in one turn.
type turn struct {
	messages float64
	took     time.Duration
	cpu      time.Duration // of the handler
	log      float64       // bytes that the handler has logged
}

// turns are what one handler did in all of them. Processor time comes in hundredths of a second, too coarse for one
// turn, so that it is added up.
type turns struct {
	rates []float64 // messages a second, of each turn
	sum   turn
}

func (t *turns) add(one turn) {
	t.rates = append(t.rates, one.messages/one.took.Seconds())
	t.sum.messages += one.messages
	t.sum.cpu += one.cpu
	t.sum.log += one.log
}

// cpu is of one message, in microseconds.
func (t *turns) cpu() float64 { return float64(t.sum.cpu) / float64(time.Microsecond) / t.sum.messages }

// messages compares the two handlers under each load.
func (b *bench) messages(ctx context.Context) ([]report.Row, error) {
	around, err := surround(ctx, b.clock)
	if err != nil {
		return nil, err
	}
	defer around.stop()
	path, err := b.handlerPath()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program: %w", err)
	}
	ours, err := b.launch(ctx, path, handlerEnv(around.prow, around.queues)...)
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	theirs, err := b.launch(ctx, self, nothingSetting+"=1")
	if err != nil {
		return nil, err
	}
	defer theirs.stop()
	loads, err := b.loads(ctx, around, ours.url)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	for _, l := range loads {
		more, err := b.compare(ctx, l, ours, theirs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		rows = append(rows, more...)
	}
	u, err := ours.use()
	rows = append(rows, report.Row{Name: "resident memory after all that", Value: report.MiB(u.Resident), Beside: "most: " + report.MiB(u.Peak)})
	return rows, err
}

// compare gives the two handlers the same load in turns.
func (b *bench) compare(ctx context.Context, l load, ours, theirs *process) ([]report.Row, error) {
	length, rounds := pick(b, 250*time.Millisecond, 50*time.Millisecond), pick(b, 11, 1)
	if l.beside == nil {
		l.beside = l.next
	}
	var our, their turns
	for range rounds {
		one, err := b.take(ctx, l.next, ours, length)
		if err != nil {
			return nil, err
		}
		our.add(one)
		if one, err = b.take(ctx, l.beside, theirs, length); err != nil {
			return nil, err
		}
		their.add(one)
	}
	rate, least := report.Median(our.rates), report.Median(their.rates)
	cpu, leastCPU := our.cpu(), their.cpu()
	return []report.Row{
		row(l.name, fmt.Sprintf("%.0f a second", rate), fmt.Sprintf("does nothing: %.0f a second", least), report.Ratio(rate, least)),
		row(
			fmt.Sprintf("  CPU for one (and %.0f bytes of log)", our.sum.log/our.sum.messages), fmt.Sprintf("%.0f µs", cpu),
			fmt.Sprintf("does nothing: %.0f µs", leastCPU), report.Ratio(cpu, leastCPU),
		),
	}, nil
}

// take lets all callers post to one handler for the given time.
func (b *bench) take(ctx context.Context, following next, p *process, length time.Duration) (turn, error) {
	before, err := p.use()
	if err != nil {
		return turn{}, err
	}
	logged := p.logged.Load()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	var done atomic.Int64
	errs := make([]error, callers)
	began := b.clock()
	for i := range callers {
		all.Go(func() {
			for errs[i] == nil && b.clock().Sub(began) < length {
				var function string
				var document []byte
				if function, document, errs[i] = following(ctx); errs[i] == nil {
					errs[i] = invoke(ctx, client, p.url+"/"+function, document)
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	took := b.clock().Sub(began)
	after, err := p.use()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		err = errs[i]
	}
	return turn{
		messages: float64(max(done.Load(), 1)), took: took,
		cpu: after.CPU - before.CPU, log: float64(p.logged.Load() - logged),
	}, err
}

// loads prepares the handler's gates and returns what can be asked of them.
func (b *bench) loads(ctx context.Context, around *surroundings, handler string) ([]load, error) {
	const gates = 256
	var repeated, late [][]byte
	for i := range gates {
		closed := gate.Gating{GateID: fmt.Sprintf("closed-%d", i), JobName: "e2e", Cloud: "public", Environment: "int", Region: "westus3", DryRun: true}
		open := closed
		open.GateID, open.DryRun, open.ExecutionID = fmt.Sprintf("open-%d", i), false, around.hang("e2e")
		for _, g := range []gate.Gating{closed, open} {
			document, err := b.document("submit", g.GateID, g)
			if err == nil {
				err = invoke(ctx, http.DefaultClient, handler+"/submit", document)
			}
			if err != nil {
				return nil, err
			}
			if g.DryRun {
				repeated = append(repeated, document)
			}
		}
		document, err := b.document("poll", "late", gate.Tick{GateID: open.GateID, Seq: 0})
		if err != nil {
			return nil, err
		}
		late = append(late, document)
	}
	var number atomic.Int64
	rota := func(function string, documents [][]byte) next {
		return func(context.Context) (string, []byte, error) {
			return function, documents[int(number.Add(1))%len(documents)], nil
		}
	}
	return []load{
		{name: "a tick that came late: load, decide", next: rota("poll", late)},
		{name: "a gating message again: check, load, decide", next: rota("submit", repeated)},
		{name: "a dry run: check, save, send, save", next: func(context.Context) (string, []byte, error) {
			id := fmt.Sprintf("dry-%d", number.Add(1))
			g := gate.Gating{GateID: id, JobName: "e2e", Cloud: "public", Environment: "int", Region: "westus3", DryRun: true}
			document, err := b.document("submit", id, g)
			return "submit", document, err
		}},
		{name: "a tick: ask Deck, save, send the next", beside: rota("poll", late), next: func(ctx context.Context) (string, []byte, error) {
			select {
			case tick := <-around.ticks:
				document, err := invocation("poll", "tick", tick, b.clock())
				return "poll", document, err
			case <-ctx.Done():
				return "", nil, context.Cause(ctx)
			}
		}},
	}, nil
}

// document is the invocation for one message.
func (b *bench) document(function, id string, message any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return invocation(function, id, body, b.clock())
}
