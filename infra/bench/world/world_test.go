package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/infra/bench/world"
	"prowgate/shared/gate"
)

func gating(id string) gate.Gating {
	return gate.Gating{
		GateID: id, JobName: "e2e", Cloud: "public", Environment: "int", Region: "westus3", GatePromotion: true,
		PollInterval: gate.Duration(time.Minute), Timeout: gate.Duration(4 * time.Hour), MaxEV2AutoRetryFailures: 2,
	}
}

// play runs the job so many times, one run after another, and returns what became of the last.
func play(t *testing.T, forgetful bool, runs int) (*world.World, gate.Notice) {
	t.Helper()
	var last gate.Notice
	var w *world.World
	run := 0
	next := func(ctx context.Context) error {
		run++
		return w.Send(ctx, gating(fmt.Sprintf("g-%d", run)))
	}
	w = world.New(world.Options{Forgetful: forgetful, Completed: func(ctx context.Context, n gate.Notice) error {
		if last = n; run < runs {
			return next(ctx)
		}
		return nil
	}})
	w.Prow.SetScript("e2e", gangwaytest.Passing(10*time.Minute+50*time.Second))
	if err := next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Play(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w, last
}

func TestOneGateIsCounted(t *testing.T) {
	w, n := play(t, false, 1)
	if n.Outcome != gate.Succeeded || n.GateID != "g-1" {
		t.Errorf("completion %+v", n)
	}
	c := w.Counts
	// A look at each of the minutes 0 to 11, of which the first comes with the submission or a minute after it.
	if c.Gangway != 1 || c.TooFast != 0 || c.Bucket != 0 || c.Deck < 11 || c.Deck > 12 || len(w.Posts) != 1 {
		t.Errorf("requests %+v, posts %v", c, w.Posts)
	}
	if c.Deliveries <= c.Deck-1 || c.Sends != c.Deliveries-1 || c.Notices < 2 || c.Saves < c.Deck || c.Loads < c.Deliveries {
		t.Errorf("messages and store %+v", c)
	}
	if took := w.Now.Sub(w.Posts[0]); took < 650*time.Second || took > 711*time.Second {
		t.Errorf("the gate took %v", took)
	}
}

// Only a service that keeps earlier runs asks more often when the end is near.
func TestForgetful(t *testing.T) {
	forgets, _ := play(t, true, 12)
	learns, _ := play(t, false, 12)
	if learns.Counts.Deck <= forgets.Counts.Deck || !learns.Now.Before(forgets.Now) {
		t.Errorf("learning: %d requests until %v; forgetting: %d until %v",
			learns.Counts.Deck, learns.Now, forgets.Counts.Deck, forgets.Now)
	}
}

func TestRejectedMessageIsAnError(t *testing.T) {
	w := world.New(world.Options{})
	g := gating("g")
	g.JobName = ""
	if err := w.Send(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := w.Play(t.Context()); err == nil || !strings.Contains(err.Error(), "jobName") {
		t.Errorf("error %v", err)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	w := world.New(world.Options{})
	w.Prow.SetScript("e2e", gangwaytest.Hanging())
	if err := w.Send(t.Context(), gating("g")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Play(ctx); err == nil {
		t.Error("a world went on without its context")
	}
}
