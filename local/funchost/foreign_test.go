package funchost

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prowgate/shared/azurefn"
)

// TestNamedPortIsTaken: what listens there already is asked nothing and told nothing.
func TestNamedPortIsTaken(t *testing.T) {
	var asked atomic.Int32
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(foreign.Close)
	port := foreign.Listener.Addr().(*net.TCPAddr).Port
	p, q := testPackage(t, "00:05:00"), testBroker()
	send(t, q, `{}`)
	h := testHost(t, p, q, actAs+"=good", portSetting+"="+strconv.Itoa(port))
	ready := false
	h.Ready = func() { ready = true }
	err := h.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), portSetting+": another process listens there") || ready || asked.Load() != 0 {
		t.Errorf("%v, ready %v, asked %d times", err, ready, asked.Load())
	}
	if c, err := q.Counts(t.Context(), "q"); err != nil || c.Active != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestNamedPortIsUsedAgain by one handler after another.
func TestNamedPortIsUsedAgain(t *testing.T) {
	port, err := freePort(0)
	if err != nil {
		t.Fatal(err)
	}
	p := testPackage(t, "00:05:00")
	err = testHost(t, p, testBroker(), actAs+"=exit-3", portSetting+"="+strconv.Itoa(port)).Run(t.Context())
	if err == nil || strings.Contains(err.Error(), portSetting) || starts(t, p) != 3 {
		t.Errorf("%v after %d starts", err, starts(t, p))
	}
}

// TestReadyIsTheHandlers: an answer counts when it may be the process's own.
func TestReadyIsTheHandlers(t *testing.T) {
	for name, c := range map[string]struct {
		proof string
		ended bool
		want  string
	}{
		"our handler":          {azurefn.Proof("mine"), false, ""},
		"one without a secret": {"", false, ""},
		"another host's":       {azurefn.Proof("other"), false, "another handler answers"},
		"one run alone":        {azurefn.Proof(""), false, "another handler answers"},
		"after its end":        {"", true, "ended before it answered: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.proof != "" {
					w.Header().Set(azurefn.ProofHeader, c.proof)
				}
			}))
			defer server.Close()
			p := &process{url: server.URL, secret: "mine", exited: make(chan struct{}), text: "exit status 1"}
			if c.ended {
				close(p.exited)
			}
			err := p.ready(t.Context(), server.Client(), time.Minute)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestEachLifeHasASecret, which the handler finds in its environment and in each request.
func TestEachLifeHasASecret(t *testing.T) {
	p := testPackage(t, "00:05:00")
	h := testHost(t, p, testBroker(), actAs+"=good", azurefn.SecretSetting+"=stale")
	seen := map[string]bool{}
	for range 2 {
		one, err := h.start()
		if err != nil {
			t.Fatal(err)
		}
		one.kill()
		last := one.cmd.Env[len(one.cmd.Env)-1] // of two of one name a process has the last
		if last != azurefn.SecretSetting+"="+one.secret || len(one.secret) < 20 || seen[one.secret] {
			t.Errorf("%q of %q", one.secret, last)
		}
		seen[one.secret] = true
		header := http.Header{}
		if one.target().sign(header, "i-1"); header.Get(azurefn.SecretHeader) != one.secret || header.Get("X-Azure-Functions-InvocationId") != "i-1" {
			t.Errorf("%v", header)
		}
	}
}
