// Package lambdatest plays Lambda on one machine, for tests: the runtime API that a function's program
// speaks (docs.aws.amazon.com/lambda, Using the Lambda runtime API), its process with cold starts, time
// limits and crashes, and an SQS event source. It does what the service does with a program and a batch, and
// nothing of the rest: no scaling, no roles, no payload limits.
//
// Entry points: New for a function, Source for the messages that come to it.
package lambdatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Errors of an invocation that the program itself has not answered.
var (
	ErrExited   = errors.New("Runtime.ExitError: the program ended without an answer")
	ErrTimedOut = errors.New("Sandbox.Timedout: the invocation's time was over")
)

// FunctionError is what the program has posted as the invocation's error.
type FunctionError struct {
	Message string `json:"errorMessage"`
	Type    string `json:"errorType"`
}

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Function is a deployed function with one place to run: one process, which takes one invocation at a time
// and is started when an invocation needs it. Kill may be called at any time, all else by one goroutine
// after another.
type Function struct {
	tb   testing.TB
	exe  string
	env  []string
	out  io.Writer
	api  *httptest.Server
	next chan *invocation

	turn sync.Mutex // held for one invocation

	mu      sync.Mutex
	process *process
	current *invocation
	starts  int
	begun   int // numbers the invocations
	cold    time.Duration
}

// process is one start of the program.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

type invocation struct {
	id       string
	event    []byte
	deadline time.Time
	answer   chan answer // one at most
}

type answer struct {
	body []byte
	err  error
}

// New returns a function that runs exe with that environment and nothing else in it. What it writes goes to
// out. Its process, if there is one, is killed at the test's end.
func New(tb testing.TB, exe string, env []string, out io.Writer) *Function {
	tb.Helper()
	f := &Function{tb: tb, exe: exe, env: env, out: out, next: make(chan *invocation)}
	f.api = httptest.NewServer(f.handler())
	tb.Cleanup(func() {
		f.Kill()
		f.api.CloseClientConnections()
		f.api.Close()
	})
	return f
}

// Invoke starts the program if it does not run, gives it the event and waits for its answer. A program that
// has not answered within limit is killed.
func (f *Function) Invoke(ctx context.Context, event []byte, limit time.Duration) ([]byte, error) {
	f.turn.Lock()
	defer f.turn.Unlock()
	p, begun, err := f.running()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	deadline, _ := ctx.Deadline()
	in := &invocation{event: event, deadline: deadline, answer: make(chan answer, 1)}
	f.begin(in)
	select {
	case f.next <- in:
	case <-p.ended:
		return nil, ErrExited
	case <-ctx.Done():
		f.Kill()
		return nil, fmt.Errorf("%w (at the start): %w", ErrTimedOut, ctx.Err())
	}
	return f.wait(ctx, p, in, begun)
}

// wait waits for the answer. One that was given before the process ended counts.
func (f *Function) wait(ctx context.Context, p *process, in *invocation, begun time.Time) ([]byte, error) {
	select {
	case a := <-in.answer:
		f.answered(begun)
		return a.body, a.err
	case <-ctx.Done():
		f.Kill()
		return nil, fmt.Errorf("%w: %w", ErrTimedOut, ctx.Err())
	case <-p.ended:
	}
	select {
	case a := <-in.answer:
		return a.body, a.err
	default:
		return nil, ErrExited
	}
}

// running returns the process, and when it was started if that is now.
func (f *Function) running() (p *process, begun time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.process != nil {
		select {
		case <-f.process.ended:
		default:
			return f.process, time.Time{}, nil
		}
	}
	cmd := exec.CommandContext(f.tb.Context(), f.exe)
	cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(f.api.URL, "http://")}, f.env...)
	cmd.Stdout, cmd.Stderr = f.out, f.out
	begun = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, begun, fmt.Errorf("start the program: %w", err)
	}
	p = &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is of no interest
		close(p.ended)
	}()
	f.process = p
	f.starts++
	return p, begun, nil
}

func (f *Function) begin(in *invocation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = in
	f.begun++
	in.id = fmt.Sprintf("00000000-0000-4000-8000-%012d", f.begun)
}

func (f *Function) answered(begun time.Time) {
	if begun.IsZero() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cold = time.Since(begun)
}

// Kill ends the process with signal 9, in the middle of whatever it does, and waits for its end.
func (f *Function) Kill() {
	f.mu.Lock()
	p := f.process
	f.mu.Unlock()
	if p != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
	}
}

// Starts returns how often the program was started.
func (f *Function) Starts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.starts
}

// Cold returns how long the last cold start took, from the start of the process to its first answer.
func (f *Function) Cold() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cold
}

// PID returns the process's id, 0 when there was none yet.
func (f *Function) PID() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.process == nil {
		return 0
	}
	return f.process.cmd.Process.Pid
}

const apiVersion = "/2018-06-01/runtime"

func (f *Function) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiVersion+"/invocation/next", f.giveNext)
	mux.HandleFunc("POST "+apiVersion+"/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) {
		f.take(w, r, func(body []byte) answer { return answer{body: body} })
	})
	mux.HandleFunc("POST "+apiVersion+"/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) {
		f.take(w, r, func(body []byte) answer {
			failed := &FunctionError{Type: "unknown", Message: string(body)}
			_ = json.Unmarshal(body, failed) // what is no JSON is the message
			return answer{err: failed}
		})
	})
	return mux
}

// giveNext answers a program that asks for work, once there is some.
func (f *Function) giveNext(w http.ResponseWriter, r *http.Request) {
	select {
	case in := <-f.next:
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", in.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(in.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-west-1:000000000000:function:test")
		h.Set("Lambda-Runtime-Trace-Id", "Root=1-00000000-000000000000000000000000")
		_, _ = io.Copy(w, bytes.NewReader(in.event)) // a program that has gone is seen to have gone
	case <-r.Context().Done():
	}
}

// take hands an answer to whoever waits for it.
func (f *Function) take(w http.ResponseWriter, r *http.Request, read func([]byte) answer) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // cut off: no answer
	}
	f.mu.Lock()
	in := f.current
	f.mu.Unlock()
	if in == nil || in.id != r.PathValue("id") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case in.answer <- read(body):
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}
