package azurefn_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/shared/azurefn"
)

// held invokes a function that fails, and returns how long the answer took.
func held(ctx context.Context, t *testing.T, c azurefn.Config, metadata string) time.Duration {
	t.Helper()
	c.Functions = map[string]azurefn.Handler{"submit": func(context.Context, azurefn.Invocation) error { return errors.New("away") }}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/submit", strings.NewReader(`{"Data":{"m":{}},"Metadata":{`+metadata+`}}`))
	r.Header.Set("X-Azure-Functions-InvocationId", "i-1")
	start, w := time.Now(), httptest.NewRecorder()
	azurefn.New(c).ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError {
		t.Errorf("status %d", w.Code)
	}
	return time.Since(start)
}

func TestAFailedMessageIsHeld(t *testing.T) {
	const delivery = `"DeliveryCount":"3"`
	wait := func(err error, delivery int) time.Duration {
		if err.Error() != "away" {
			t.Errorf("asked about %v", err)
		}
		return time.Duration(delivery) * 10 * time.Second
	}
	synctest.Test(t, func(t *testing.T) {
		if got := held(t.Context(), t, azurefn.Config{Wait: wait}, delivery); got != 30*time.Second {
			t.Errorf("held for %v", got)
		}
		if got := held(t.Context(), t, azurefn.Config{Wait: wait}, ``); got != 0 {
			t.Errorf("a timer's invocation is held for %v", got)
		}
		if got := held(t.Context(), t, azurefn.Config{}, delivery); got != 0 {
			t.Errorf("without a rule held for %v", got)
		}
		if got := held(t.Context(), t, azurefn.Config{Wait: wait, Timeout: 7 * time.Second}, delivery); got != 7*time.Second {
			t.Errorf("held for %v, beyond the invocation's time", got)
		}
		gone, leave := context.WithTimeout(t.Context(), 5*time.Second)
		defer leave()
		if got := held(gone, t, azurefn.Config{Wait: wait}, delivery); got != 5*time.Second {
			t.Errorf("held for %v, though the host had hung up", got)
		}
	})
}
