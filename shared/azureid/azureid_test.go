package azureid

import (
	"fmt"
	"os"
	"testing"
)

func TestChoice(t *testing.T) {
	const id = "11111111-2222-3333-4444-555555555555"
	const managed, chain = "*azidentity.ManagedIdentityCredential", "*azidentity.DefaultAzureCredential"
	for _, c := range []struct{ client, tenant, want string }{
		{"", "", chain}, {id, "", managed}, {"", id, chain}, {id, id, chain},
	} {
		t.Setenv("AZURE_CLIENT_ID", c.client)
		t.Setenv("AZURE_TENANT_ID", c.tenant)
		got, err := New()
		if kind := fmt.Sprintf("%T", got); err != nil || kind != c.want {
			t.Errorf("client %q, tenant %q: %s, %v; want %s", c.client, c.tenant, kind, err, c.want)
		}
		if _, set := os.LookupEnv("AZURE_CLIENT_ID"); set != (c.client != "") {
			t.Errorf("client %q: the SDK finds it set: %t", c.client, set)
		}
	}
}
