// Package keyvault reads a secret from Azure Key Vault with the identity of the process, as package azureid
// chooses it. The identity needs the role Key Vault Secrets User.
//
// Entry point: Reader.
package keyvault

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azsecrets"

	"prowgate/shared/azureid"
	"prowgate/shared/fault"
)

const op = "read secret"

// timeout is how long one read may take, with the few retries that the SDK makes of it.
const timeout = 15 * time.Second

// Config replaces what Reader takes from the process. Its zero value is what a main wants.
type Config struct {
	Credential azcore.TokenCredential // the process's own identity when nil
	Transport  policy.Transporter     // the SDK's when nil
}

// Reader returns a function that reads the newest version of the secret at uri,
// https://<vault>.vault.azure.net/secrets/<name>. It connects to nothing yet. The function's errors are
// faults of kind NothingHappened, for reading changes nothing.
func Reader(uri string, c Config) (func(ctx context.Context) (string, error), error) {
	vault, name, err := parse(uri)
	if err != nil {
		return nil, err
	}
	if c.Credential == nil {
		if c.Credential, err = azureid.New(); err != nil {
			return nil, err
		}
	}
	o := &azsecrets.ClientOptions{ClientOptions: policy.ClientOptions{Transport: c.Transport}}
	client, err := azsecrets.NewClient(vault, c.Credential, o)
	if err != nil {
		return nil, fmt.Errorf("key vault client: %w", err)
	}
	return func(ctx context.Context) (string, error) { return read(ctx, client, name) }, nil
}

func read(ctx context.Context, client *azsecrets.Client, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	const newest = ""
	got, err := client.GetSecret(ctx, name, newest, nil)
	if err != nil {
		return "", &fault.Error{Kind: fault.NothingHappened, Op: op, Text: reason(err), Err: err}
	}
	if got.Value == nil {
		return "", &fault.Error{Kind: fault.NothingHappened, Op: op, Text: "the answer holds no value"}
	}
	return *got.Value, nil
}

// parse takes the URI of a secret apart.
func parse(uri string) (vault, name string, err error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", errors.New("must be https://<vault>.vault.azure.net/secrets/<name>")
	}
	name, ok := strings.CutPrefix(strings.TrimRight(u.Path, "/"), "/secrets/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return "", "", errors.New("must be https://<vault>.vault.azure.net/secrets/<name>, without a version")
	}
	return "https://" + u.Host, name, nil
}

// reason is err in one line. An answer is told by its status and code alone.
func reason(err error) string {
	if a := (*azcore.ResponseError)(nil); errors.As(err, &a) {
		return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.StatusCode, a.ErrorCode))
	}
	return fault.Reason(err)
}
