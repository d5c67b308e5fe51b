package azure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The README has the numbers of the template and of the example environments.
func TestReadmeHasTheNumbers(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	deliveries := map[string]any{}
	var rates, bursts []string
	for _, name := range []string{"int", "stg", "prod"} {
		m := load(t, "parameters/"+name+".json")
		for _, q := range m.ofKind("Microsoft.ServiceBus/namespaces/queues") {
			deliveries[filepath.Base(q.id)] = q.at("properties", "maxDeliveryCount")
		}
		settings := m.settings(t)
		rates, bursts = append(rates, settings["GANGWAY_RATE_PER_MINUTE"]), append(bursts, settings["GANGWAY_BURST"])
	}
	list := func(values []string) string { return strings.Join(values[:2], ", ") + " and " + values[2] }
	for _, want := range []string{
		fmt.Sprintf("a message failed %v times (one of `gate-completion`: its receiver failed %v times)", deliveries["gate-submit"], deliveries["gate-completion"]),
		"the examples take " + list(bursts) + " as",
		"and " + list(rates) + " as `gangwayRatePerMinute`",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("README.md does not say: %s", want)
		}
	}
}
