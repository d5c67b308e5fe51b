// Package console is the step's output, and keeps its one rule: EV2 retries a step whose output
// contains a marker, in any letter case, so a marker is printed only as the beginning of the error of
// a completion that is classified as eligible, and only once. Whatever else is printed, from the
// queue, from the user or from an error, goes through Text first. The same holds for the texts for
// which EV2 retries by default; only Failed prints one.
//
// Entry point: New. Console.Say writes for people to stderr, Console.Verdict writes the result to
// stdout, Console.Out and Console.Err are writers for help, tables and logs. What goes to stderr waits
// only a moment for a reader that stands still; what goes to stdout waits as long as it takes.
package console

import (
	"fmt"
	"io"
	"time"
)

// Console is safe for concurrent use, except that Verdict is for one caller.
type Console struct {
	Out *Writer // stdout, cleaned
	Err *Writer // stderr, cleaned

	stdout io.Writer // stdout as it is, for the verdict alone
	stderr *patient
	clock  func() time.Time
}

// New returns a console over the process's outputs.
func New(stdout, stderr io.Writer, clock func() time.Time) *Console {
	p := &patient{to: stderr}
	return &Console{Out: NewWriter(stdout), Err: NewWriter(p), stdout: stdout, stderr: p, clock: clock}
}

// Say writes one line to stderr, with the time before it.
func (c *Console) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Err, "%s%s\n", c.stamp(), Line(fmt.Sprintf(format, args...)))
}

// Flush writes the unfinished lines, and gives stderr's reader a last moment. What cannot be printed any
// more cannot be reported either.
func (c *Console) Flush() {
	_, _ = c.Out.Flush(), c.Err.Flush()
	c.stderr.await(lastPatience)
}

// stamp is the time as lines begin with it.
func (c *Console) stamp() string { return c.clock().UTC().Format("15:04:05Z ") }
