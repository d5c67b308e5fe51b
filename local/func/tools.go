package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// endWithin is how long func may take to end once it was asked to.
const endWithin = 15 * time.Second

// lacking tells everything that this machine lacks, nil when that is nothing.
func lacking(ctx context.Context, env func(string) string) error {
	var problems []error
	if _, err := exec.LookPath("func"); err != nil {
		problems = append(problems, errors.New("func is not installed: it is Azure Functions Core Tools 4, learn.microsoft.com/azure/azure-functions/functions-run-local"))
	}
	problems = append(problems, lackingDocker(ctx))
	if env("ACCEPT_EULA") != "Y" {
		problems = append(problems, errors.New("ACCEPT_EULA=Y is not set: the Service Bus emulator and its SQL server want their licences accepted, see local/func/README.md"))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("this machine cannot run the real Functions host:\n%w\n`make demo` and bin/local need none of it", err)
	}
	return nil
}

func lackingDocker(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("docker is not installed")
	}
	if exec.CommandContext(ctx, "docker", "compose", "version").Run() != nil {
		return errors.New("docker has no compose: its plugin Compose 2 is not installed")
	}
	if exec.CommandContext(ctx, "docker", "info").Run() != nil {
		return errors.New("docker's daemon does not answer")
	}
	return nil
}

// compose runs docker compose on one file.
type compose struct {
	file string
	out  io.Writer
}

func (c compose) up(ctx context.Context) error { return c.run(ctx, "up", "--detach", "--wait") }

func (c compose) down(ctx context.Context) error { return c.run(ctx, "down", "--volumes") }

func (c compose) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "docker", append([]string{"compose", "--file", c.file}, args...)...)
	cmd.Stdout, cmd.Stderr = c.out, c.out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("docker compose %s: %w", args[0], err)
	}
	return nil
}

// ready waits until the emulator says that it is: its port is open long before its queues are there.
func ready(ctx context.Context, url string, within time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	ask := time.NewTicker(250 * time.Millisecond)
	defer ask.Stop()
	for !healthy(ctx, url) {
		select {
		case <-ask.C:
		case <-ctx.Done():
			return fmt.Errorf("the Service Bus emulator was not ready in time: %w; `docker compose logs` says why", ctx.Err())
		}
	}
	return nil
}

func healthy(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// startFunc runs the real host in the folder until ctx ends.
func startFunc(ctx context.Context, dir string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "func", "start")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endWithin
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("func start: %w", err)
	}
	return nil
}
