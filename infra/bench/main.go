// Command bench measures prowgate and prints one table: the handler by itself, one gate, the time from a
// job's end to its verdict, bursts under the rate limit, thousands of gates in flight on the local host,
// and the cost by list prices. What is compared is measured in the same run. Nothing here passes or fails
// by a duration: it fails when something could not be measured.
//
// Entry point: run. The parts are listed in parts.go; README.md says how each number comes about, and what
// follows from the numbers for ten times as many gates. It needs Linux, for it reads /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"prowgate/infra/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// start runs the benchmarks, or in a process that they have started for comparison, the handler that does
// nothing.
func start(ctx context.Context) error {
	if os.Getenv(nothingSetting) != "" {
		return serveNothing(ctx)
	}
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr, time.Now)
}

// bench is what the parts need to know.
type bench struct {
	quick    bool // every part small: for a test of the program, not for numbers
	bin      string
	deployed string
	clock    func() time.Time
	log      io.Writer
}

// shared is a writer for several processes at once.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// run prints the table on out, and what it is at on log. An error names the parts that failed.
func run(ctx context.Context, args []string, out, log io.Writer, clock func() time.Time) error {
	log = &shared{to: log}
	b := &bench{clock: clock, log: log}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.BoolVar(&b.quick, "quick", false, "run every part small; the numbers mean little")
	flags.StringVar(&b.bin, "bin", "bin", "`folder` of the command local")
	flags.StringVar(&b.deployed, "package", "dist/azure", "`folder` that is deployed")
	only := flags.String("part", "", "run only the parts whose title matches this `pattern`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-part: %w", err)
	}
	table := report.Table{Machine: machine()}
	var failed error
	for _, p := range b.parts() {
		if !chosen.MatchString(p.title) {
			continue
		}
		s := b.measure(ctx, p)
		table.Sections = append(table.Sections, s)
		if s.Failed != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.title, s.Failed))
		}
	}
	table.Write(out)
	return failed
}

// machine says where the numbers come from, and how busy others kept it: times are worth little on a machine that
// has more to do than it has processors.
func machine() string {
	text := fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	load, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(load)); err == nil && len(f) > 0 {
		text += "; load when it began " + f[0]
	}
	return text
}

// measure runs one part.
func (b *bench) measure(ctx context.Context, p part) report.Section {
	began := b.clock()
	fmt.Fprintf(b.log, "measuring: %s\n", p.title)
	s := report.Section{Title: p.title, Method: p.method}
	s.Rows, s.Failed = p.run(ctx)
	fmt.Fprintf(b.log, "  took %s\n", report.Seconds(b.clock().Sub(began)))
	return s
}

// pick returns the number for a full run, or the one for a quick one.
func pick[T any](b *bench, full, quick T) T {
	if b.quick {
		return quick
	}
	return full
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
