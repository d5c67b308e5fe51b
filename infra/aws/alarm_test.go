package aws_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/gate"
	"prowgate/shared/secret"
)

func TestAlarms(t *testing.T) {
	tpl := readTemplate(t)
	watched := map[string]bool{}
	for _, a := range tpl.ofType("AWS::CloudWatch::Alarm") {
		p := tpl.properties(a)
		if actions, _ := p["AlarmActions"].([]any); len(actions) != 1 || actions[0] != "${AlarmTopicArn}" {
			t.Errorf("%s tells %v", a, p["AlarmActions"])
		}
		dimensions, _ := p["Dimensions"].([]any)
		for _, d := range dimensions {
			d, _ := d.(object)
			watched[fmt.Sprint(p["MetricName"], " ", d["Value"])] = true
		}
	}
	for _, q := range []string{"Submit", "Poll", "Cancel", "Completion"} {
		if !watched["ApproximateNumberOfMessagesVisible ${"+q+"DeadLetter.QueueName}"] {
			t.Errorf("nobody hears of dead letters of %s", q)
		}
	}
	for _, f := range []string{"Submit", "Poll", "Cancel", "Sweep", "Status"} {
		if !watched["Errors ${"+f+"Function}"] {
			t.Errorf("nobody hears of errors of %s", f)
		}
	}
	// What the filters look for is what the program logs; infra/azure asks the same of its alerts.
	want := map[any]int{`?"` + secret.RefusedText + `" ?"` + secret.UnreadableText + `"`: 3, `{ $.event = "` + sweepEvent(t) + `" }`: 1}
	got := map[any]int{}
	for _, f := range tpl.ofType("AWS::Logs::MetricFilter") {
		got[tpl.properties(f)["FilterPattern"]]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filters (-wanted +there):\n%s", diff)
	}
	if p := tpl.properties("NoSweepAlarm"); !watched["Invocations ${SweepFunction}"] || p["TreatMissingData"] != "breaching" || p["ComparisonOperator"] != "LessThanThreshold" {
		t.Errorf("a sweep that does not run is not missed: %v", p)
	}
}

// sweepEvent is the event under which the sweep's finding is logged.
func sweepEvent(t *testing.T) string {
	t.Helper()
	gating := gate.Gating{GateID: "g", JobName: "j", PollInterval: gate.Duration(time.Minute), Timeout: gate.Duration(time.Hour)}
	r, _ := gate.Decide(gate.Record{}, gate.Accepted{Gating: gating}, time.Unix(0, 0))
	r, _ = gate.Decide(r, gate.Overdue{}, r.Due().Add(time.Second))
	if len(r.Timeline) == 0 {
		t.Fatal("an overdue gate has no timeline")
	}
	return r.Timeline[len(r.Timeline)-1].Event
}
