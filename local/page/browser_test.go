package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"prowgate/local/page/browsertest"
	"prowgate/shared/gate"
)

var screenshots = browsertest.Screenshots() //nolint:gochecknoglobals // a flag of the tests

// desktop and phone are how the page is looked at.
func desktop() browsertest.View { return browsertest.View{Width: 1200, Height: 800} }
func phone() browsertest.View   { return browsertest.View{Width: 360, Height: 740, Phone: true} }

// TestBrowser shows the page to a real browser.
func TestBrowser(t *testing.T) {
	b := browsertest.Start(t, *screenshots)
	for _, c := range []struct {
		name  string
		check func(*testing.T, *browsertest.Browser)
	}{
		{"gate that runs", gateRuns},
		{"gate that EV2 may retry", gateRetryable},
		{"abort that waits", abortWaits},
		{"gate that ends while it is read", gateEnds},
		{"dead letter is re-sent", letterResent},
		{"dead letter is dropped", letterDropped},
		{"dead letter of bytes", letterBinary},
		{"filter", filtered},
		{"without script", withoutScript},
		{"hostile texts", hostileTexts},
		{"narrow screen", narrow},
		{"colours", colours},
		{"names", names},
		{"another site", anotherSite},
		{"host is gone", hostGone},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, b) })
	}
}

// clean wants that nothing went wrong by itself and that no text became more than text.
func clean(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	if p := tab.Problems(); len(p) > 0 {
		t.Errorf("problems: %q", p)
	}
	if pwned := tab.Text("window.pwned"); pwned != "undefined" {
		t.Error("a text became script")
	}
	if gate.HasMarker(tab.Text("document.documentElement.outerHTML")) {
		t.Error("there is a marker on the page")
	}
}

const open = `document.getElementById("gate-g1").open && document.querySelectorAll("#gate-g1 .timeline li").length`

func gateRuns(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.save(t, running("g1"))
	tab := b.Open(t, s.serve(t), "/", desktop())
	tab.Wait(`document.querySelector("#running #gate-g1 .chip").innerText === "running · pending"`)
	// By keyboard alone.
	browsertest.Eval[any](tab, `document.querySelector("#gate-g1 summary").focus()`)
	tab.Type(kb.Enter)
	tab.Wait(open + " === 4")
	if link := tab.Text(`document.querySelector("#gate-g1 .facts a").href`); !strings.HasPrefix(link, "https://prow.ci.openshift.org/view/gs/") {
		t.Errorf("link %s", link)
	}
	// What comes later shows by itself, and disturbs nobody.
	browsertest.Eval[any](tab, `window.kept = document.getElementById("gate-g1"); document.body.style.paddingBottom = "200vh"; window.scrollTo(0, 120)`)
	r := running("g1")
	r.Timeline = append(r.Timeline, gate.Moment{At: noon(), Event: "state", Text: "late news"})
	s.save(t, r)
	s.save(t, running("g0"))
	tab.Wait(open + ` === 5 && document.getElementById("gate-g0") !== null`)
	if !browsertest.Eval[bool](tab, `window.kept === document.getElementById("gate-g1") && document.activeElement === window.kept.querySelector("summary")`) {
		t.Error("the gate was made anew, or lost the focus")
	}
	if tab.Text("window.scrollY > 100") != "true" {
		t.Error("the page was scrolled to " + tab.Text("window.scrollY"))
	}
	clean(t, tab)
}

