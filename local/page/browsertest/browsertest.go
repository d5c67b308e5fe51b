// Package browsertest shows a page to a real browser: Debian's chromium, without a window, driven over
// its DevTools protocol. Everything that a page does wrong by itself is noted: exceptions, errors on the
// console (a policy that was broken is one) and requests to elsewhere.
//
// Where there is no chromium a test is skipped with the reason; with REQUIRE_WIRE=1 it fails, as the wire
// tests do without their services.
//
// Entry points: Start and Browser.Open.
package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// names are those under which distributions install the browser.
func names() []string {
	return []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}
}

// Browser is one browser with a profile of its own.
type Browser struct {
	ctx         context.Context
	screenshots string // folder for screenshots; empty: none are taken
}

// Screenshots defines the flag that names the folder for screenshots. It is called once, before flags are parsed.
func Screenshots() *string {
	return flag.String("screenshots", "", "`folder` that gets a picture of the page at certain points of the browser tests")
}

// Start runs a browser until the test ends.
func Start(tb testing.TB, screenshots string) *Browser {
	tb.Helper()
	path := find(tb)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-domain-reliability", true),
	)
	// The browser outlasts the test's own context, which ends before its cleanups do.
	ctx, stop := chromedp.NewExecAllocator(context.WithoutCancel(tb.Context()), options...)
	ctx, end := chromedp.NewContext(ctx)
	tb.Cleanup(func() { end(); stop() })
	if err := chromedp.Do(ctx); err != nil {
		tb.Fatalf("start %s: %v", path, err)
	}
	return &Browser{ctx: ctx, screenshots: screenshots}
}

// find returns the browser's path.
func find(tb testing.TB) string {
	tb.Helper()
	for _, name := range names() {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	why := fmt.Sprintf("there is no browser: none of %v", names())
	if os.Getenv("REQUIRE_WIRE") == "1" {
		tb.Fatal("REQUIRE_WIRE=1, but " + why)
	}
	tb.Skip("browser test skipped: " + why)
	return ""
}
