package servicebus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"prowgate/shared/azureid"
)

// ErrToken is in the chain of every error that is there because an identity gave no token. Its text is one
// of the phrases at which EV2 retries a step by default; the text of the errors themselves is not, so
// that whoever prints them decides.
var ErrToken = errors.New("failed to get token")

// scope is that of Service Bus (azservicebus, internal/sbauth/token_provider.go).
const scope = "https://servicebus.azure.net//.default"

// defaultIdentity is the identity of this process, with a limit on each request for a token.
func defaultIdentity(limit time.Duration) (azcore.TokenCredential, error) {
	cred, err := azureid.New()
	if err != nil {
		return nil, err
	}
	return bounded{cred, limit}, nil
}

// bounded gives each request for a token a deadline: the SDK asks without one.
type bounded struct {
	cred  azcore.TokenCredential
	limit time.Duration
}

// GetToken returns a token, which azidentity keeps until it is about to expire.
func (b bounded) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	token, err := b.cred.GetToken(ctx, o)
	if err != nil {
		return azcore.AccessToken{}, noToken{err}
	}
	return token, nil
}

// noToken is the failure of an identity.
type noToken struct{ err error }

func (e noToken) Error() string   { return "the Azure identity gave no token" + e.status() }
func (e noToken) Unwrap() []error { return []error{ErrToken, e.err} }

// NonRetriable ends the SDK's loop that renews a token in the background, which would otherwise turn without
// a pause (azservicebus, internal/namespace.go). The next use of the link then asks again.
func (e noToken) NonRetriable() {}

// status is what the identity's server answered; its text could hold more than should be shown.
func (e noToken) status() string {
	var f *azidentity.AuthenticationFailedError
	if errors.As(e.err, &f) && f.RawResponse != nil {
		return fmt.Sprintf(" (HTTP %d)", f.RawResponse.StatusCode)
	}
	return ""
}

// token makes sure that there is a token before the SDK asks for one, under the caller's deadline.
func (b *Bus) token(ctx context.Context) error {
	if b.identity == nil {
		return nil
	}
	_, err := b.identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
	return err
}
