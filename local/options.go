package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"
)

// inMemory is the value of --data that keeps nothing.
const inMemory = "memory"

// options are the command line.
type options struct {
	listen     string
	data       string // absolute path of a file, or inMemory
	packageDir string
	jobTime    time.Duration
	quiet      bool
}

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// parseOptions reads the command line; help and the flags' own errors go to log.
func parseOptions(args []string, log io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("local", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&o.listen, "listen", "127.0.0.1:7071", "`address` to listen on; port 0 takes a free one")
	f.StringVar(&o.data, "data", "prowgate.db", "`file` that keeps messages, records and the stand-in's jobs, or \"memory\"")
	f.StringVar(&o.packageDir, "package", filepath.Join("dist", "azure"), "`folder` to run: host.json, <function>/function.json, the handler")
	f.DurationVar(&o.jobTime, "standin-job-time", 20*time.Second, "how long a job takes at the stand-in for Prow")
	f.BoolVar(&o.quiet, "quiet", false, "log only warnings and errors, and nothing of the handler")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, usageError{err}
	}
	return o, o.check(f.Args())
}

func (o *options) check(rest []string) error {
	if len(rest) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", rest[0])}
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	if o.jobTime <= 0 {
		return usageError{fmt.Errorf("--standin-job-time: %v is not above 0", o.jobTime)}
	}
	if o.data == "" || strings.HasSuffix(o.data, string(filepath.Separator)) {
		return usageError{fmt.Errorf("--data: %q is neither a file nor %q", o.data, inMemory)}
	}
	if o.data == inMemory {
		return nil
	}
	// The handler runs in the package's folder, so the path has to hold from there too.
	abs, err := filepath.Abs(o.data)
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	o.data = abs
	return nil
}
