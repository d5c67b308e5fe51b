package queueurl

import (
	"strings"
	"testing"
)

func TestOpenAccepts(t *testing.T) {
	for _, raw := range []string{
		"http://127.0.0.1:7071", "HTTP://localhost:1", "https://host/base/",
		"sb://gates.servicebus.windows.net", "SB://gates.servicebus.windows.net/",
		"Endpoint=sb://gates.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey=k",
		"SharedAccessKeyName=n;SharedAccessKey=k;Endpoint=sb://localhost;UseDevelopmentEmulator=true",
	} {
		q, err := Open(raw)
		if err != nil || q == nil {
			t.Errorf("Open(%q): %v", raw, err)
			continue
		}
		if err := q.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestOpenRefusesWithoutShowingSecrets(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"", "not set; accepted forms: sb://"},
		{"ftp://secret-key@host", "a Service Bus connection string, http://host:port"},
		{"secret-key", "accepted forms"},
		{"http://user:secret-key@host", "user or password"},
		{"http://host/?sig=secret-key", "query"},
		{"http://host/#secret-key", "fragment"},
		{"http://", "no host"},
		{"https://sqs.eu-west-1.amazonaws.com/123456789012", "names SQS"},
		{"https://sqs.cn-north-1.amazonaws.com.cn/123456789012", "names SQS"},
		{"sqs:http://127.0.0.1:9324/123456789012", "names SQS"},
		{"http://:80", "no host"},
		{"sb://user:secret-key@host.example", "QUEUE_URL: must be sb://"},
		{"Endpoint=sb://host.example;SharedAccessKey=secret-key", "SharedAccessKeyName"},
		{"SharedAccessKeyName=n;SharedAccessKey=secret-key", "needs Endpoint"},
		{"http://host:secret-key", "not a valid URL"},
	} {
		_, err := Open(c.raw)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%q): error %v, want one with %q", c.raw, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret-key") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}
