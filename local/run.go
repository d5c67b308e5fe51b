package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"prowgate/local/funchost"
	"prowgate/local/page"
	"prowgate/local/standin"
	"prowgate/shared/gate"
	"prowgate/shared/queue/httpqueue"
)

// standInPath is where the stand-in is mounted.
const standInPath = "/standin"

// queueSetting is where the handler finds its queues.
const queueSetting = "QUEUE_URL"

// closeWithin is how long requests may take to end when the host ends.
const closeWithin = 3 * time.Second

// run is the local host. It returns when ctx is done (nil), or when the host cannot go on. out gets
// the one line that says where it serves, log everything else.
func run(ctx context.Context, args, env []string, out, log io.Writer) error {
	log = &lockedWriter{to: log}
	o, err := parseOptions(args, log)
	if err != nil {
		return err
	}
	h := &host{options: o, settings: settings(env).withQueues(), clock: time.Now, out: out, logTo: log, log: newLog(log, o.quiet)}
	return h.run(ctx)
}

// host is the wiring of the parts.
type host struct {
	options
	settings settings
	clock    func() time.Time
	out      io.Writer
	logTo    io.Writer
	log      *slog.Logger

	pkg       funchost.Package
	data      *data
	url       string
	functions *funchost.Host
}

func (h *host) run(ctx context.Context) (err error) {
	h.pkg, err = funchost.Load(h.packageDir, h.settings.lookup)
	if err := errors.Join(err, h.settings.check()); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", h.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer l.Close() //nolint:errcheck // the server has closed it by then, or nothing was served
	h.url = urlOf(l.Addr())
	if h.data, err = openData(h.options, h.settings, h.clock); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.data.close()) }()
	h.settings = h.withData()
	mux, err := h.routes(ctx)
	if err != nil {
		return err
	}
	return h.serve(ctx, l, guarded(mux, isLoopback(l.Addr())))
}

// withData returns the settings with this host's queues and records. Its handler uses these queues and no others,
// whatever the shell says: what it sent to another host, this one would never see.
func (h *host) withData() settings {
	if given, ok := h.settings.lookup(queueSetting); ok && given != h.url {
		h.log.Warn("the environment's " + queueSetting + " is not used: the handler gets the queues of this host, " + h.url)
	}
	return append(slices.Clip(h.settings), queueSetting+"="+h.url, storeSetting+"="+h.data.storeURL)
}

// routes builds what is served, with the settings that the handler will have.
func (h *host) routes(ctx context.Context) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.Handle("/", httpqueue.Handler(h.data.broker, gate.Neutralise))
	page.Register(mux, page.Config{
		Records: h.data.records, Broker: h.data.broker, Queues: h.settings.queueNames(), Clock: h.clock, Log: h.log,
	})
	if err := h.standIn(ctx, mux); err != nil {
		return nil, err
	}
	h.functions = h.newFunctions()
	mux.Handle(funchost.RoutePrefix, h.functions)
	return mux, nil
}

// standIn starts the stand-in for Prow and points the handler at it, unless Prow is elsewhere.
func (h *host) standIn(ctx context.Context, mux *http.ServeMux) error {
	if h.settings.elsewhere() {
		return nil
	}
	rate, err1 := h.settings.rate()
	burst, err2 := h.settings.burst()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	base := h.url + standInPath
	s, err := standin.Open(ctx, h.data.db, standin.Options{
		Clock: h.clock, BaseURL: base, JobTime: h.jobTime, RatePerMinute: rate, Burst: burst, Log: h.log,
	})
	if err != nil {
		return err
	}
	h.settings = h.settings.withStandIn(base)
	mux.Handle(standInPath+"/", http.StripPrefix(standInPath, s.Handler()))
	return nil
}

// serve runs the HTTP server and the function host until either ends. The server outlasts the function
// host, because the handler sends through it until its last invocation has ended.
func (h *host) serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		err := server.Serve(l)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		served <- err
	}()
	err := h.functions.Run(ctx)
	endRequests()
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer done()
	if server.Shutdown(closing) != nil {
		_ = server.Close() // whatever is still open ends with the process
	}
	return errors.Join(err, <-served)
}

func (h *host) newFunctions() *funchost.Host {
	var output io.Writer = prefixed{to: h.logTo, prefix: "handler: "}
	if h.quiet {
		output = io.Discard
	}
	return funchost.New(funchost.Config{
		Package: h.pkg, Queue: h.data.broker, Env: h.settings, Clock: h.clock, Log: h.log, Output: output,
		Ready: func() { fmt.Fprintf(h.out, "ready %s\n", h.url) },
	})
}

// urlOf is the address under which this machine reaches the listener.
func urlOf(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
