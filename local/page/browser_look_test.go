package page

import (
	"strings"
	"testing"
	"time"

	"prowgate/local/page/browsertest"
	"prowgate/shared/gate"
)

// crowd fills a scene with gates of every kind.
func crowd(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.save(t, running("rollout-4711-uksouth-e2e"))
	s.save(t, waiting("rollout-4711-eastus2-e2e"))
	s.save(t, retryable("rollout-4711-westus3-e2e"))
	s.save(t, passed("rollout-4710-northeurope-e2e"))
	s.save(t, gate.Record{GateID: "rollout-4709-early", CreatedAt: noon().Add(-72 * time.Hour), Cancel: &gate.Cancel{At: noon()}})
	s.save(t, gate.Record{
		ExecutionID: "9f1c1f2e-6a55-4d1c-8f0e-2b7f1f8f1a12", Phase: gate.PhaseDone, CreatedAt: noon().Add(-time.Hour),
		Abort:   gate.Abort{State: gate.AbortGivenUp, Outcome: gate.AbortSkipped, Reason: "no gate owns it, and a sibling runs"},
		Verdict: &gate.Notice{Outcome: gate.Cancelled, SentAt: noon(), Error: "abort skipped"},
	})
	s.bury(t, "poison-1", []byte(`{"jobName":"`+strings.Repeat("x", 300)+`"}`))
	s.bury(t, "poison-2", []byte("\x00\x01"))
	return s
}

func narrow(t *testing.T, b *browsertest.Browser) {
	s := crowd(t)
	base := s.serve(t)
	everything := "/?open=abort-9f1c1f2e-6a55-4d1c-8f0e-2b7f1f8f1a12&open=gate-rollout-4711-uksouth-e2e&open=gate-rollout-4711-westus3-e2e&open=letter-gate-submit-1&open=letter-gate-submit-2"
	tab := b.Open(t, base, everything, phone())
	tab.Shot("phone")
	fits := func(what string) {
		if w := tab.Text("document.documentElement.scrollWidth"); w != "360" {
			t.Errorf("%s is %s wide: %s", what, w, tab.Text(`[...document.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > 361).map((e) => e.tagName + "." + e.className).join()`))
		}
	}
	fits("everything open")
	s.save(t, hostile("g1"))
	tab.Go(everything + "&open=gate-g1")
	fits("hostile texts")
	if small := tab.Text(`[...document.querySelectorAll("a[data-live], button, summary, input:not([type=hidden])")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 24).map((e) => e.outerHTML).join()`); small != "" {
		t.Errorf("too small for a finger: %s", small)
	}
}

// contrast finds texts whose colour is too near to what is behind them (WCAG 2.2, 1.4.3: 4.5 to 1).
const contrast = `(() => {
	const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== "rgba(0, 0, 0, 0)") return c; } return "rgb(255, 255, 255)"; };
	return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).filter((e) => {
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
		return (a + 0.05) / (b + 0.05) < 4.5;
	}).map((e) => e.tagName + "." + e.className + " " + getComputedStyle(e).color + " on " + behind(e)).join("\n");
})()`

func colours(t *testing.T, b *browsertest.Browser) {
	s := crowd(t)
	base := s.serve(t)
	for name, dark := range map[string]bool{"light": false, "dark": true} {
		view := desktop()
		view.Dark = dark
		tab := b.Open(t, base, "/?open=gate-rollout-4711-uksouth-e2e&open=gate-rollout-4711-westus3-e2e&open=letter-gate-submit-1", view)
		tab.Shot("desktop-" + name)
		if poor := tab.Text(contrast); poor != "" {
			t.Errorf("%s: hard to read: %s", name, poor)
		}
		if back := tab.Text("getComputedStyle(document.body).backgroundColor"); (back == "rgb(255, 255, 255)") == dark {
			t.Errorf("%s: background %s", name, back)
		}
		clean(t, tab)
	}
}

func names(t *testing.T, b *browsertest.Browser) {
	s := crowd(t)
	tab := b.Open(t, s.serve(t), "/?open=gate-rollout-4711-uksouth-e2e&open=letter-gate-submit-1", desktop())
	if found := tab.Nameless(); len(found) > 0 {
		t.Errorf("without a name: %q", found)
	}
	if tab.Text(`document.documentElement.lang + document.querySelectorAll("h1").length + document.querySelectorAll("main").length`) != "en11" {
		t.Error("language, heading or main part is missing")
	}
}
