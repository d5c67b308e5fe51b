package funchost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const portSetting = "FUNCTIONS_CUSTOMHANDLER_PORT"

// process is one running handler.
type process struct {
	cmd    *exec.Cmd
	url    string        // where it is to listen
	exited chan struct{} // closed when it has ended; code and text are set then
	code   int           // -1 when it was killed
	text   string
}

// start runs the handler. It inherits nothing but the environment given in the configuration.
func (h *Host) start() (*process, error) {
	port, env, err := choosePort(h.Env)
	if err != nil {
		return nil, err
	}
	p := &process{url: "http://127.0.0.1:" + strconv.Itoa(port), exited: make(chan struct{})}
	// The command is not bound to a context: how and when it ends is the life's business.
	p.cmd = exec.Command(h.Package.Executable, h.Package.Arguments...) //nolint:noctx // see above
	p.cmd.Dir, p.cmd.Env = h.Package.Dir, env
	p.cmd.SysProcAttr = dieWithParent()
	p.cmd.WaitDelay = time.Second // for children of the handler that hold its output open
	out, errs := &lines{to: h.Output}, &lines{to: h.Output}
	p.cmd.Stdout, p.cmd.Stderr = out, errs
	started := make(chan error)
	go p.run(started, out, errs)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", h.Package.Executable, err)
	}
	return p, nil
}

// run starts the process and waits for its end on one OS thread: Linux ends the child when the thread
// that made it ends, so that thread must last as long as the child.
func (p *process) run(started chan<- error, out, errs *lines) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	err = p.cmd.Wait()
	out.flush()
	errs.flush()
	p.code, p.text = p.cmd.ProcessState.ExitCode(), p.cmd.ProcessState.String()
	if err != nil && p.code == 0 {
		p.text += ", " + err.Error()
	}
	close(p.exited)
}

// base returns where the process listens.
func (p *process) base() *url.URL {
	return &url.URL{Scheme: "http", Host: strings.TrimPrefix(p.url, "http://")}
}

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended already
	<-p.exited
}

// ready waits for any answer on "/".
func (p *process) ready(ctx context.Context, client *http.Client, within time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if p.answers(ctx, client) {
			return nil
		}
		t := time.NewTimer(pause)
		select {
		case <-p.exited:
			t.Stop()
			return fmt.Errorf("the handler ended before it answered: %s", p.text)
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("the handler did not answer within %v", within)
		case <-t.C:
		}
	}
}

// answers reports whether there is any answer on "/", of whatever status.
func (p *process) answers(ctx context.Context, client *http.Client) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/", nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer)) // so that the connection can be used again
	_ = res.Body.Close()
	return true
}

// choosePort returns the port that env names, or a free one and env with it.
func choosePort(env []string) (int, []string, error) {
	for _, kv := range slices.Backward(env) {
		name, value, _ := strings.Cut(kv, "=")
		if name != portSetting || value == "" {
			continue
		}
		port, err := strconv.Atoi(value)
		if err != nil || port < 1 || port > 65535 {
			return 0, nil, fmt.Errorf("%s: %q is not a port", portSetting, value)
		}
		return port, env, nil
	}
	port, err := freePort()
	return port, append(slices.Clone(env), portSetting+"="+strconv.Itoa(port)), err
}

// freePort returns a port that was free a moment ago, as the real host does.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // does not block
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // nothing was served
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("find a free port: not a TCP address")
	}
	return addr.Port, nil
}
