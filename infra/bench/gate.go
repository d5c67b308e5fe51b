package main

import (
	"context"
	"fmt"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
	"prowgate/infra/bench/report"
	"prowgate/infra/bench/world"
	"prowgate/shared/gate"
)

// The process that waits, as it was measured: a program that submits a job and polls it every 300 s.
const (
	waitingMemory = 60 << 20
	waitingCPU    = 110 * time.Millisecond // an hour
)

// oneGate counts what one gate asks for, and measures what it costs this machine.
func (b *bench) oneGate(ctx context.Context) ([]report.Row, error) {
	passes, err := requests(ctx, gangwaytest.Passing(usual))
	if err != nil {
		return nil, err
	}
	fails, err := requests(ctx, gangwaytest.Failing(usual, []string{"a"}, []string{"a"}))
	if err != nil {
		return nil, err
	}
	rows := []report.Row{}
	count := func(name string, of func(world.Counts) int) {
		rows = append(rows, report.Row{Name: name, Value: fmt.Sprint(of(passes)), Beside: fmt.Sprintf("fails, and may be retried: %d", of(fails))})
	}
	count("requests to Gangway", func(c world.Counts) int { return c.Gangway })
	count("requests to Deck", func(c world.Counts) int { return c.Deck })
	count("requests to the bucket", func(c world.Counts) int { return c.Bucket })
	count("store: reads", func(c world.Counts) int { return c.Loads })
	count("store: writes", func(c world.Counts) int { return c.Saves })
	count("queue: messages sent", func(c world.Counts) int { return c.Sends + c.Notices })
	count("queue: messages handled", func(c world.Counts) int { return c.Deliveries })
	more, err := b.effort(ctx)
	return append(rows, more...), err
}

// effort lets the real programs carry gates from the adoption of a job to the verdict, in about as many looks as
// a job of 90 minutes takes.
func (b *bench) effort(ctx context.Context) ([]report.Row, error) {
	gates, looks, interval := pick(b, 40, 4), pick(b, 90, 5), 200*time.Millisecond
	h, err := b.startHost(ctx)
	if err != nil {
		return nil, err
	}
	defer h.stop()
	script := gangwaytest.Passing(time.Duration(looks) * interval)
	before, err := h.use()
	if err != nil {
		return nil, err
	}
	if err := h.adopt(ctx, gates, interval, 0, func(name string) string {
		return h.world.AddForeign(gangwaytest.Foreign{JobName: name, Type: prow.Periodic, Script: &script})
	}); err != nil {
		return nil, err
	}
	if err := h.verdicts(ctx, gates); err != nil {
		return nil, err
	}
	after, err := h.use()
	if err != nil {
		return nil, err
	}
	_, total := h.seen()
	all := int(usual / gate.DefaultPollInterval) // looks in the life of one gate
	life := func(d time.Duration) time.Duration { return d / time.Duration(total) * time.Duration(all) }
	handler, host := life(after.handler.CPU-before.handler.CPU), life(after.host.CPU-before.host.CPU)
	waits := time.Duration(usual.Hours() * float64(waitingCPU))
	return []report.Row{
		row(
			fmt.Sprintf("CPU of the handler for %d looks (of %d)", all, total), report.Milliseconds(handler),
			"the process that waits, 18 looks: "+report.Milliseconds(waits), report.Ratio(float64(handler), float64(waits)),
		),
		row(
			"  the same for 18 looks", report.Milliseconds(handler/5),
			"the process that waits, 18 looks: "+report.Milliseconds(waits), report.Ratio(float64(handler)/5, float64(waits)),
		),
		row("CPU of the local host, in place of Azure's", report.Milliseconds(host), "", ""),
	}, nil
}
