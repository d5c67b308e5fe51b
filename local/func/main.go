// Command func runs the deployable folder in the real Azure Functions host on one machine: Azure Functions
// Core Tools (func), with the official emulators of Service Bus and storage in docker, and the stand-in for
// Prow. It needs what bin/local exists to do without, and is for those who want to see the real host.
//
// Entry point: run. `make func` builds the folder and calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, time.Now)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "func:", err)
		os.Exit(1)
	}
}

// options say where things are.
type options struct {
	files   string // the folder with compose.yaml, Config.json and local.settings.json
	dist    string // the deployable folder
	health  string // where the Service Bus emulator says whether it is ready
	check   bool   // only look whether everything that is needed is there
	patient time.Duration
}

func parse(args []string, out io.Writer) (options, error) {
	o := options{}
	set := flag.NewFlagSet("func", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&o.files, "files", "local/func", "`folder` with compose.yaml, Config.json and local.settings.json")
	set.StringVar(&o.dist, "package", "dist/azure", "the deployable `folder`")
	set.StringVar(&o.health, "health", "http://127.0.0.1:5300/health", "`URL` at which the Service Bus emulator is asked whether it is ready")
	set.DurationVar(&o.patient, "emulator-time", 3*time.Minute, "how long the emulators may take to start")
	set.BoolVar(&o.check, "check", false, "only look whether everything that is needed is there")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if set.NArg() > 0 {
		return o, fmt.Errorf("what is %q?", set.Arg(0))
	}
	return o, nil
}

// run starts everything and waits until ctx ends or func does. It ends the emulators it has started. An error
// about what is missing on this machine names all of it.
func run(ctx context.Context, args []string, out io.Writer, clock func() time.Time) (err error) {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	values, err := readSettings(filepath.Join(o.files, settingsFile))
	if err != nil {
		return err
	}
	if err := lacking(ctx, os.Getenv); err != nil || o.check {
		return err
	}
	end, err := serveProw(ctx, values["GANGWAY_URL"], clock)
	if err != nil {
		return err
	}
	defer end()
	emulators := compose{file: filepath.Join(o.files, "compose.yaml"), out: out}
	defer func() { err = errors.Join(err, emulators.down(context.WithoutCancel(ctx))) }()
	if err := emulators.up(ctx); err != nil {
		return err
	}
	if err := ready(ctx, o.health, o.patient); err != nil {
		return err
	}
	if err := makeTable(ctx, values["STORE_URL"]); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(o.files, settingsFile), filepath.Join(o.dist, settingsFile)); err != nil {
		return err
	}
	return startFunc(ctx, o.dist, out)
}
