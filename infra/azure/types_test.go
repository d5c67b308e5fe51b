package azure

import (
	"encoding/json"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/applicationinsights/armapplicationinsights"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/appservice/armappservice/v5"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/keyvault/armkeyvault"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/monitor/armmonitor"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/operationalinsights/armoperationalinsights"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/servicebus/armservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage"
	"github.com/google/go-cmp/cmp"
)

// typed is the SDK's own type of a resource, and the API version that the template uses it in.
type typed struct {
	api   string
	into  any
	newer string // a property that is younger than the type
}

// types are those of the template's resources. Most were made from the same API version. Log alerts are written for
// the stable version before the preview that their type was made from; what the template uses is in both. The
// types of Service Bus are of 2021-11-01, in which nobody could ask for a version of TLS.
func types() map[string]typed {
	return map[string]typed{
		"Microsoft.ManagedIdentity/userAssignedIdentities":          {"2024-11-30", &armmsi.Identity{}, ""},
		"Microsoft.ServiceBus/namespaces":                           {"2024-01-01", &armservicebus.SBNamespace{}, "minimumTlsVersion"},
		"Microsoft.ServiceBus/namespaces/queues":                    {"2024-01-01", &armservicebus.SBQueue{}, ""},
		"Microsoft.Storage/storageAccounts":                         {"2024-01-01", &armstorage.AccountCreateParameters{}, ""},
		"Microsoft.Storage/storageAccounts/tableServices":           {"2024-01-01", &armstorage.TableServiceProperties{}, ""},
		"Microsoft.Storage/storageAccounts/tableServices/tables":    {"2024-01-01", &armstorage.Table{}, ""},
		"Microsoft.Storage/storageAccounts/blobServices":            {"2024-01-01", &armstorage.BlobServiceProperties{}, ""},
		"Microsoft.Storage/storageAccounts/blobServices/containers": {"2024-01-01", &armstorage.BlobContainer{}, ""},
		"Microsoft.KeyVault/vaults":                                 {"2024-11-01", &armkeyvault.VaultCreateOrUpdateParameters{}, ""},
		"Microsoft.OperationalInsights/workspaces":                  {"2021-06-01", &armoperationalinsights.Workspace{}, ""},
		"Microsoft.Insights/components":                             {"2020-02-02", &armapplicationinsights.Component{}, ""},
		"Microsoft.Web/serverfarms":                                 {"2024-11-01", &armappservice.Plan{}, ""},
		"Microsoft.Web/sites":                                       {"2024-11-01", &armappservice.Site{}, ""},
		"Microsoft.Web/sites/basicPublishingCredentialsPolicies":    {"2024-11-01", &armappservice.CsmPublishingCredentialsPoliciesEntity{}, ""},
		"Microsoft.Authorization/roleAssignments":                   {"2022-04-01", &armauthorization.RoleAssignmentCreateParameters{}, ""},
		"Microsoft.Insights/metricAlerts":                           {"2018-03-01", &armmonitor.MetricAlertResource{}, ""},
		"Microsoft.Insights/scheduledQueryRules":                    {"2022-06-15", &armmonitor.ScheduledQueryRuleResource{}, ""},
	}
}

// lost returns what does not come back when a body goes through the SDK's type: misspelt properties, and
// values that the type does not take.
func lost(kind string, body map[string]any) (string, error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	known := types()[kind]
	into := known.into
	if err := json.Unmarshal(sent, into); err != nil {
		return "", err
	}
	back, err := json.Marshal(into)
	if err != nil {
		return "", err
	}
	var want, got map[string]any
	if err := json.Unmarshal(sent, &want); err != nil {
		return "", err
	}
	if properties, ok := want["properties"].(map[string]any); ok {
		delete(properties, known.newer)
	}
	if err := json.Unmarshal(back, &got); err != nil {
		return "", err
	}
	return cmp.Diff(want, got), nil
}

func TestResourcesHaveTheirTypes(t *testing.T) {
	each(t, func(t *testing.T, m template) {
		for _, r := range m.resources {
			if known := types()[r.kind]; r.api != known.api {
				t.Errorf("%s: API version %s, but its type is of %q", r.kind, r.api, known.api)
				continue
			}
			if diff, err := lost(r.kind, r.body); err != nil || diff != "" {
				t.Errorf("%s: %v (-template +SDK):\n%s", r.id, err, diff)
			}
		}
	})
}

// TestMistakesAreFound: the comparison sees what it is for.
func TestMistakesAreFound(t *testing.T) {
	const queue = "Microsoft.ServiceBus/namespaces/queues"
	for _, properties := range []map[string]any{
		{"requireSession": true}, {"maxDeliveryCount": "10"}, {"requiresSession": "yes"},
	} {
		if diff, err := lost(queue, map[string]any{"properties": properties}); err == nil && diff == "" {
			t.Errorf("%v is not found", properties)
		}
	}
	if diff, err := lost(queue, map[string]any{"properties": map[string]any{"requiresSession": true}}); err != nil || diff != "" {
		t.Errorf("a right one is found: %v %s", err, diff)
	}
}
