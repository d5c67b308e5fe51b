package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain lets this program be the handler that does nothing, as the command itself is.
func TestMain(m *testing.M) {
	if os.Getenv(nothingSetting) != "" {
		if err := start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

const root = "../.."

// build lays out what the benchmarks start.
func build(t *testing.T) (bin, deployed string) {
	t.Helper()
	bin, deployed = t.TempDir(), t.TempDir()
	for program, from := range map[string]string{filepath.Join(bin, "local"): "./local", filepath.Join(deployed, "handler"): "./functions/azure"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, from)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	files, err := filepath.Glob(root + "/functions/*/function.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("functions: %v, %v", files, err)
	}
	for _, file := range append(files, root+"/host.json") {
		to := deployed
		if dir := filepath.Base(filepath.Dir(file)); strings.HasSuffix(file, "function.json") {
			to = filepath.Join(deployed, dir)
		}
		content, err := os.ReadFile(file)
		if err == nil {
			err = os.MkdirAll(to, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(file)), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return bin, deployed
}

// What a reader of the table looks for, in its order.
func wanted() []string {
	return []string{
		"HANDLER, AT REST", "start to first answer, median +[0-9.]+ ms +does nothing: [0-9.]+ ms", "worst of 3", "resident memory +[0-9.]+ MiB",
		"size of the program +[0-9.]+ MiB",
		"HANDLER, MESSAGES", "a tick that came late.* [0-9]+ a second +does nothing: [0-9]+ a second", "CPU for one", "a gating message again",
		"a dry run", "a tick: ask Deck", "resident memory after",
		"ONE GATE", "Gangway +1 +fails, and may be retried: 1\n", "Deck +91 ", "bucket +0 +fails, and may be retried: [1-9]", "store: reads +[1-9]",
		"store: writes +[1-9]", "messages sent +[1-9]", "messages handled +92 ", `CPU of the handler for 90 looks \(of [1-9][0-9]\) +[0-9.]+ ms +the process that waits, 18 looks: 165.0 ms`, "CPU of the local host",
		"FROM A JOB'S END TO ITS VERDICT", "mean of 30 gates +[0-9.]+ s +nothing learned: [0-9.]+ s", "worst", "requests to Deck, an hour and gate +[0-9]+ ",
		"20 GATES AT ONCE", "until all jobs are created +9[0-9.]+ s +the least: 93.3 s", "the process that waits: 440.0 s", "20, 0 ",
		"GATES IN FLIGHT", "20 gates, each 1s: looks a second +[0-9.]+ +due: 20.0", "late, median +-?[0-9.]+ ms", "late, worst", "CPU of the host", "CPU for one look, both +[0-9.]+ ms +one processor carries [1-9]", "memory held for one gate, both +[0-9]+ KiB +one process that waits: 61440 KiB",
		"gates that have begun +20 ", "40 gates, each 1s", "growth for each gate +-?[0-9.]+ KiB",
		"COST OF 1,000 GATES", "Azure, list prices of .* +[0-9.]+ USD +container instance.* [0-9.]+ USD", "AWS, list prices",
		"TEN TIMES AS MANY, ON PAPER", "requests to Deck, a second +1667 ", "Gangway: submissions", "Service Bus Standard", "Table storage", "Functions: instances",
	}
}

func TestEveryPartGivesItsRows(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the benchmarks read /proc, which is Linux's")
	}
	bin, deployed := build(t)
	var out, log bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-bin", bin, "-package", deployed}, &out, &log, time.Now); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	_, table, ok := strings.Cut(out.String(), "\nwhat ")
	if !ok {
		t.Fatalf("there is no table:\n%s", out.String())
	}
	for _, row := range wanted() {
		at := regexp.MustCompile(row).FindStringIndex(table)
		if at == nil {
			t.Fatalf("there is no %q, or not in its place, in the rest of the table:\n%s", row, table)
		}
		table = table[at[0]:]
	}
}

func TestWhatCannotBeMeasuredIsSaid(t *testing.T) {
	var out, log bytes.Buffer
	args := []string{"-quick", "-bin", t.TempDir(), "-package", t.TempDir(), "-part", "^(handler, at rest|cost)"}
	err := run(t.Context(), args, &out, &log, time.Now)
	if err == nil || !strings.Contains(err.Error(), "handler, at rest: the handler is not built") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"not measured", "COST OF 1,000 GATES"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, out.String())
		}
	}
	if err := run(t.Context(), []string{"-part", "("}, &out, &log, time.Now); err == nil {
		t.Error("a broken pattern was taken")
	}
}

func TestLateness(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	l := &looks{clock: func() time.Time { return at(100) }, last: map[string]time.Time{}}
	l.note("a", at(0))
	l.note("a", at(5)) // before begin: does not count
	l.begin()
	l.note("a", at(66)) // 1 s late, and the next is not due yet
	l.note("b", at(30)) // the next should have come 10 s ago
	late := l.late(time.Minute)
	if len(late) != 2 || late[0] != time.Second || late[1] != 10*time.Second {
		t.Errorf("late %v", late)
	}
	if jobs, total := l.seen(); jobs != 2 || total != 4 {
		t.Errorf("%d jobs, %d looks", jobs, total)
	}
}
