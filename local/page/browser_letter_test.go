package page

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"prowgate/local/page/browsertest"
	"prowgate/shared/queue/depth"
)

const letter = "#letter-gate-submit-1"

func letterResent(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	body := `{"jobName": "<b>x</b>"}` + "\n"
	s.bury(t, "poison", []byte(body))
	tab := b.Open(t, s.serve(t), "/", desktop())
	tab.Click(letter + " > summary")
	tab.Wait(`document.querySelector("` + letter + ` pre") !== null`)
	if shown := tab.Text(`document.querySelector("` + letter + ` pre").textContent`); shown != body {
		t.Errorf("body %q", shown)
	}
	if text := tab.Text(`document.querySelector("` + letter + `").innerText`); !strings.Contains(text, "MaxDeliveryCountExceeded") || !strings.Contains(text, "deliveries: 1") {
		t.Error(text)
	}
	tab.Click(letter + ` form[action$="resend"] button`)
	tab.Wait(`document.getElementById("said").innerText.startsWith("Re-sent to gate-submit as resent-1") && !document.querySelector("` + letter + `")`)
	if tab.Text("document.activeElement.id") != "letters-title" {
		t.Error("the focus is at " + tab.Text("document.activeElement.outerHTML"))
	}
	d, ok, err := s.broker.TryReceive(t.Context(), "gate-submit", "")
	if err != nil || !ok || string(d.Body) != body || !strings.HasPrefix(d.ID, "resent-1") || d.ContentType != "text/x" || d.Trace != "t" {
		t.Errorf("re-sent %v: %+v, %v", ok, d, err)
	}
	clean(t, tab)
}

func letterDropped(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.bury(t, "poison", []byte(`{}`))
	tab := b.Open(t, s.serve(t), "/", desktop())
	tab.Click(letter + " > summary")
	tab.Wait(`document.querySelector("` + letter + ` .confirm") !== null`)
	if tab.Text(`document.querySelector("`+letter+` button.danger").checkVisibility()`) != "false" {
		t.Error("it can be dropped with one click")
	}
	tab.Click(letter + " .confirm summary")
	// The question stays while the page is refreshed around it.
	s.save(t, running("g1"))
	tab.Wait(`document.getElementById("gate-g1") !== null && document.querySelector("` + letter + ` button.danger").checkVisibility()`)
	tab.Click(letter + " button.danger")
	tab.Wait(`document.getElementById("said").innerText.startsWith("Dropped") && !document.querySelector("` + letter + `")`)
	if c, err := s.broker.Counts(t.Context(), "gate-submit"); err != nil || c != (depth.Counts{}) {
		t.Errorf("%+v, %v", c, err)
	}
	clean(t, tab)
}

func letterBinary(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	body := []byte("\x00\xff</pre><script>window.pwned=1</script>\x1b[31m")
	s.bury(t, "bytes", body)
	tab := b.Open(t, s.serve(t), "/?open=letter-gate-submit-1", desktop())
	if shown := tab.Text(`document.querySelector("` + letter + ` pre").textContent`); shown != hex.Dump(body) {
		t.Errorf("body %q", shown)
	}
	tab.Click(letter + ` form[action$="resend"] button`)
	tab.Wait(`document.getElementById("said").innerText.startsWith("Re-sent")`)
	if d, ok, err := s.broker.TryReceive(t.Context(), "gate-submit", ""); err != nil || !ok || string(d.Body) != string(body) {
		t.Errorf("re-sent %v: %q, %v", ok, d.Body, err)
	}
	clean(t, tab)
}

// anotherSite has a page of another origin try to drop a dead letter.
func anotherSite(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.bury(t, "poison", []byte(`{}`))
	base := s.serve(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<form method="post" action="` + base + `/dead-letters/drop"><input name="queue" value="gate-submit"><input name="sequence" value="1"></form>` +
			`<script>fetch("` + base + `/dead-letters/drop", {method: "POST", mode: "no-cors", body: new URLSearchParams({queue: "gate-submit", sequence: "1"})})
			.finally(() => document.forms[0].submit())</script>`))
	}))
	t.Cleanup(evil.Close)
	tab := b.Open(t, evil.URL, "/", desktop())
	tab.Wait(`location.pathname === "/dead-letters/drop"`)
	if c, err := s.broker.Counts(t.Context(), "gate-submit"); err != nil || c.DeadLettered != 1 {
		t.Errorf("another site dropped it: %+v, %v", c, err)
	}
	framed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<iframe src="` + base + `/" onload="window.loaded = true"></iframe>`))
	}))
	t.Cleanup(framed.Close)
	tab = b.Open(t, framed.URL, "/", desktop())
	tab.Wait("window.loaded")
	tab.WaitProblem("frame-ancestors") // another site may not frame the page
}
