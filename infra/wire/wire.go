// Package wire starts the services that the wire tests talk to: other people's implementations, on Node,
// of the protocols that prowgate's adapters speak. They prove the wire, and not the semantics of Azure
// or AWS.
//
// Entry point: Start. `make wire` installs what package-lock.json names. Where Node 20 or the packages
// are missing, a test that needs them is skipped with the reason; with REQUIRE_WIRE=1 it fails.
package wire

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Start runs one of this folder's scripts until the test ends, and returns the address that the script
// prints once it listens, "127.0.0.1:<port>", in a line "listening <address>".
func Start(tb testing.TB, script string, args ...string) string {
	tb.Helper()
	dir := require(tb)
	cmd := exec.CommandContext(tb.Context(), "node", append([]string{script}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start %s: %v", script, err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			go discard(lines)
			return address
		}
	}
	tb.Fatalf("%s ended without listening", script)
	return ""
}

// discard reads on, so that the script never waits for a reader.
func discard(lines *bufio.Scanner) {
	for lines.Scan() {
		_ = lines.Text()
	}
}

// require returns the folder of the scripts if they can run here.
func require(tb testing.TB) string {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	dir := filepath.Dir(here)
	if why := missing(dir); why != "" {
		if os.Getenv("REQUIRE_WIRE") == "1" {
			tb.Fatal("REQUIRE_WIRE=1, but " + why)
		}
		tb.Skip("wire test skipped: " + why)
	}
	return dir
}

// missing says what a wire test lacks, empty when nothing.
func missing(dir string) string {
	version, err := exec.Command("node", "--version").Output() //nolint:noctx // ends at once
	if err != nil {
		return "there is no node"
	}
	if major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), "."); len(major) < 2 || major < "20" {
		return "node is older than 20: " + strings.TrimSpace(string(version))
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "rhea")); err != nil {
		return "the packages are not installed; run `make wire`"
	}
	return ""
}
