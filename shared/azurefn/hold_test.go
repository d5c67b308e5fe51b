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

// crowd is a handler that fails every message as its session says: "held" is to be held for a minute.
func crowd() http.Handler {
	wait := func(err error, _ int) time.Duration {
		if err.Error() == "held" {
			return time.Minute
		}
		return 0
	}
	fails := func(_ context.Context, in azurefn.Invocation) error { return errors.New(in.SessionID) }
	return azurefn.New(azurefn.Config{Functions: map[string]azurefn.Handler{"poll": fails}, Wait: wait})
}

// fail sends a message, and tells when it was answered and with what.
func fail(t *testing.T, h http.Handler, how string, begun time.Time, answered chan<- time.Duration) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/poll",
		strings.NewReader(`{"Data":{"m":{}},"Metadata":{"DeliveryCount":"1","SessionId":"\"`+how+`\""}}`))
	r.Header.Set("X-Azure-Functions-InvocationId", "i-1")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), how) {
		t.Errorf("%s: %d %s", how, w.Code, w.Body)
	}
	answered <- time.Since(begun)
}

// Of many that fail at once each waits as long as it is told: when the store is away, whatever is not held has used up
// all its deliveries in a moment.
func TestAllAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 20
		h, begun, answered := crowd(), time.Now(), make(chan time.Duration, 2*many)
		for range many {
			go fail(t, h, "own", begun, answered)
			go fail(t, h, "held", begun, answered)
		}
		times := map[time.Duration]int{}
		for range 2 * many {
			times[<-answered]++
		}
		if times[0] != many || times[time.Minute] != many {
			t.Errorf("answered after %v", times)
		}
	})
}
