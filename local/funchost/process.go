package funchost

import (
	"context"
	"crypto/rand"
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

	"prowgate/shared/azurefn"
)

const portSetting = "FUNCTIONS_CUSTOMHANDLER_PORT"

// process is one running handler.
type process struct {
	cmd    *exec.Cmd
	secret string        // known to this host and this process alone
	url    string        // where it is to listen
	exited chan struct{} // closed when it has ended; code and text are set then
	code   int           // -1 when it was killed
	text   string
}

// start runs the handler. It inherits nothing but the environment given in the configuration, and a secret by which
// it can tell this host's requests from those of others.
func (h *Host) start() (*process, error) {
	port, env, err := choosePort(h.Env)
	if err != nil {
		return nil, err
	}
	p := &process{url: "http://127.0.0.1:" + strconv.Itoa(port), secret: rand.Text(), exited: make(chan struct{})}
	env = append(slices.Clip(env), azurefn.SecretSetting+"="+p.secret)
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

// target returns where requests to the process go.
func (p *process) target() *target {
	return &target{base: &url.URL{Scheme: "http", Host: strings.TrimPrefix(p.url, "http://")}, secret: p.secret}
}

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended already
	<-p.exited
}

// errForeign says that another process has answered in the handler's place.
var errForeign = errors.New("another handler answers on " + portSetting)

// ready waits for any answer on "/". One that disproves to be this process's, and one that came when this process had
// ended, are somebody else's: no message may go there.
func (p *process) ready(ctx context.Context, client *http.Client, within time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		answered, err := p.answers(ctx, client)
		if err != nil || answered && !p.ended() {
			return err
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

func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// answers reports whether there is any answer on "/", of whatever status. A handler need not know of secrets; one that
// does proves that it knows ours.
func (p *process) answers(ctx context.Context, client *http.Client) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/", nil)
	if err != nil {
		return false, err
	}
	res, err := client.Do(req)
	if err != nil {
		return false, nil //nolint:nilerr // nobody listens yet
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer)) // so that the connection can be used again
	_ = res.Body.Close()
	if proof := res.Header.Get(azurefn.ProofHeader); proof != "" && proof != azurefn.Proof(p.secret) {
		return false, errForeign
	}
	return true, nil
}

// choosePort returns the port that env names, which has to be free, or a free one and env with it.
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
		if _, err := freePort(port); err != nil {
			return 0, nil, fmt.Errorf("%s: another process listens there: %w", portSetting, err)
		}
		return port, env, nil
	}
	port, err := freePort(0)
	if err != nil {
		return 0, nil, fmt.Errorf("find a free port: %w", err)
	}
	return port, append(slices.Clone(env), portSetting+"="+strconv.Itoa(port)), nil
}

// freePort returns the port if it was free a moment ago, and for 0 any that was, as the real host does.
func freePort(port int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // does not block
	if err != nil {
		return 0, err // it names the address
	}
	defer l.Close() //nolint:errcheck // nothing was served
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("not a TCP address")
	}
	return addr.Port, nil
}
