package keyvault

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"prowgate/shared/fault"
)

const uri = "https://ci-tokens.vault.azure.net/secrets/gangway"

// identityOf is a credential that always answers the same.
type identityOf struct{ err error }

func (c identityOf) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "an-identity", ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

// vault answers as Key Vault does: 401 with a challenge first (learn.microsoft.com, Authentication,
// requests and responses), then what it was told to.
type vault struct {
	status int
	body   string
	paths  []string
}

func (v *vault) Do(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if req.Header.Get("Authorization") != "Bearer an-identity" {
		w.Header().Set("WWW-Authenticate", `Bearer authorization="https://login.microsoftonline.com/a-tenant", resource="https://vault.azure.net"`)
		w.WriteHeader(http.StatusUnauthorized)
	} else {
		v.paths = append(v.paths, req.URL.Path)
		w.WriteHeader(v.status)
		_, _ = io.WriteString(w, v.body)
	}
	res := w.Result()
	res.Request = req
	return res, nil
}

func reader(t *testing.T, c Config) func(context.Context) (string, error) {
	t.Helper()
	read, err := Reader(uri, c)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestRead(t *testing.T) {
	v := &vault{status: 200, body: `{"value":"sha256~abc","id":"` + uri + `/1"}`}
	read := reader(t, Config{Credential: identityOf{}, Transport: v})
	for range 2 {
		if got, err := read(t.Context()); got != "sha256~abc" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if len(v.paths) != 2 || strings.TrimRight(v.paths[0], "/") != "/secrets/gangway" {
		t.Errorf("read %q", v.paths)
	}
}

func TestFailures(t *testing.T) {
	away := errors.New("the identity endpoint\nis away")
	for want, c := range map[string]Config{
		"HTTP 404 SecretNotFound":       {identityOf{}, &vault{status: 404, body: `{"error":{"code":"SecretNotFound","message":"in the body"}}`}},
		"HTTP 403 Forbidden":            {identityOf{}, &vault{status: 403, body: `{"error":{"code":"Forbidden","message":"in the body"}}`}},
		"the answer holds no value":     {identityOf{}, &vault{status: 200, body: `{}`}},
		"the identity endpoint is away": {identityOf{away}, &vault{status: 200, body: `{}`}},
	} {
		got, err := reader(t, c)(t.Context())
		if got != "" || !fault.Is(err, fault.NothingHappened) || err.Error() != "read secret: "+want {
			t.Errorf("got %q, %v; want %s", got, err, want)
		}
	}
}

// TestOwnDeadline: a vault that never answers does not hold a call for ever.
func TestOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := reader(t, Config{Credential: identityOf{}, Transport: silent{}})
		began := time.Now()
		_, err := read(t.Context())
		if !errors.Is(err, context.DeadlineExceeded) || !fault.Is(err, fault.NothingHappened) || time.Since(began) != timeout {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
	})
}

type silent struct{}

func (silent) Do(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestRefusedURIs(t *testing.T) {
	for _, bad := range []string{
		"", "gangway", "http://v.vault.azure.net/secrets/s", "https://v.vault.azure.net", "https://v.vault.azure.net/secrets/",
		"https://v.vault.azure.net/secrets/s/1", "https://v.vault.azure.net/keys/s", "https://u:p@v.vault.azure.net/secrets/s",
		"https://v.vault.azure.net/secrets/s?a=b",
	} {
		if read, err := Reader(bad, Config{}); err == nil || read != nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestIdentityOfTheProcess(t *testing.T) {
	for _, id := range []string{"", "00000000-0000-0000-0000-000000000001"} {
		t.Setenv("AZURE_CLIENT_ID", id)
		if read, err := Reader(uri, Config{}); err != nil || read == nil {
			t.Errorf("with client id %q: %v", id, err)
		}
	}
}
