// Command demo shows the main job on one machine: it starts the local host with its stand-in for Prow, runs
// one real `gate run` process for each story that a rollout step can live through, all at once, prints what
// each step would see, and checks how each ended. It exits 0 only if every one ended as it should.
//
// Only the stand-in's limit differs from production: GANGWAY_RATE_PER_MINUTE is 60, so that ten jobs are
// through in the 2 seconds that lie between any two submissions. The longest story is the cancelled one: its
// abort waits, as it always does, until Deck's list is surely new enough to prove it safe.
//
// Entry point: main; the stories are in stories.go, what must hold afterwards in check.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// limit ends a demo that hangs.
const limit = 110 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, time.Now)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run runs the demo; an error says that something could not be run or did not end as it should.
func run(ctx context.Context, args []string, out io.Writer, clock func() time.Time) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	bin := flags.String("bin", "bin", "folder of the commands local and gate")
	deployed := flags.String("package", "dist/azure", "folder that is deployed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	started := clock()
	fmt.Fprintln(out, "starting the local host; the stand-in for Prow allows 60 requests a minute here, not 9")
	h, err := startHost(ctx, *bin, *deployed)
	if err != nil {
		return err
	}
	defer h.stop()
	s, err := newStage(ctx, h, *bin, clock)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "running %d gates at once; the cancelled one takes about 50 s\n", len(s.stories))
	results := s.play(ctx)
	end, err := s.collect(ctx, results)
	if err != nil {
		return err
	}
	findings := check(end)
	for i, r := range results {
		printStep(out, r, findings.of[i])
	}
	printTable(out, end, findings)
	fmt.Fprintf(out, "%d gates in %.0f s\n", len(results), clock().Sub(started).Seconds())
	return findings.err()
}
