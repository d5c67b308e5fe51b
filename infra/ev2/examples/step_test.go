package examples

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/infra/ev2/gate/cli"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// need skips a test where a program is missing.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("skipped: ", err)
		}
	}
}

// script returns a command that runs a script with nothing in its environment but PATH and env.
func script(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", name)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// standIn writes a program that takes the place of another.
func standIn(t *testing.T, name, body string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("#!/bin/bash\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func stepEnv(gate string, more ...string) []string {
	return append([]string{
		"GATE=" + gate, "PROW_JOB_NAME=job", "CLOUD=public", "ENVIRONMENT=int", "REGION=uksouth", "LOG_GRACE_SECONDS=0",
	}, more...)
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// sink is a queue that keeps one message and refuses it, which ends the command.
type sink struct{ message queue.Message }

func (s *sink) Send(_ context.Context, _ string, m queue.Message) error {
	s.message = m
	return &fault.Error{Kind: fault.Refused, Text: "enough"}
}

func (s *sink) Receive(context.Context, string, string, time.Duration) (d queue.Delivery, ok bool, err error) {
	return d, false, nil
}
func (s *sink) Complete(context.Context, string, queue.Delivery) error { return nil }
func (s *sink) Abandon(context.Context, string, queue.Delivery) error  { return nil }
func (s *sink) Close(context.Context) error                            { return nil }

// sentBy returns the gating message that `gate` sends for the arguments.
func sentBy(t *testing.T, args []string) gate.Gating {
	t.Helper()
	var s sink
	var stdout, stderr strings.Builder
	settings := cli.Settings{
		QueueURL: "http://queues.example", SubmitQueue: "submit", CancelQueue: "cancel", CompletionQueue: "completion", LogLevel: slog.LevelError,
	}
	cli.Run(t.Context(), args, settings, cli.World{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Open: func(context.Context, string) (cli.Queue, error) { return &s, nil },
		HTTP: http.DefaultTransport, Clock: time.Now, NewID: func() string { return "11111111-2222-3333-4444-555555555555" },
		Signals: func() <-chan os.Signal { return nil },
		Log:     func(io.Writer) func() { return func() {} },
	})
	g, rejection, err := gate.ParseGating(s.message.Body)
	if err != nil || rejection != nil {
		t.Fatalf("%q makes %s: %+v, %v\n%s", args, s.message.Body, rejection, err, &stderr)
	}
	return g
}

func TestStepSaysWhatThePipelineSays(t *testing.T) {
	need(t, "bash")
	least := gate.Gating{
		GateID: "gate-11111111-2222-3333-4444-555555555555", JobName: "job", Cloud: "public", Environment: "int", Region: "uksouth", Org: "Azure", Repo: "ARO-HCP",
		BaseRef: "main", PollInterval: gate.Duration(time.Minute), Timeout: gate.Duration(4 * time.Hour),
		MaxEV2AutoRetryFailures: 2, AbortOnCancel: true,
	}
	full := least
	full.GatePromotion, full.AllowEV2Retry, full.DryRun, full.BaseSHA = true, true, true, "51f51a32c97c"
	for _, c := range []struct {
		env  []string
		want gate.Gating
	}{
		{nil, least},
		{[]string{"GATE_PROMOTION=true", "ALLOW_EV2_RETRY=true", "DRY_RUN=true", "BASE_SHA=51f51a32c97c"}, full},
	} {
		file := filepath.Join(t.TempDir(), "args")
		fake := standIn(t, "gate", `printf '%s\0' "$@" >`+file+"\necho verdict; exit 1\n")
		out, err := script(t, "gate-step.sh", stepEnv(fake, c.env...)...).Output()
		if code := exitCode(t, err); code != 1 || !strings.HasPrefix(string(out), "verdict\n") {
			t.Errorf("exit code %d, output %s", code, out)
		}
		args := strings.Split(strings.TrimSuffix(read(t, file), "\x00"), "\x00")
		if d := cmp.Diff(c.want, sentBy(t, args)); d != "" {
			t.Errorf("gating message (-want +got):\n%s", d)
		}
	}
}

func TestStepWithoutAJobPasses(t *testing.T) {
	need(t, "bash")
	out, err := script(t, "gate-step.sh", "LOG_GRACE_SECONDS=0").Output()
	if err != nil || !strings.Contains(string(out), "PROW_JOB_NAME is not set") {
		t.Errorf("%s, %v", out, err)
	}
}
