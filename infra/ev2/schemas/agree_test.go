package schemas

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"prowgate/shared/gate"
)

// with returns an example with fields set to JSON texts; an empty text takes the field out.
func with(t *testing.T, example []byte, set map[string]string) []byte {
	t.Helper()
	m := maps.Clone(fieldsOf(t, example))
	for name, text := range set {
		m[name] = json.RawMessage(text)
		if text == "" {
			delete(m, name)
		}
	}
	return marshal(t, m)
}

func quote(text string) string { return `"` + text + `"` }

// quoteKey returns an object with that name.
func quoteKey(name string) string { return `{` + quote(name) + `: "x"}` }

// Schema and service agree on each of these.
func TestSchemaAndServiceAgree(t *testing.T) {
	for _, c := range []struct {
		name string
		ok   bool
		set  []map[string]string
	}{
		{"gating", true, []map[string]string{
			{"labels": `{"a.b/c": "d"}`, "annotations": `{"A": "x y"}`, "envs": `{"_A": "1"}`},
			{"gateId": quote(strings.Repeat("x", 63))},
			{"gateId": `"a.b_c-D"`},
			{"timeout": `"1.5h"`},
			{"pollInterval": quote("5\u00b5s")}, // the sign for micro
			{"pollInterval": quote("5\u03bcs")}, // the Greek letter
			{"annotations": quoteKey("\u212a\u0130.x/\u212a\u0130-\u212a")},
			{"timeout": `"1h0m0.5s"`},
			{"pollInterval": `"500ms"`},
			{"ev2RolloutVersion": `""`},
			{"ev2RolloutVersion": `"build.1.sdp-pipelines.x.ARO-HCP.2"`},
			{"ev2RolloutVersion": quote("\u212a.1.\u0130-\u212a.2")},
			{"baseSha": `"abcd"`},
			{"baseSha": `""`, "org": `""`},
			{"executionId": `"d3b8f5a1-3c54"`},
			{"executionId": `""`},
			{"gatePromotion": `true`, "allowEv2Retry": `true`},
			{"maxEv2AutoRetryFailures": `0`},
		}},
		{"gating", false, []map[string]string{
			{"gateId": ""},
			{"jobName": ""},
			{"cloud": ""},
			{"environment": ""},
			{"region": ""},
			{"gateId": `""`},
			{"jobName": `""`},
			{"cloud": `""`},
			{"environment": `""`},
			{"region": `""`},
			{"gateId": quote(strings.Repeat("x", 64))},
			{"gateId": `"-a"`},
			{"gateId": `"a b"`},
			{"gateId": `1`},
			{"jobName": `"a/b"`},
			{"jobName": quote(strings.Repeat("x", 254))},
			{"nope": `1`},
			{"GateID": `"g"`},
			{"labels": `{"a": ""}`},
			{"labels": `{"a": "b c"}`},
			{"labels": `{"a b": "c"}`},
			{"labels": `{"prow.k8s.io/job": "j"}`},
			{"labels": quoteKey("a\u212a")},
			{"annotations": quoteKey("a\u017f")},
			{"labels": `[]`},
			{"labels": `{"a": 1}`},
			{"annotations": `{"a": ""}`},
			{"annotations": `{"": "x"}`},
			{"envs": `{"A B": "x"}`},
			{"envs": `{"1A": "x"}`},
			{"envs": `{"A": ""}`},
			{"timeout": `"0s"`},
			{"timeout": `"-1h"`},
			{"timeout": `"soon"`},
			{"timeout": `60`},
			{"pollInterval": `"0h0m"`},
			{"timeout": `"5"`},
			{"timeout": `""`},
			{"ev2RolloutVersion": `"build.1.x"`},
			{"ev2RolloutVersion": `"build..x.y"`},
			{"ev2RolloutVersion": quote("\u017f.1")},
			{"baseSha": `"main"`},
			{"baseSha": `"abc"`},
			{"baseSha": `"abcd"`, "org": `""`},
			{"baseSha": `"abcd"`, "baseRef": `""`},
			{"executionId": `"A"`},
			{"gatePromotion": `"true"`},
			{"allowEv2Retry": `true`},
			{"gatePromotion": `true`, "allowEv2Retry": `true`, "maxEv2AutoRetryFailures": `0`},
			{"maxEv2AutoRetryFailures": `1.5`},
		}},
		{"cancel", true, []map[string]string{{"reason": ""}, {"executionId": `"e-1"`}}},
		{"cancel", false, []map[string]string{
			{"gateId": ""}, {"gateId": `""`}, {"gateId": quote(strings.Repeat("x", 129))}, {"executionId": `"A B"`}, {"nope": `1`}, {"reason": `1`},
		}},
		{"tick", true, []map[string]string{{"seq": ""}, {"executionId": `""`}}},
		{"tick", false, []map[string]string{{"gateId": ""}, {"executionId": `"e"`}, {"seq": `"1"`}, {"nope": `1`}}},
	} {
		s, example := compile(t, c.name), load(t, c.name).Examples[0]
		for _, set := range c.set {
			text := with(t, example, set)
			if err := check(t, s, text); (err == nil) != c.ok || parse(c.name, text) != c.ok {
				t.Errorf("%v: schema %v, service ok %t, want %t", set, err, parse(c.name, text), c.ok)
			}
		}
	}
}

