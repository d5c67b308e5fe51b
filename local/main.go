// Command local is the local host: one process that stands in for the Azure Functions host and for
// Service Bus, so that the deployed package runs on one machine with nothing else installed. It serves
// the queues over HTTP, starts the package's handler and calls it for every message, shows the gates,
// and, unless GANGWAY_URL points elsewhere, also stands in for Gangway, Deck and the artifacts bucket.
//
// Entry point: run. The parts are in the packages funchost (the Functions host), page (what people
// see) and standin; the broker is shared/queue/broker behind shared/queue/httpqueue.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}
