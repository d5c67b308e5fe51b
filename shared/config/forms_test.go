package config

import (
	"strings"
	"testing"
)

// What a program does not open is told along with everything else that is wrong, and the rules of such a form are not.
func TestFormsThatAreNotOpened(t *testing.T) {
	setenv(t, map[string]string{
		"QUEUE_URL": "http://h:1/path", "STORE_URL": "memory:", "LOG_LEVEL": "loud",
		"GANGWAY_TOKEN_URI": "https://ci-tokens.vault.azure.net/secrets/gangway",
	})
	_, err := Load(FormSQS, FormServiceBus, FormDynamoDB, FormSecretsManager)
	want := []string{
		"GANGWAY_TOKEN_URI: this program does not open this form (https://<vault>.vault.azure.net/secrets/<name> without a version), but the ARN of a secret of Secrets Manager",
		"LOG_LEVEL: must be debug, info, warn or error",
		"QUEUE_URL: this program does not open this form (http://host:port), but a Service Bus connection string" +
			" or sb://<namespace>.servicebus.windows.net or https://sqs.<region>.amazonaws.com/<account>",
		"STORE_URL: this program does not open this form (memory:), but dynamodb:<table>",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	setenv(t, map[string]string{"QUEUE_URL": "nonsense", "STORE_URL": "dynamodb:records"})
	_, err = Load(FormHTTP, FormDynamoDB)
	if want := "QUEUE_URL: must be http://host:port"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	setenv(t, map[string]string{"QUEUE_URL": "http://h:1", "STORE_URL": "dynamodb:records"})
	if _, err := Load(FormHTTP, FormDynamoDB); err != nil {
		t.Error(err)
	}
}
