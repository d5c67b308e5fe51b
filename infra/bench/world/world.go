// Package world runs the real engine in virtual time: the broker, the store in memory, the clients of
// Prow and the stand-in for Prow, with no fault and no delay but those of the design, and counts what goes
// over each of the wires. A day of gates takes seconds, and every run gives the same numbers.
//
// Entry points: New, World.Send and World.Play.
package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"prowgate/gangway"
	"prowgate/gangway/gangwaytest"
	"prowgate/shared/engine"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/store/memory"
)

const (
	submitQueue, pollQueue, finishQueue = "gate-submit", "gate-poll", "gate-completion"

	// The limit in front of OpenShift CI's Gangway, which the stand-in enforces as nginx does.
	ratePerMinute, burst = 9, 5

	// mostEvents ends a world that would go on for ever.
	mostEvents = 5_000_000
)

// Options say what is special about a world. The zero value is the service as it is.
type Options struct {
	Forgetful bool // the store keeps gates and the budget, and nothing that would be learned from them
	// Completed is called with every verdict when it is sent; it may call Send and Prow's methods.
	Completed func(ctx context.Context, n gate.Notice) error
}

// World is one run. It is for one goroutine.
type World struct {
	Now    time.Time
	Prow   *gangwaytest.World
	Counts Counts
	Posts  []time.Time // when a job was created, in order

	options Options
	engine  *engine.Engine
	broker  *broker.Broker
	ids     int
	waiting int           // gates that have no verdict yet
	ended   []gate.Notice // verdicts that Completed has not seen yet
}

// New returns a world without gates and jobs.
func New(o Options) *World {
	w := &World{Now: time.Date(2026, 11, 30, 12, 0, 7, 0, time.UTC), options: o}
	clock := func() time.Time { return w.Now }
	w.Prow = gangwaytest.New(gangwaytest.Options{
		Clock: clock, NewID: w.newID, BaseURL: "https://prow.test", JSONJobs: true, RatePerMinute: ratePerMinute, Burst: burst,
	})
	w.broker = broker.New(broker.Config{Clock: clock, NewLock: w.newID, Queues: []broker.QueueConfig{
		{Name: submitQueue, DuplicateWindow: 10 * time.Minute}, {Name: pollQueue, DuplicateWindow: 10 * time.Minute},
	}})
	base := &url.URL{Scheme: "https", Host: "prow.test"}
	servers := gangway.Config{GangwayURL: base, ProwURL: base, ArtifactsURL: base, Transport: wire{w}, Clock: clock}
	w.engine = engine.New(engine.Parts{
		Gangway: gangway.NewClient(servers), Deck: gangway.NewDeck(servers), Artifacts: gangway.NewArtifacts(servers),
		Store: counted{memory.New(), w}, Queue: sender{w}, Queues: engine.Queues{Poll: pollQueue, Completion: finishQueue},
		Clock: clock, RatePerMinute: ratePerMinute, Burst: burst,
	})
	return w
}

func (w *World) newID() string {
	w.ids++
	return fmt.Sprintf("id-%d", w.ids)
}

// Send puts a gating message on the submit queue, now.
func (w *World) Send(ctx context.Context, g gate.Gating) error {
	body, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	w.waiting++
	return w.broker.Send(ctx, submitQueue, queue.Message{ID: g.GateID, Body: body})
}

// Play lets time pass until every gate has its verdict.
func (w *World) Play(ctx context.Context) error {
	for range mostEvents {
		if err := errors.Join(w.deliver(ctx), w.report(ctx), ctx.Err()); err != nil {
			return err
		}
		if w.waiting == 0 {
			return nil
		}
		next, ok := w.broker.NextEvent()
		if ok && next.After(w.Now) {
			w.Now = next
		} else if c, err := w.broker.Counts(ctx, submitQueue); err != nil || c.Active == 0 {
			return errors.Join(fmt.Errorf("%d gates have no verdict, and nothing is left to happen", w.waiting), err)
		}
	}
	return fmt.Errorf("%d gates have no verdict after %d events", w.waiting, mostEvents)
}

// deliver handles every message that is there.
func (w *World) deliver(ctx context.Context) error {
	for _, name := range []string{submitQueue, pollQueue} {
		for {
			d, ok, err := w.broker.TryReceive(ctx, name, "")
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			w.Counts.Deliveries++
			if err := w.handle(ctx, name, d.Body); err != nil {
				return err
			}
			if err := w.broker.Complete(ctx, name, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *World) handle(ctx context.Context, name string, body []byte) error {
	if name == pollQueue {
		t, err := gate.ParseTick(body)
		if err != nil {
			return err
		}
		return w.engine.Poll(ctx, t)
	}
	g, rejection, err := gate.ParseGating(body)
	if err != nil {
		return err
	}
	if rejection != nil {
		return fmt.Errorf("the gating message was rejected: %v", rejection.Problems)
	}
	return w.engine.Submit(ctx, g)
}

// report hands over the verdicts that were sent.
func (w *World) report(ctx context.Context) error {
	ended := w.ended
	w.ended = nil
	for _, n := range ended {
		w.waiting--
		if f := w.options.Completed; f != nil {
			if err := f(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}
