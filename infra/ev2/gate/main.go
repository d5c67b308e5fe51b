// Command gate is the pipeline's side of prowgate: `gate run` takes the place of a step that submits a
// Prow job and polls it. It sends a gating message, follows the gate and returns its verdict as the
// exit code; see cli for the commands and step for what a run does.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/kelseyhightower/envconfig"

	"prowgate/infra/ev2/gate/cli"
	"prowgate/infra/ev2/gate/console"
	"prowgate/infra/ev2/gate/onaws"
	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/config"
	"prowgate/shared/queue/queueurl"
)

func main() {
	// Else a write to a pipe whose reader a signal has ended, as in `gate run 2>&1 | tee log`, would end this
	// program before it has sent the cancel.
	signal.Ignore(syscall.SIGPIPE)
	stderr := os.Stderr
	var settings cli.Settings
	if err := readSettings(&settings); err != nil {
		fmt.Fprintln(stderr, "gate:", console.Line(err.Error()))
		os.Exit(step.Rejected)
	}
	s, err := divert()
	if err != nil {
		fmt.Fprintln(stderr, "gate:", console.Line(err.Error()))
		os.Exit(step.Unreachable)
	}
	os.Exit(cli.Run(context.Background(), os.Args[1:], settings, cli.World{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: stderr,
		Open:    open,
		HTTP:    http.DefaultTransport,
		Signed:  onaws.NewTransport(http.DefaultTransport, time.Now),
		Clock:   time.Now,
		NewID:   uuid.NewString,
		Signals: signals,
		Log: func(to io.Writer) func() {
			log.SetOutput(to)
			go s.pass(to)
			return s.end
		},
	}))
}

// readSettings takes an empty variable for one that is not set, as an empty flag is for one that is not given.
func readSettings(into *cli.Settings) error {
	for _, name := range cli.SettingNames() {
		if os.Getenv(name) != "" {
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return envconfig.Process("", into)
}

// open opens the queues of any form; SQS is one that only this program and the functions on AWS link.
func open(ctx context.Context, raw string) (cli.Queue, error) {
	form, err := config.QueueForm(raw)
	switch {
	case form != config.FormSQS:
		return queueurl.Open(raw)
	case err != nil:
		return nil, fmt.Errorf("QUEUE_URL: %w", err)
	}
	return onaws.Queues(ctx, raw, time.Now)
}

// signals has room for the second one, so that it is not lost while the first is handled.
func signals() <-chan os.Signal {
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	return c
}
