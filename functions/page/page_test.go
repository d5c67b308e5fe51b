package page_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"prowgate/functions/page"
	"prowgate/shared/gate"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// TestServesThePageAndNothingElse: reading alone, no queues, no dead letters.
func TestServesThePageAndNothingElse(t *testing.T) {
	s := memory.New()
	r := gate.Record{GateID: "g1", Phase: gate.PhaseRunning, CreatedAt: noon()}
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), store.Entry{Key: r.Key(), Body: body}); err != nil {
		t.Fatal(err)
	}
	h := page.Handler(s, "Somewhere", noon, slog.New(slog.DiscardHandler))
	for request, want := range map[string]string{
		"GET /api/page":                  `id="gate-g1"`,
		"GET /api/page?code=k&part=live": `open=gate-g1`,
		"GET /api/gates":                 `"gateId":"g1"`,
		"GET /api/gates/g1":              `"phase":"running"`,
		"GET /":                          "404",
		"GET /api/":                      "404",
		"POST /api/page":                 "Method Not Allowed",
		"DELETE /api/gates/g1":           "Method Not Allowed",
		"POST /dead-letters/drop":        "404",
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "Dead letters") {
			t.Errorf("%s: %d %s", request, w.Code, w.Body)
		}
		if ok := w.Code == http.StatusOK; ok != strings.HasPrefix(request, "GET /api/page") && ok != strings.HasPrefix(request, "GET /api/gates") {
			t.Errorf("%s: %d", request, w.Code)
		}
	}
}
