package main

import (
	"context"
	"fmt"
	"time"

	"prowgate/infra/bench/report"
)

// flight is one measurement of many gates. Their messages are spread over one interval, as they would be in a
// service that has run for long.
type flight struct {
	gates    int
	interval time.Duration
	window   time.Duration
}

// landed is what was measured.
type landed struct {
	flight
	begun  int           // gates that had looked at their job when the window began
	fill   time.Duration // until then
	late   []time.Duration
	came   int // looks in the window
	took   time.Duration
	before both
	after  both
}

// patience is how long to wait for the gates to begin, beyond the interval over which they are spread. A service
// that cannot follow is measured as it is then.
const patience = 30 * time.Second

func (b *bench) flights(ctx context.Context) ([]report.Row, error) {
	all := pick(b, []flight{
		{1_000, 10 * time.Second, 20 * time.Second},
		{10_000, time.Minute, time.Minute},
		{10_000, 10 * time.Second, 20 * time.Second},
	}, []flight{{20, time.Second, time.Second}, {40, time.Second, time.Second}})
	var rows []report.Row
	var first landed
	for i, f := range all {
		l, err := b.fly(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("%d gates at %v: %w", f.gates, f.interval, err)
		}
		rows = append(rows, l.rows()...)
		switch i {
		case 0:
			first = l
		case 1:
			rows = append(rows, growth(first, l))
		}
	}
	return rows, nil
}

// fly measures one flight on a host of its own.
func (b *bench) fly(ctx context.Context, f flight) (landed, error) {
	l := landed{flight: f}
	h, err := b.startHost(ctx)
	if err != nil {
		return l, err
	}
	defer h.stop()
	began := b.clock()
	if err := h.adopt(ctx, f.gates, f.interval, f.interval, h.hang); err != nil {
		return l, err
	}
	for l.begun < f.gates && b.clock().Sub(began) < f.interval+patience {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return l, err
		}
		l.begun, _ = h.seen()
	}
	l.fill = b.clock().Sub(began)
	if l.begun == 0 {
		return l, fmt.Errorf("no gate has begun within %v", l.fill)
	}
	return l, b.observe(ctx, h, &l)
}

// observe fills in what happens in the window.
func (b *bench) observe(ctx context.Context, h *host, l *landed) (err error) {
	if l.before, err = h.use(); err != nil {
		return err
	}
	h.begin()
	_, before := h.seen()
	began := b.clock()
	if err := pause(ctx, l.window); err != nil {
		return err
	}
	l.took = b.clock().Sub(began)
	_, after := h.seen()
	l.late, l.came = h.late(l.interval), after-before
	l.after, err = h.use()
	return err
}

func (l landed) rows() []report.Row {
	name := fmt.Sprintf("%d gates, each %v", l.gates, l.interval)
	due := float64(l.gates) / l.interval.Seconds()
	rate := float64(l.came) / l.took.Seconds()
	share := func(d time.Duration) string { return fmt.Sprintf("%.0f %%", 100*d.Seconds()/l.took.Seconds()) }
	host, handler := l.after.host.CPU-l.before.host.CPU, l.after.handler.CPU-l.before.handler.CPU
	each := (host + handler) / time.Duration(max(1, l.came))
	held := l.after.host.Resident + l.after.handler.Resident
	return []report.Row{
		row(name+": looks a second", fmt.Sprintf("%.1f", rate), fmt.Sprintf("due: %.1f", due), report.Ratio(rate, due)),
		row(
			"  late, median", report.Milliseconds(report.Median(l.late)),
			"99 of 100 within "+report.Milliseconds(report.Percentile(l.late, 99)), "",
		),
		row("  late, worst", report.Milliseconds(report.Percentile(l.late, 100)), "", ""),
		row("  CPU of the host", share(host), "handler: "+share(handler), report.Ratio(float64(host), float64(handler))),
		row(
			"  CPU for one look, both", report.Milliseconds(each),
			fmt.Sprintf("one processor carries %.0f looks a second", float64(time.Second)/float64(max(each, 1))), "",
		),
		row("  memory of the host", report.MiB(l.after.host.Resident), "handler: "+report.MiB(l.after.handler.Resident), ""),
		row(
			"  memory held for one gate, both", fmt.Sprintf("%.0f KiB", float64(held)/1024/float64(l.gates)),
			fmt.Sprintf("one process that waits: %d KiB", waitingMemory>>10), report.Ratio(float64(held)/float64(l.gates), waitingMemory),
		),
		row("  gates that have begun", fmt.Sprint(l.begun), "after "+report.Seconds(l.fill), ""),
	}
}

// growth is what one more gate costs in memory.
func growth(few, many landed) report.Row {
	more := float64(many.gates - few.gates)
	grown := func(a, b int64) float64 { return float64(b-a) / 1024 / more }
	return report.Row{
		Name:   "  growth for each gate",
		Value:  fmt.Sprintf("%.1f KiB", grown(few.after.host.Resident, many.after.host.Resident)),
		Beside: fmt.Sprintf("handler: %.1f KiB", grown(few.after.handler.Resident, many.after.handler.Resident)),
	}
}