func gateRetryable(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.save(t, retryable("g1"))
	tab := b.Open(t, s.serve(t), "/", desktop())
	tab.Click("#ended #gate-g1 summary")
	tab.Wait(open + " === 6")
	text := tab.Text(`document.getElementById("gate-g1").innerText`)
	for _, want := range []string{"failed", "EV2 may retry: known issue", "does not pass", "[sig-b] rotates a key", "classification"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	clean(t, tab)
}

func abortWaits(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.save(t, waiting("g1"))
	tab := b.Open(t, s.serve(t), "/", desktop())
	tab.Wait(`document.querySelector("#running #gate-g1 summary").innerText.includes("abort wanted")`)
	if text := tab.Text(`document.querySelector("#gate-g1 .last").innerText`); !strings.Contains(text, "put off: job 77aa of") {
		t.Errorf("why it waits is not to be seen at once: %s", text)
	}
	done := waiting("g1")
	done.Abort = gate.Abort{State: gate.AbortConfirmed, Outcome: gate.AbortDone, Reason: "seen aborted"}
	s.save(t, done)
	tab.Wait(`document.querySelector("#gate-g1 summary").innerText.includes("abort: aborted")`)
	clean(t, tab)
}

// gateEnds has a gate move to another part of the page while somebody reads it.
func gateEnds(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.save(t, running("g1"))
	s.save(t, running("g2"))
	tab := b.Open(t, s.serve(t), "/", desktop())
	browsertest.Eval[any](tab, `document.querySelector("#gate-g1 summary").focus()`)
	tab.Type(kb.Enter)
	tab.Wait(open + " === 4")
	browsertest.Eval[any](tab, `window.kept = document.getElementById("gate-g1")`)
	s.save(t, retryable("g1"))
	tab.Wait(`document.querySelector("#ended #gate-g1 .timeline li:nth-child(6)") !== null`)
	if !browsertest.Eval[bool](tab, `window.kept === document.getElementById("gate-g1") && window.kept.open && window.kept.contains(document.activeElement)`) {
		t.Error("the gate was closed, made anew, or lost the focus")
	}
	clean(t, tab)
}

func filtered(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.save(t, running("g1"))
	s.save(t, waiting("g2"))
	s.save(t, retryable("g3"))
	tab := b.Open(t, s.serve(t), "/?code=k%26ey", desktop())
	shown := `[...document.querySelectorAll(".gate .id")].map((e) => e.innerText).join()`
	tab.Wait(shown + ` === "g1,g2,g3"`)
	tab.Click("#q")
	tab.Type("EASTUS2 ab") // whoever types slowly sees g2 alone before the last letter is there
	tab.Wait(shown + ` === "g2"`)
	tab.Type("ort")
	tab.Wait(`location.search === "?code=k%26ey&q=EASTUS2+abort" && ` + shown + ` === "g2"`)
	browsertest.Eval[any](tab, `document.getElementById("q").value = ""; document.getElementById("filter").requestSubmit()`)
	tab.Wait(shown + ` === "g1,g2,g3"`)
	tab.Click("#group-failed a")
	tab.Wait(shown + ` === "g3" && document.querySelector("#groups [aria-current]").innerText === "failed 1"`)
	tab.Go("/" + tab.Text("location.search"))
	tab.Wait(shown + ` === "g3" && location.search === "?code=k%26ey&outcome=failed"`)
	clean(t, tab)
}

func withoutScript(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.save(t, running("g1"))
	s.save(t, retryable("g3"))
	s.bury(t, "poison", []byte(`{}`))
	view := desktop()
	view.NoScript = true
	tab := b.Open(t, s.serve(t), "/", view)
	tab.Click("#gate-g1 summary")
	tab.Click("#gate-g1 .more a")
	tab.Wait(open + " === 4")
	tab.Click("#group-failed a")
	tab.Wait(`document.querySelectorAll(".gate").length === 1`)
	tab.Click(letter + " > summary")
	tab.Click(letter + " .more a")
	tab.Click(letter + " .confirm summary")
	tab.Click(letter + " button.danger")
	tab.Wait(`location.hash === "#letters" && document.querySelector("` + letter + `") === null`)
	clean(t, tab)
}

func hostileTexts(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.save(t, hostile("g1"))
	s.bury(t, `"><script>window.pwned=1</script>`, []byte(`</pre><script>window.pwned=1</script>`+gate.Marker(gate.InfraPreconditionEligible)))
	tab := b.Open(t, s.serve(t), `/?open=letter-gate-submit-1&q="><script>window.pwned=1</script>`, desktop())
	clean(t, tab)
	tab.Go("/?open=letter-gate-submit-1")
	tab.Click("#gate-g1 summary")
	tab.Wait(open + " === 80")
	if tab.Text(`document.querySelectorAll("#gate-g1 .facts a").length`) != "0" {
		t.Error("a job's address of another kind is a link")
	}
	r := hostile("g1")
	r.Phase = gate.PhaseConcluding // the refreshed part is as hostile as the page
	s.save(t, r)
	tab.Wait(`document.querySelector("#gate-g1 .chip").innerText.startsWith("concluding")`)
	if text := tab.Text(`document.querySelector("` + letter + `").innerText`); !strings.Contains(text, "is shown changed") {
		t.Errorf("nobody is told that a marker is shown changed: %s", text)
	}
	clean(t, tab)
}

// hostGone wants to see that what is shown may be old, and that it goes on when the host is back. The host keeps its
// port meanwhile, so that nobody else takes it.
func hostGone(t *testing.T, b *browsertest.Browser) {
	s := newScene(t)
	s.save(t, running("g1"))
	var gone atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			panic(http.ErrAbortHandler) // ends the connection, and nothing was answered
		}
		s.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	tab := b.Open(t, server.URL, "/", desktop())
	tab.Wait(`document.getElementById("stale").hidden`)
	gone.Store(true)
	tab.Wait(`!document.getElementById("stale").hidden && document.getElementById("gate-g1") !== null`)
	gone.Store(false)
	tab.Wait(`document.getElementById("stale").hidden`)
}
