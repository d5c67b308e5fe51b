package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"prowgate/infra/bench/report"
)

// starts are the measurements of one program's starts.
type starts struct {
	cold     []time.Duration
	resident []int64
}

func (s *starts) add(ctx context.Context, b *bench, executable string, env ...string) error {
	p, err := b.launch(ctx, executable, env...)
	if err != nil {
		return err
	}
	defer p.stop()
	u, err := p.use()
	s.cold, s.resident = append(s.cold, p.cold), append(s.resident, u.Resident)
	return err
}

// atRest starts both handlers in turn.
func (b *bench) atRest(ctx context.Context) ([]report.Row, error) {
	path, err := b.handlerPath()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program: %w", err)
	}
	var ours, theirs starts
	for range pick(b, 25, 3) {
		nobody := "http://127.0.0.1:1" // nothing is sent before the first message
		if err := ours.add(ctx, b, path, handlerEnv(nobody, nobody)...); err != nil {
			return nil, err
		}
		if err := theirs.add(ctx, b, self, nothingSetting+"=1"); err != nil {
			return nil, err
		}
	}
	size, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("handler: %w", err)
	}
	middle, least := report.Median(ours.cold), report.Median(theirs.cold)
	memory, leastMemory := report.Median(ours.resident), report.Median(theirs.resident)
	return []report.Row{
		row(
			"start to first answer, median", report.Milliseconds(middle),
			"does nothing: "+report.Milliseconds(least), report.Ratio(float64(middle), float64(least)),
		),
		row(fmt.Sprintf("start to first answer, worst of %d", len(ours.cold)), report.Milliseconds(report.Percentile(ours.cold, 100)), "", ""),
		row(
			"resident memory", report.MiB(memory), "does nothing: "+report.MiB(leastMemory),
			report.Ratio(float64(memory), float64(leastMemory)),
		),
		row("size of the program", report.MiB(size.Size()), "", ""),
	}, nil
}
