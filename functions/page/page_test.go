package page_test

import (
	"log/slog"
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
	for request, want := range map[string]struct {
		status int
		text   string
	}{
		"GET /api/page":                  {200, `id="gate-g1"`},
		"GET /api/page?code=k&part=live": {200, `open=gate-g1`},
		"GET /api/gates":                 {200, `"gateId":"g1"`},
		"GET /api/gates/g1":              {200, `"phase":"running"`},
		"GET /api/gates/g2":              {404, `"error"`},
		"GET /":                          {404, "404"},
		"GET /api/":                      {404, "404"},
		"POST /api/page":                 {405, "Method Not Allowed"},
		"DELETE /api/gates/g1":           {405, "Method Not Allowed"},
		"POST /dead-letters/drop":        {404, "404"},
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: %d %s, want %d with %s", request, w.Code, w.Body, want.status, want.text)
		}
		if strings.Contains(w.Body.String(), "Dead letters") {
			t.Errorf("%s: shows queues: %s", request, w.Body)
		}
	}
}
