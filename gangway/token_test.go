package gangway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

// aVault counts who tells it of a refused token.
type aVault struct {
	renews  bool
	refused []string
}

func (v *aVault) Refused(_ context.Context, token string) bool {
	v.refused = append(v.refused, token)
	return v.renews
}

// TestRefusedToken: a denied call changes its kind only if the token has been renewed, and is made once.
func TestRefusedToken(t *testing.T) {
	for _, c := range []struct {
		status int
		renews bool
		kind   fault.Kind
		told   bool
	}{
		{http.StatusUnauthorized, true, fault.NothingHappened, true},
		{http.StatusForbidden, true, fault.NothingHappened, true},
		{http.StatusForbidden, false, fault.Refused, true},
		{http.StatusNotFound, true, fault.Refused, false},
		{http.StatusInternalServerError, true, fault.MayHaveHappened, false},
		{http.StatusTooManyRequests, true, fault.NothingHappened, false},
		{http.StatusFound, true, fault.MayHaveHappened, false},
	} {
		t.Run(fmt.Sprintf("%d, renews %v", c.status, c.renews), func(t *testing.T) {
			requests := 0
			config := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				answer(c.status, "text/plain", "denied "+r.Header.Get("Authorization"))(w, r)
			})
			v := &aVault{renews: c.renews}
			config.TokenRefused = v.Refused
			client := NewClient(config)
			_, err := client.Create(t.Context(), aSubmission())
			wantFault(t, err, c.kind, fmt.Sprintf("HTTP %d", c.status))
			err = client.Abort(t.Context(), anAbort())
			wantFault(t, err, c.kind, fmt.Sprintf("HTTP %d", c.status))
			var want []string
			if c.told {
				want = []string{secretToken, secretToken}
			}
			if !slices.Equal(v.refused, want) || requests != 2 {
				t.Errorf("told of %d refusals, %d requests", len(v.refused), requests)
			}
		})
	}
}

// TestOtherServersDoNotJudgeTheToken: Deck and the bucket are sent no token.
func TestOtherServersDoNotJudgeTheToken(t *testing.T) {
	config := serve(t, answer(http.StatusForbidden, "text/plain", "no"))
	v := &aVault{renews: true}
	config.TokenRefused = v.Refused
	_, _, err := NewDeck(config).Job(t.Context(), "x")
	wantFault(t, err, fault.Refused, "403")
	_, err = NewDeck(config).Jobs(t.Context(), func(prow.Job) bool { return true })
	wantFault(t, err, fault.Refused, "403")
	config.Token = nil
	_, err = NewClient(config).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.Refused, "403")
	if len(v.refused) != 0 {
		t.Errorf("told of %d refusals", len(v.refused))
	}
}
