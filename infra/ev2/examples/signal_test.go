//go:build unix

package examples

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// buildGate builds the command.
func buildGate(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "gate")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", exe, "../gate").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return exe
}

// take returns the body of the next message in a queue.
func (h host) take(t *testing.T, name string) []byte {
	t.Helper()
	d, ok, err := h.ReceiveAndDelete(t.Context(), name, "", time.Minute)
	if err != nil || !ok {
		t.Fatalf("nothing in %s: %v", name, err)
	}
	return d.Body
}

func (h host) answer(t *testing.T, n gate.Notice) {
	t.Helper()
	body, err := json.Marshal(n)
	if err == nil {
		err = h.Send(t.Context(), "gate-completion", queue.Message{SessionID: n.GateID, Body: body})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A signal to the script alone, or to its whole process group, is one signal to the command.
func TestStepPassesSignalsOn(t *testing.T) {
	need(t, "bash")
	exe := buildGate(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for _, toGroup := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, group %t", sig, toGroup), func(t *testing.T) { testSignal(t, exe, sig, toGroup) })
		}
	}
}

func testSignal(t *testing.T, exe string, sig syscall.Signal, toGroup bool) {
	h := startHost(t)
	cmd := script(t, "gate-step.sh", stepEnv(exe, "QUEUE_URL="+h.url)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		cmd.Stdout = cmd.Stderr // one order of all that is said
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	g, _, err := gate.ParseGating(h.take(t, "gate-submit"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	heard(lines, "waiting for the verdict")
	pid := cmd.Process.Pid
	if toGroup {
		pid = -pid
	}
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
	if c, err := gate.ParseCancel(h.take(t, "gate-cancel")); err != nil || !strings.Contains(c.Reason, sig.String()) && !strings.Contains(c.Reason, syscall.SIGTERM.String()) {
		t.Errorf("%+v, %v", c, err)
	}
	heard(lines, "kill -") // the script has passed it on
	h.answer(t, gate.Notice{Kind: gate.KindProgress, GateID: g.GateID, Text: "one more word"})
	if !heard(lines, "one more word") {
		t.Error("the command has not waited for the outcome")
	}
	h.answer(t, gate.Notice{
		Kind: gate.KindCompletion, GateID: g.GateID, Outcome: gate.Cancelled, Error: "cancelled", Abort: &gate.AbortReport{Outcome: gate.AbortDone},
	})
	if !heard(lines, "abort: the job was aborted") {
		t.Error("the outcome is not there")
	}
	heard(lines, "\x00") // to the end
	if code := exitCode(t, cmd.Wait()); code != 128+int(syscall.SIGTERM) && (!toGroup || code != 128+int(sig)) {
		t.Errorf("exit code %d", code)
	}
}

// A signal that comes while the command has yet to start is not lost.
func TestStepPassesOnASignalAtTheStart(t *testing.T) {
	need(t, "bash")
	slow := standIn(t, "gate", "echo began >&2\nread -r _ <>/dev/udp/127.0.0.1/9\n") // which nothing ends but a signal
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd := script(t, "gate-step.sh", stepEnv(slow)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		stderr, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		lines := bufio.NewScanner(stderr)
		heard(lines, "began")
		if err := syscall.Kill(cmd.Process.Pid, sig); err != nil {
			t.Fatal(err)
		}
		heard(lines, "\x00") // to the end
		if code := exitCode(t, cmd.Wait()); code != 143 {
			t.Errorf("%s: exit code %d", sig, code)
		}
	}
}

// heard reads until a line has that text.
func heard(lines *bufio.Scanner, text string) bool {
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}
