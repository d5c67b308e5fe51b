package tables

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

// identityOf is a credential that always answers the same.
type identityOf struct {
	token string
	err   error
	asked []string
}

func (c *identityOf) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.asked = append(c.asked, o.Scopes...)
	return azcore.AccessToken{Token: c.token, ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

func TestIdentity(t *testing.T) {
	c := &identityOf{token: "a-token"}
	var sent *http.Request
	s, err := Open("https://account.table.core.windows.net/records", Config{Credential: c, Transport: transport(func(req *http.Request) (*http.Response, error) {
		sent = req
		return answering(http.StatusNoContent, "")(req)
	})})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "k", `W/"1"`); err != nil {
		t.Fatal(err)
	}
	if sent.Header.Get("Authorization") != "Bearer a-token" || sent.Header.Get("If-Match") != `W/"1"` {
		t.Errorf("sent %v", sent.Header)
	}
	if got, want := sent.URL.String(), "https://account.table.core.windows.net/records(PartitionKey='records',RowKey='6b')"; got != want {
		t.Errorf("sent to %s, want %s", got, want)
	}
	if got := strings.Join(c.asked, " "); got != "https://storage.azure.com/.default" {
		t.Errorf("asked for a token for %s", got)
	}
}

// TestNoToken: without a token nothing is sent, so nothing can have happened.
func TestNoToken(t *testing.T) {
	failed := errors.New("the identity endpoint\nis away")
	s, err := Open("https://account.table.core.windows.net/records", Config{Credential: &identityOf{err: failed}, Transport: before(errors.New("sent all the same"))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`1`)})
	wantKind(t, "save", err, fault.NothingHappened)
	if !errors.Is(err, failed) || !strings.HasSuffix(err.Error(), "not sent: the identity endpoint is away") {
		t.Errorf("got %v", err)
	}
}

func TestOpenOfTheProcess(t *testing.T) {
	for _, id := range []string{"", "00000000-0000-0000-0000-000000000001"} {
		t.Setenv("AZURE_CLIENT_ID", id)
		s, err := Open("https://account.table.core.windows.net/records", Config{})
		if err != nil {
			t.Fatalf("with client id %q: %v", id, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRefused(t *testing.T) {
	const secret = "c2VjcmV0LWtleQ=="
	for value, want := range map[string]string{
		"":                                    "must name a table",
		"https://a.table.core.windows.net":    "must name a table",
		"https://a.table.core.windows.net/1a": "must name a table",
		"https://a.table.core.windows.net/a/" + secret:                   "must name a table",
		"https://u:" + secret + "@a.table.core.windows.net/abc":          "must be https://",
		"https://a.table.core.windows.net/abc?sig=" + secret:             "must be https://",
		"https://a.table.core.windows.net:" + secret + "/abc":            "must be https://",
		"AccountName=a;AccountKey=" + secret:                             "must name a table",
		"AccountName=a;AccountKey=" + secret + ";TableName=a-b":          "must name a table",
		"AccountKey=" + secret + ";TableName=abc":                        "valid connection string",
		"AccountName=a;AccountKey=no base64 " + secret + ";TableName=ab": "must name a table",
		"AccountName=a;AccountKey=?" + secret + ";TableName=abc":         "valid connection string",
		"TableName=abc;" + secret:                                        "valid connection string",
	} {
		s, err := Open(value, Config{})
		if err == nil || s != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", value, err, want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error repeats the key: %v", value, err)
		}
	}
}

// TestSharedAccessSignature: what a signature allows is in every URL, and must not get into an error.
func TestSharedAccessSignature(t *testing.T) {
	const signature = "sv=2024-11-04&sig=c2VjcmV0"
	var sent string
	for _, with := range []transport{
		before(refused()),
		answering(http.StatusForbidden, "AuthenticationFailed"),
		func(req *http.Request) (*http.Response, error) {
			sent = req.URL.String()
			return (&http.Client{Transport: &http.Transport{DialContext: nil, Proxy: nil}}).Do(req.Clone(cancelled(req.Context())))
		},
	} {
		s, err := Open("AccountName=a;SharedAccessSignature="+signature+";tablename=abc", Config{Transport: with})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`1`)})
		if err == nil || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("got %v", err)
		}
	}
	if !strings.Contains(sent, "c2VjcmV0") {
		t.Errorf("the request was not signed: %s", sent)
	}
}

func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}
