// Package cli is the command tree of `gate`: run, cancel, abort, status and validate. It turns flags
// into messages and results into exit codes; what a run does is in package step, what may be printed
// in package console.
//
// Entry point: Run. Everything that belongs to the process, such as its outputs, signals and clock,
// comes in through World, so that tests run the commands in-process.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"prowgate/infra/ev2/gate/console"
	"prowgate/infra/ev2/gate/step"
)

// Settings come from the environment.
type Settings struct {
	QueueURL        string     `envconfig:"QUEUE_URL"`
	StatusURL       string     `envconfig:"STATUS_URL"`
	StatusKey       string     `envconfig:"STATUS_KEY"`
	TraceParent     string     `envconfig:"TRACEPARENT"`
	SubmitQueue     string     `envconfig:"SUBMIT_QUEUE" default:"gate-submit"`
	CancelQueue     string     `envconfig:"CANCEL_QUEUE" default:"gate-cancel"`
	CompletionQueue string     `envconfig:"COMPLETION_QUEUE" default:"gate-completion"`
	LogLevel        slog.Level `envconfig:"LOG_LEVEL" default:"info"`
}

// SettingNames returns the names of the variables that Settings are read from.
func SettingNames() []string {
	var names []string
	for f := range reflect.TypeFor[Settings]().Fields() {
		names = append(names, f.Tag.Get("envconfig"))
	}
	return names
}

// Queue is what the commands need of the queues. Close lets go of connections and of a session's lock.
type Queue interface {
	step.Queue
	Close(ctx context.Context) error
}

// World is what the commands need of the process they run in. All parts are required.
type World struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Open           func(ctx context.Context, queueURL string) (Queue, error)
	HTTP           http.RoundTripper       // reads the status
	Signed         http.RoundTripper       // the same, where AWS has to let the request in
	Signals        func() <-chan os.Signal // called by `gate run` alone; the others may simply be killed
	Log            func(io.Writer) func()  // sends on what libraries say by themselves, of which nothing is clean; what it returns ends that
	Clock          func() time.Time
	NewID          func() string // a UUID
}

const closeLimit = time.Second

// app is one run of the program.
type app struct {
	World
	settings Settings
	console  *console.Console
	log      *slog.Logger
	level    *slog.LevelVar
	code     int

	// flags that every command has
	queueURL string
	output   string
	logLevel string
}

// Run runs the program and returns its exit code: that of the step, 2 when the usage is bad.
func Run(ctx context.Context, args []string, s Settings, w World) int {
	a := &app{World: w, settings: s, level: new(slog.LevelVar)}
	a.console = console.New(w.Stdout, w.Stderr, w.Clock)
	end := w.Log(a.console.Err)
	a.log = slog.New(slog.NewTextHandler(a.console.Err, &slog.HandlerOptions{Level: a.level}))
	root := a.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		a.fail(err)
	}
	end()
	a.console.Flush()
	return a.code
}

// nobodyReads is the exit code of a program whose output nobody reads any more, as shells report it. It is
// no code of `gate run`, whose output does not decide anything.
const nobodyReads = 128 + int(syscall.SIGPIPE)

// failure is an error with an exit code; other errors are bad usage.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func (a *app) fail(err error) {
	a.code = step.Rejected
	var f *failure
	switch {
	case errors.As(err, &f):
		a.code = f.code
	case errors.Is(err, syscall.EPIPE):
		a.code = nobodyReads
		return
	}
	_, _ = fmt.Fprintln(a.console.Err, "gate: "+err.Error())
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "gate",
		Short: "Gate a rollout on a Prow job, through prowgate's queues",
		Long: "gate sends gating and cancel messages to prowgate and prints its verdicts.\n\n" +
			"Environment: QUEUE_URL, STATUS_URL, STATUS_KEY, TRACEPARENT, SUBMIT_QUEUE, CANCEL_QUEUE, COMPLETION_QUEUE, LOG_LEVEL.\n\n" +
			"Exit codes: 0 passed; 1 the gate did not pass; 2 bad usage or rejected message; 3 the service\n" +
			"could not be reached or did not answer in time; 130, 143 cancelled by SIGINT, SIGTERM.",
		SilenceUsage: true, SilenceErrors: true,
		Args:              cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.checkFlags() },
		// A step whose command was left out must not pass.
		RunE: func(*cobra.Command, []string) error { return errors.New("a command is missing, see: gate --help") },
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.console.Out)
	root.SetErr(a.console.Err)
	f := root.PersistentFlags()
	f.StringVar(&a.queueURL, "queue-url", "", "where the queues are (default: the setting QUEUE_URL)")
	f.StringVar(&a.output, "output", "text", "how results are printed: text or json")
	f.StringVar(&a.logLevel, "log-level", "", "debug, info, warn or error (default: the setting LOG_LEVEL)")
	emptyIsNotGiven(f)
	root.AddCommand(a.runCommand(), a.cancelCommand(), a.abortCommand(), a.statusCommand(), a.validateCommand())
	return root
}

func (a *app) checkFlags() error {
	level := a.settings.LogLevel
	if a.logLevel != "" {
		if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
			return fmt.Errorf("--log-level: %w", err)
		}
	}
	a.level.Set(level)
	if a.output != "text" && a.output != "json" {
		return fmt.Errorf("--output must be text or json, not %q", a.output)
	}
	if a.queueURL == "" {
		a.queueURL = a.settings.QueueURL
	}
	return nil
}

func (a *app) json() bool { return a.output == "json" }

// close closes q. What cannot be closed in time ends with the process.
func (a *app) close(ctx context.Context, q Queue) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer stop()
	if err := q.Close(ctx); err != nil {
		a.log.Debug("the queues were not closed", "error", err)
	}
}
