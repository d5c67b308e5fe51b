// Command azure is the custom handler that the Azure Functions host starts: one process that serves
// every function over HTTP on loopback.
//
// Entry point: run, which reads the settings, wires the engine and serves until its context ends. The
// host restarts a handler that ends with an exit code other than 0, never one that ends with 0
// (azure-functions-host, HttpWorkerProcess.cs), so whatever keeps it from serving ends it with 1. The
// host stops it by killing it: nothing depends on an orderly end.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"prowgate/shared/gate"
)

func main() { os.Exit(start()) }

func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, time.Now); err != nil {
		fmt.Fprintln(os.Stderr, gate.Neutralise(err.Error()))
		return 1
	}
	return 0
}
