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
