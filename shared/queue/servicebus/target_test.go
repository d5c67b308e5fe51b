package servicebus

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const key = "SharedAccessKeyName=n;SharedAccessKey=hunter2="
	for raw, want := range map[string]string{
		"sb://gates.servicebus.windows.net":                                "gates.servicebus.windows.net:5671",
		"SB://gates.servicebus.usgovcloudapi.net/":                         "gates.servicebus.usgovcloudapi.net:5671",
		"Endpoint=sb://gates.servicebus.windows.net/;" + key:               "gates.servicebus.windows.net:5671",
		key + ";endpoint=sb://gates.servicebus.windows.net":                "gates.servicebus.windows.net:5671",
		"Endpoint=sb://h.example;SharedAccessSignature=hunter2":            "h.example:5671",
		"Endpoint=sb://localhost;" + key + ";UseDevelopmentEmulator=true;": "localhost:5672",
		"Endpoint=sb://127.0.0.1:99;UseDevelopmentEmulator=true;" + key:    "127.0.0.1:99",
		"Endpoint=sb://[::1];UseDevelopmentEmulator=true;" + key:           "[::1]:5672",
		"Endpoint=sb://localhost;" + key + ";UseDevelopmentEmulator=false": "localhost:5671",
	} {
		got, err := parse(raw)
		port := portTLS
		if got.plain {
			port = portPlain
		}
		if err != nil || got.address(port) != want {
			t.Errorf("%s: address %s, error %v; want %s", raw, got.address(port), err, want)
		}
		if strings.Contains(raw, "hunter2") && (len(got.secrets) != 1 || !strings.HasPrefix(got.secrets[0], "hunter2")) {
			t.Errorf("%s: secrets %q", raw, got.secrets)
		}
	}
}

func TestParseRefusesWithoutShowing(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                     "needs Endpoint",
		"sb://":                                "must be sb://",
		"sb://hunter2":                         "must be sb://",
		"sb://u:hunter2@h.example":             "must be sb://",
		"sb://h.example/hunter2":               "must be sb://",
		"sb://h.example?hunter2":               "must be sb://",
		"sb://h.example:5671":                  "must be sb://",
		"Endpoint=sb://h;hunter2":              "a part without a value",
		"Endpoint=https://h;SharedAccessKey=x": "needs Endpoint",
		"Endpoint=sb://h;SharedAccessKey=hunter2":                                                   "needs SharedAccessKeyName",
		"Endpoint=sb://h;SharedAccessKeyName=n":                                                     "needs SharedAccessKeyName",
		"Endpoint=sb://h:hunter2;SharedAccess=no":                                                   "needs Endpoint",
		"Endpoint=SB://h;SharedAccessKeyName=n;SharedAccessKey=hunter2;UseDevelopmentEmulator=true": "only be used with sb://",
		"Endpoint=sb://h;EntityPath=q;hunter2=yes":                                                  "EntityPath",
		"Endpoint=sb://h;SharedAccessSignature=s;UseDevelopmentEmulator=hunter2":                    "UseDevelopmentEmulator",
	} {
		_, err := New(raw)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want %q", raw, err, want)
		}
	}
}
