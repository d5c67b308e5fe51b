package aws_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"prowgate/shared/gate"
)

// The README has the numbers of the template and of the record.
func TestReadmeHasTheNumbers(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	tpl := readTemplate(t)
	failures := func(queue string) any { return under(tpl.properties(queue), "RedrivePolicy")["maxReceiveCount"] }
	r := gate.Record{GateID: "g", Phase: gate.PhaseRunning, Turn: gate.Turn{Seq: 1, At: time.Unix(1e9, 0)}}
	late := int(r.Due().Sub(r.Turn.At).Minutes()) // the sweep comes once a minute
	for _, want := range []string{
		fmt.Sprintf("a message failed %v times (one of `gate-completion`: its receiver failed %v times)", failures("SubmitQueue"), failures("CompletionQueue")),
		fmt.Sprintf("comes back after %v minutes", tpl.properties("PollQueue")["VisibilityTimeout"].(float64)/60), //nolint:forcetypeassert // a test
		fmt.Sprintf("the sweep finds its gate %d to %d minutes after the tick's time", late, late+1),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("README.md does not say: %s", want)
		}
	}
}
