//go:build unix

package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"prowgate/shared/gate"
)

// startInto starts a step with a pipe for its stderr.
func startInto(t *testing.T, stderr *os.File, queueURL string) *exec.Cmd {
	t.Helper()
	return startArgs(t, stderr, queueURL, runArgs("--cancel-grace", "300ms")...)
}

func startArgs(t *testing.T, stderr *os.File, queueURL string, args ...string) *exec.Cmd {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "QUEUE_URL="+queueURL), stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// cancels sends the signal and wants the cancel message and the signal's exit code.
func (s *service) cancels(cmd *exec.Cmd) {
	s.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if c, err := gate.ParseCancel(s.next("gate-cancel")); err != nil || c.GateID != "g" {
		s.t.Errorf("cancel message %+v, %v", c, err)
	}
	_ = cmd.Wait() // its exit code is not 0
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		s.t.Errorf("exit code %d (%s), want 143", code, cmd.ProcessState)
	}
}

// A signal to the group, as of `gate run 2>&1 | tee log`, ends the reader too.
func TestSignalWhenTheReaderOfStderrIsGone(t *testing.T) {
	s := newService(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := startInto(t, w, s.server.URL)
	_ = w.Close()
	s.next("gate-submit")
	_ = r.Close()
	s.cancels(cmd)
}

func TestSignalWhileTheReaderOfStderrStandsStill(t *testing.T) {
	s := newService(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	fill(t, w)
	cmd := startInto(t, w, s.server.URL)
	s.next("gate-submit")
	s.cancels(cmd)
}

// fill writes until a pipe takes no more.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	full := false
	for _, size := range []int{4096, 1} {
		if err := raw.Control(func(fd uintptr) {
			for err = nil; err == nil; {
				_, err = syscall.Write(int(fd), make([]byte, size))
			}
			full = errors.Is(err, syscall.EAGAIN)
		}); err != nil || !full {
			t.Fatalf("the pipe is not full: %v", err)
		}
	}
}

// net/http prints bytes that no request asked for, in the words that the server chose.
func TestServerThatSaysMoreThanItWasAsked(t *testing.T) {
	said := gate.Marker(gate.KnownIssueEligible) + ": failed to get token"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go babble(l, said)
	p := start(t, "http://"+l.Addr().String(), runArgs("--cancel-grace", "300ms")...)
	p.waitFor("Unsolicited response")
	p.signal(syscall.SIGTERM)
	p.want(143)
}

// babble answers every request and says more after each that is no sending.
func babble(l net.Listener, said string) {
	for c, err := l.Accept(); err == nil; c, err = l.Accept() {
		go func() {
			defer func() { _ = c.Close() }()
			var head strings.Builder
			for b := make([]byte, 4096); ; {
				n, err := c.Read(b)
				if err != nil {
					return
				}
				head.Write(b[:n])
				if !strings.Contains(head.String(), "\r\n\r\n") {
					continue
				}
				answer := "HTTP/1.1 204 No Content\r\n\r\n" + said
				if !strings.Contains(head.String(), "gate-completion") {
					answer = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
				}
				head.Reset()
				_, _ = c.Write([]byte(answer))
			}
		}()
	}
}
