package queueurl

import (
	"fmt"
	"strings"
	"testing"

	"prowgate/shared/config"
	"prowgate/shared/queue/httpqueue"
	"prowgate/shared/queue/servicebus"
)

// urls are QUEUE_URLs of every kind, right and wrong ones.
func urls() []string {
	return []string{
		"http://127.0.0.1:7071", "https://host/", "sb://gates.servicebus.windows.net", "SB://gates.servicebus.windows.net/",
		"Endpoint=sb://gates.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey=k",
		"SharedAccessKeyName=n;SharedAccessKey=k;Endpoint=sb://localhost;UseDevelopmentEmulator=true",
		"https://ns.servicebus.windows.net", "amqps://ns.servicebus.windows.net", "HTTP://localhost:1", "http://h/path", "http://h/base/", "", "ftp://h",
		"http://u:p@h", "http://h/?q=1", "http://h:0", "sb://h", "sb://h.example/queue", "EntityPath=q;Endpoint=sb://h/;SharedAccessKey=k",
		"https://sqs.eu-west-1.amazonaws.com/123456789012", "sqs:http://127.0.0.1:9324/123456789012",
	}
}

// TestOpensWhatTheSettingsTake: the handler checks a QUEUE_URL by config.QueueForm, and must not be alone with it.
func TestOpensWhatTheSettingsTake(t *testing.T) {
	opened := map[config.Form]string{
		config.FormHTTP: fmt.Sprintf("%T", &httpqueue.Client{}), config.FormServiceBus: fmt.Sprintf("%T", &servicebus.Bus{}),
	}
	for _, raw := range urls() {
		form, formErr := config.QueueForm(raw)
		q, err := Open(raw)
		if want := formErr == nil && form != config.FormSQS; (err == nil) != want {
			t.Errorf("Open(%q): %v, but its form is %q, %v", raw, err, form, formErr)
		}
		if err != nil {
			continue
		}
		if got := fmt.Sprintf("%T", q); got != opened[form] {
			t.Errorf("Open(%q) is %s, want %s", raw, got, opened[form])
		}
		if err := q.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestOpenRefusesWithoutShowingSecrets(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"", "QUEUE_URL is not set: must be a Service Bus connection string or sb://"},
		{"ftp://secret-key@host", "or http://host:port"},
		{"secret-key", "QUEUE_URL: must be"},
		{"http://user:secret-key@host", "user name or password"},
		{"http://host/?sig=secret-key", "query"},
		{"http://host/#secret-key", "fragment"},
		{"http://host/secret-key", "must not have a path"},
		{"https://secret-key.servicebus.windows.net", "must be sb://"},
		{"http://", "absolute http"},
		{"https://sqs.eu-west-1.amazonaws.com/123456789012", "names SQS"},
		{"https://sqs.cn-north-1.amazonaws.com.cn/123456789012", "names SQS"},
		{"sqs:http://127.0.0.1:9324/123456789012", "names SQS"},
		{"http://:80", "absolute http"},
		{"sb://user:secret-key@host.example", "user name or password"},
		{"Endpoint=sb://host.example;SharedAccessKey=secret-key", "SharedAccessKeyName"},
		{"SharedAccessKeyName=n;SharedAccessKey=secret-key", "Endpoint=sb://"},
		{"http://host:secret-key", "absolute http"},
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
