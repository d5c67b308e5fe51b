package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printStep prints what the step's log would show, and its exit code.
func printStep(out io.Writer, r result, found []string) {
	fmt.Fprintf(out, "\n== %s\n$ gate %s\n", r.name, strings.Join(r.args, " "))
	if r.signal {
		fmt.Fprintln(out, "(SIGTERM as soon as its job ran)")
	}
	for line := range strings.Lines(r.seen) {
		fmt.Fprint(out, "  | ", strings.TrimRight(line, "\n"), "\n")
	}
	fmt.Fprintf(out, "exit code %d\n", r.exit)
	for _, text := range found {
		fmt.Fprintln(out, "NOT AS IT SHOULD BE:", text)
	}
}

// printTable prints one line for each story.
func printTable(out io.Writer, e ending, f findings) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "story\toutcome\texit\tEV2 marker\tjobs made\tabort\tseconds\tas it should be")
	for i, r := range e.results {
		v, made := e.views[r.gateID], len(r.ownJobs(e.jobs))
		verdict := "yes"
		if len(f.of[i]) > 0 {
			verdict = "NO"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%s\t%.0f\t%s\n", r.name, dash(string(v.Outcome)), r.exit, markerIn(r.seen), made,
			dash(string(abortOf(v))), r.took.Seconds(), verdict)
	}
	_ = w.Flush() // out is a terminal
	for _, text := range f.rest {
		fmt.Fprintln(out, "NOT AS IT SHOULD BE:", text)
	}
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
