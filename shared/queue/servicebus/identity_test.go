package servicebus

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// identity is a credential under the test's control.
type identity func(context.Context) (string, error)

func (i identity) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if len(o.Scopes) != 1 || o.Scopes[0] != scope {
		return azcore.AccessToken{}, errors.New("asked for another scope")
	}
	token, err := i(ctx)
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

const jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJwcm93In0.c2ln"

// as returns a bus that uses the identity and finds the test broker where its namespace would be.
func (f *far) as(t testing.TB, i identity) *Bus {
	t.Helper()
	b := f.bus(t)
	b.target = target{host: "gates.servicebus.windows.net"}
	b.identity = bounded{i, 50 * time.Millisecond}
	b.dial = func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", f.address)
	}
	return b
}

func TestIdentity(t *testing.T) {
	f := startFar(t)
	b := f.as(t, func(context.Context) (string, error) { return jwt, nil })
	send(t, b, sessions, queue.Message{ID: "m-1", SessionID: "s"})
	complete(t, b, sessions, receive(t, b, sessions, "s", "m-1"))
}

func TestNoToken(t *testing.T) {
	f := &far{address: "127.0.0.1:1"} // nothing is dialled
	down := errors.New("failed to get token: secret")
	for name, i := range map[string]identity{
		"fails": func(context.Context) (string, error) { return "", down },
		"hangs": func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
	} {
		b := f.as(t, i)
		b.dial = func(context.Context) (net.Conn, error) { return nil, errors.New("dialled without a token") }
		_, _, received := b.Receive(t.Context(), plain, "", time.Minute)
		for op, err := range map[string]error{"send": b.Send(t.Context(), plain, queue.Message{}), "receive": received} {
			wantKind(t, name+" "+op, err, fault.NothingHappened)
			if !errors.Is(err, ErrToken) {
				t.Errorf("%s %s: %v is no ErrToken", name, op, err)
			}
			if text := err.Error(); strings.Contains(text, ErrToken.Error()) || strings.Contains(text, "secret") {
				t.Errorf("%s %s: the text is %q", name, op, text)
			}
		}
	}
}

func TestNoTokenEndsTheBackgroundLoop(t *testing.T) {
	_, err := bounded{identity(func(context.Context) (string, error) { return "", errors.New("down") }), time.Minute}.
		GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{scope}})
	var marker interface{ NonRetriable() }
	if !errors.As(err, &marker) {
		t.Errorf("%v is not marked for the SDK", err)
	}
}

// The test broker repeats the token that it refuses, and that is as far as it gets.
func TestRefusedTokenIsNotShown(t *testing.T) {
	f := startFar(t)
	for name, b := range map[string]*Bus{
		"connection string": f.bus(t),
		"identity":          f.as(t, func(context.Context) (string, error) { return jwt, nil }),
	} {
		f.plan(planned{At: "token"})
		err := b.Send(t.Context(), plain, queue.Message{})
		wantKind(t, name, err, fault.Refused)
		for _, secret := range []string{secretKey, jwt, "sig="} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error shows %q: %v", name, secret, err)
			}
		}
		if !strings.Contains(err.Error(), "no claim") || !strings.Contains(err.Error(), "[secret]") {
			t.Errorf("%s: the broker's words are missing: %v", name, err)
		}
		send(t, b, plain, queue.Message{})
	}
}

func TestDefaultIdentity(t *testing.T) {
	for _, id := range []string{"", "11111111-2222-3333-4444-555555555555"} {
		t.Setenv("AZURE_CLIENT_ID", id)
		b, err := New("sb://gates.servicebus.windows.net")
		if err != nil || b.identity == nil {
			t.Fatalf("client id %q: %v", id, err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