// Every schema that refuses a null which the service takes says so.
func TestWhatTheSchemasSayOfNull(t *testing.T) {
	for name, field := range map[string]string{"gating": "timeout", "cancel": "reason", "tick": "seq"} {
		text := with(t, load(t, name).Examples[0], map[string]string{field: "null"})
		if check(t, compile(t, name), text) == nil || !parse(name, text) {
			t.Errorf("%s: schema and service agree on %s", name, text)
		}
		if !strings.Contains(load(t, name).Description, "takes null for a field that is not given") {
			t.Errorf("%s does not say that the service takes null", name)
		}
	}
}

// What the schema says of notices, which the service writes and does not read.
func TestNoticesThatBreakTheRules(t *testing.T) {
	s, examples := compile(t, "notice"), load(t, "notice").Examples
	progress, cancelled, eligible := examples[0], examples[1], examples[2]
	for _, c := range []struct {
		example []byte
		set     map[string]string
	}{
		{progress, map[string]string{"passed": `true`}},
		{progress, map[string]string{"outcome": `"failed"`}},
		{progress, map[string]string{"marker": `""`}},
		{progress, map[string]string{"sentAt": ""}},
		{progress, map[string]string{"sentAt": `"yesterday"`}},
		{progress, map[string]string{"kind": `"other"`}},
		{cancelled, map[string]string{"passed": `true`}},
		{cancelled, map[string]string{"outcome": ""}},
		{cancelled, map[string]string{"gateId": ""}},
		{cancelled, map[string]string{"retry": ""}},
		{cancelled, map[string]string{"abort": `{"outcome": "other"}`}},
		{cancelled, map[string]string{"text": `"x"`}},
		{cancelled, map[string]string{"marker": quote(gate.Marker(gate.KnownIssueEligible))}},
		{cancelled, map[string]string{"error": quote("x " + strings.ToUpper(gate.Marker(gate.KnownIssueEligible)))}},
		{eligible, map[string]string{"error": `"1 test failed"`}},
		{eligible, map[string]string{"marker": `""`}},
		{eligible, map[string]string{"outcome": `"errored"`}},
		{eligible, map[string]string{"retry": `"infra-precondition-eligible"`}},
	} {
		if check(t, s, with(t, c.example, c.set)) == nil {
			t.Errorf("%v is not refused", c.set)
		}
	}
}

// notices returns what the service sends for a few gates.
func notices(t *testing.T) (found []gate.Notice) {
	t.Helper()
	now := time.Date(2026, 11, 30, 9, 0, 0, 500, time.UTC)
	g := parsed(t, load(t, "gating").Examples[1])
	dry := g
	dry.DryRun = true
	for _, events := range [][]gate.Event{
		{gate.Refused{Rejection: gate.Rejection{GateID: "g", Problems: []string{"region: is required"}}}},
		{gate.Accepted{Gating: dry}},
		{gate.Accepted{Gating: g}, gate.CancelAsked{GateID: g.GateID, Reason: "stop"}},
		{gate.AbortAsked{ExecutionID: "e-1", Reason: "stop"}},
	} {
		var r gate.Record
		for _, e := range events {
			var commands []gate.Command
			r, commands = gate.Decide(r, e, now)
			for _, c := range commands {
				switch c := c.(type) {
				case gate.SendCompletion:
					found = append(found, c.Notice)
				case gate.SendProgress:
					found = append(found, c.Notice)
				}
			}
		}
	}
	return found
}

func TestWhatTheServiceSendsIsValid(t *testing.T) {
	s := compile(t, "notice")
	kinds := map[gate.Kind]int{}
	for _, n := range notices(t) {
		kinds[n.Kind]++
		if err := check(t, s, marshal(t, n)); err != nil {
			t.Errorf("%s: %v", marshal(t, n), err)
		}
	}
	if kinds[gate.KindCompletion] < 3 || kinds[gate.KindProgress] < 1 {
		t.Errorf("the service sent %v", kinds)
	}
}
