// Command runtests is `go test` for people and for CI: its arguments go to `go test -json`, the output of
// tests that pass is dropped, that of tests that fail is shown as soon as they have, and the closing lines
// name every skipped test with its reason and count them all. It exits as `go test` does.
//
// Entry point: main; the reading of the event stream is Report.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
	}
	os.Exit(code)
}

// run runs the tests and returns the exit code of go test. When ctx ends, go test is interrupted, for a
// killed one would leave its test binaries behind.
func run(ctx context.Context, args []string, out, errOut io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = errOut
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, fmt.Errorf("pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("start go test: %w", err)
	}
	report := NewReport(out)
	readErr := report.Read(events)
	waitErr := cmd.Wait()
	report.Close()
	var exit *exec.ExitError
	if errors.As(waitErr, &exit) {
		return exit.ExitCode(), readErr
	}
	if err := errors.Join(readErr, waitErr); err != nil {
		return 1, err
	}
	return 0, nil
}
