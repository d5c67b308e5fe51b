package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long something may take to show, on a machine that has other things to do.
const patience = 30 * time.Second

// View is how a page is looked at.
type View struct {
	Width, Height int64 // in CSS pixels
	Dark          bool
	Phone         bool
	NoScript      bool
}

// Tab is one open page. Its methods end the test when the browser does not do as it is told.
type Tab struct {
	tb      testing.TB
	browser *Browser
	ctx     context.Context
	base    string

	mu       sync.Mutex
	problems []string
}

// Open shows what base serves at path, until the test ends.
func (b *Browser) Open(tb testing.TB, base, path string, v View) *Tab {
	tb.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	tb.Cleanup(end)
	t := &Tab{tb: tb, browser: b, ctx: ctx, base: base}
	if err := chromedp.Listen(ctx, t.note); err != nil {
		tb.Fatal(err)
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	call(t, network.Enable, network.EnableParams{})
	call(t, log.Enable, cdp.Empty{})
	call(t, runtime.Enable, cdp.Empty{})
	call(t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: v.Width, Height: v.Height, DeviceScaleFactor: 1, Mobile: v.Phone,
	})
	call(t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	call(t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})
	t.Go(path)
	return t
}

// Go loads another page of the same base.
func (t *Tab) Go(path string) {
	t.tb.Helper()
	act(t, chromedp.Navigate(t.base+path))
}

// act carries out one action and returns what it found.
func act[T any](t *Tab, action chromedp.Action[T]) T {
	t.tb.Helper()
	ctx, stop := context.WithTimeout(t.ctx, patience)
	defer stop()
	found, err := chromedp.Run(ctx, action)
	if err != nil {
		t.tb.Fatalf("the browser: %v", err)
	}
	return found
}

// call gives the browser one command of its protocol.
func call[P, R any](t *Tab, command cdp.Command[P, R], params P) R {
	t.tb.Helper()
	return act(t, func(ctx context.Context, to *chromedp.Target) (R, error) { return cdp.Call(ctx, to, command, params) })
}

// note keeps what goes wrong by itself.
func (t *Tab) note(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		t.problems = append(t.problems, fmt.Sprintf("exception: %s in line %d", e.ExceptionDetails.Text, e.ExceptionDetails.LineNumber))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			t.problems = append(t.problems, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			t.problems = append(t.problems, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, t.base+"/") && !strings.HasPrefix(u, "data:") {
			t.problems = append(t.problems, "request to elsewhere: "+u)
		}
	}
}

// Problems returns what went wrong by itself so far.
func (t *Tab) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.problems)
}

// Eval returns the value of an expression in the page.
func Eval[T any](t *Tab, expression string) T {
	t.tb.Helper()
	return act(t, chromedp.Evaluate[T](expression))
}

// Text returns the expression's value as text.
func (t *Tab) Text(expression string) string {
	t.tb.Helper()
	return Eval[string](t, "String("+expression+")")
}

// Wait waits until the expression is true, in this page or in one that comes after it. It asks from outside,
// because a page without script has no timers either. What is compared after it, once, must not be able to change
// any more: what still can belongs into the expression.
func (t *Tab) Wait(expression string) {
	t.tb.Helper()
	t.until(expression, func(ctx context.Context) (bool, error) {
		return chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
	})
}

// WaitProblem waits until something that goes wrong by itself is told in words that contain text. The browser tells of
// it apart from the page.
func (t *Tab) WaitProblem(text string) {
	t.tb.Helper()
	t.until("a problem with "+text, func(context.Context) (bool, error) {
		return slices.ContainsFunc(t.Problems(), func(p string) bool { return strings.Contains(p, text) }), nil
	})
}

// until asks again and again.
func (t *Tab) until(what string, is func(ctx context.Context) (bool, error)) {
	t.tb.Helper()
	ctx, stop := context.WithTimeout(t.ctx, patience)
	defer stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		yes, err := is(ctx)
		if yes {
			return
		}
		select {
		case <-ctx.Done():
			t.tb.Fatalf("never came: %s (%v)\npage: %s\nproblems: %q", what, err, t.Text("document.body.innerText"), t.Problems())
		case <-again.C:
		}
	}
}

// Click clicks on the first element that the selector matches, where it is on the screen.
func (t *Tab) Click(selector string) {
	t.tb.Helper()
	act(t, chromedp.Click(chromedp.CSS(selector)))
}

// Type types into whatever has the focus. Keys without a character are in package kb of chromedp.
func (t *Tab) Type(keys string) {
	t.tb.Helper()
	act(t, chromedp.KeyEvent(keys))
}

// Nameless returns the roles of the elements that take the focus and have no name for those who cannot see
// them.
func (t *Tab) Nameless() []string {
	t.tb.Helper()
	call(t, accessibility.Enable, cdp.Empty{})
	var found []string
	for _, n := range call(t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if n.Role != nil && focusable(n) && (n.Name == nil || len(n.Name.Value) <= len(`""`)) {
			found = append(found, string(n.Role.Value))
		}
	}
	return found
}

func focusable(n *accessibility.Node) bool {
	for _, p := range n.Properties {
		var yes bool
		if p.Name == accessibility.PropertyNameFocusable && json.Unmarshal(p.Value.Value, &yes) == nil && yes {
			return string(n.Role.Value) != `"RootWebArea"`
		}
	}
	return false
}

// Shot takes a picture of the whole page, if a folder for pictures was named.
func (t *Tab) Shot(name string) {
	t.tb.Helper()
	if t.browser.screenshots == "" {
		return
	}
	beyond := true
	picture := call(t, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond}).Data
	err := os.MkdirAll(t.browser.screenshots, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(t.browser.screenshots, name+".png"), picture, 0o600)
	}
	if err != nil {
		t.tb.Fatal(err)
	}
}
