package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is one line of `go test -json` (cmd/internal/test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// Report turns the events into text. It is used by one goroutine.
type Report struct {
	out                   io.Writer
	running               map[string]map[string][]string // output by package and test
	skipped               []string
	passed, failed, skips int
	packages, broken      int // broken: with a failed test, or not compiled
}

// NewReport returns a report that writes to out.
func NewReport(out io.Writer) *Report {
	return &Report{out: out, running: map[string]map[string][]string{}}
}

// Read reads events up to the end. A line that is no event is passed on as it is.
func (r *Report) Read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
}

func (r *Report) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		r.print(line)
		return
	}
	if e.Test == "" {
		r.pkg(e)
		return
	}
	r.test(e)
}

func (r *Report) pkg(e event) {
	switch e.Action {
	case "output":
		if e.Output != "PASS\n" && !strings.HasPrefix(e.Output, "?") {
			r.print(e.Output)
		}
	case "build-output":
		r.print(e.Output)
	case "pass", "fail", "skip":
		r.packages++
		if e.Action == "fail" {
			r.broken++
		}
		r.unfinished(e)
	}
}

// unfinished shows the output of tests that a crash or a time-out has cut off.
func (r *Report) unfinished(e event) {
	tests := r.running[e.Package]
	delete(r.running, e.Package)
	if e.Action != "fail" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		r.failed++
		r.print(strings.Join(tests[name], ""))
	}
}

func (r *Report) test(e event) {
	tests := r.running[e.Package]
	if tests == nil {
		tests = map[string][]string{}
		r.running[e.Package] = tests
	}
	switch e.Action {
	case "output":
		tests[e.Test] = append(tests[e.Test], e.Output)
	case "pass":
		r.passed++
		delete(tests, e.Test)
	case "fail":
		r.failed++
		r.print(strings.Join(tests[e.Test], ""))
		delete(tests, e.Test)
	case "skip":
		r.skips++
		r.skipped = append(r.skipped, fmt.Sprintf("SKIP %s %s: %s", e.Package, e.Test, reason(tests[e.Test])))
		delete(tests, e.Test)
	}
}

// reason is what the test said about itself, without the framework's own lines.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") {
			continue
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

// Close writes the closing lines.
func (r *Report) Close() {
	for _, line := range r.skipped {
		r.print(line + "\n")
	}
	r.print(fmt.Sprintf("tests: %d passed, %d failed, %d skipped; packages: %d, %d of them failed\n", r.passed, r.failed, r.skips, r.packages, r.broken))
}

func (r *Report) print(text string) { _, _ = io.WriteString(r.out, text) }
