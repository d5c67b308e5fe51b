// Package azureid chooses the Azure identity of this process, by one rule for every adapter:
//
//   - AZURE_CLIENT_ID without AZURE_TENANT_ID names a user-assigned managed identity, and no other is tried.
//   - Otherwise azidentity's default chain chooses. Beside AZURE_TENANT_ID the client id is that of an
//     application or a workload identity, which the chain knows how to use; with neither it takes the first that
//     the machine has, a system-assigned identity or a developer's `az login`.
//
// A variable that is set to nothing counts as not set: pipelines pass on what may be empty.
//
// Entry point: New.
package azureid

import (
	"fmt"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// New returns the identity. It asks nobody for a token yet; whoever uses it bounds the time that a token may take.
func New() (azcore.TokenCredential, error) {
	for _, name := range []string{"AZURE_CLIENT_ID", "AZURE_TENANT_ID"} {
		if os.Getenv(name) == "" {
			_ = os.Unsetenv(name) // azidentity takes an empty client id for one
		}
	}
	cred, err := choose(os.Getenv("AZURE_CLIENT_ID"), os.Getenv("AZURE_TENANT_ID"))
	if err != nil {
		return nil, fmt.Errorf("no Azure identity: %w", err)
	}
	return cred, nil
}

func choose(client, tenant string) (azcore.TokenCredential, error) {
	if client != "" && tenant == "" {
		return azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{ID: azidentity.ClientID(client)})
	}
	return azidentity.NewDefaultAzureCredential(nil)
}
