package page

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

// unowned is the abort of a job that no gate owns, as it stands when it has ended.
func unowned(execution string) gate.Record {
	return gate.Record{
		ExecutionID: execution, Phase: gate.PhaseDone, State: prow.Aborted, Cancel: &gate.Cancel{At: noon()},
		Abort:    gate.Abort{State: gate.AbortConfirmed, Outcome: gate.AbortDone, Reason: "seen"},
		Verdict:  &gate.Notice{Kind: gate.KindCompletion, Outcome: gate.Cancelled, SentAt: noon(), Error: "abort aborted: seen"},
		Timeline: []gate.Moment{{At: noon(), Event: "abort", Text: "aborted: seen"}},
	}
}

// among returns a store with two gates and two aborts; one of each has the same id and time.
func among(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New()
	save(t, s, gate.Record{GateID: "g1", Phase: gate.PhaseRunning}, noon().Add(-time.Minute))
	save(t, s, gate.Record{GateID: "e9", Phase: gate.PhaseRunning}, noon())
	save(t, s, unowned("e9"), noon())
	save(t, s, unowned("e7"), noon().Add(-2*time.Minute))
	return s
}

// views returns the gates of an answer, a part at a time.
func views(t *testing.T, records Records, query string) []gate.View {
	t.Helper()
	var all []gate.View
	for after := ""; ; {
		_, body, _ := get(t, serve(records), "/api/gates?limit=1&"+query+"&after="+after)
		var part struct {
			Gates []gate.View
			Total int
			Next  string
		}
		if err := json.Unmarshal([]byte(body), &part); err != nil || len(part.Gates) > 1 || len(all) > 9 {
			t.Fatalf("%v: %s", err, body)
		}
		all = append(all, part.Gates...)
		if after = part.Next; after == "" {
			return all
		}
	}
}

// TestAbortsWithoutAGateAreListed, each once, wherever a part of the list ends.
func TestAbortsWithoutAGateAreListed(t *testing.T) {
	s := among(t)
	for query, want := range map[string]string{
		"": "/e9 e9/ g1/ /e7", "q=e9": "/e9 e9/", "q=no+gate+owns": "/e9 /e7", "outcome=cancelled": "/e9 /e7", "outcome=in-flight": "e9/ g1/",
	} {
		var got []string
		for _, v := range views(t, s, query) {
			got = append(got, v.GateID+"/"+v.ExecutionID)
			if v.GateID == "" && (v.Outcome != gate.Cancelled || v.Abort == nil || v.Abort.Outcome != gate.AbortDone || len(v.Timeline) != 1) {
				t.Errorf("%+v", v)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestOneAbortWithoutAGate: a gate of that id comes first.
func TestOneAbortWithoutAGate(t *testing.T) {
	s := among(t)
	h := serve(s)
	for id, want := range map[string]string{"e9": `"gateId":"e9","phase":"running"`, "e7": `"gateId":"","phase":"done"`} {
		if code, body, _ := get(t, h, "/api/gates/"+id); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", id, code, body, want)
		}
	}
	_, body, _ := get(t, h, "/api/gates/e7")
	for _, want := range []string{`"executionId":"e7"`, `"outcome":"cancelled"`, `"state":"aborted"`, `"abort":{"outcome":"aborted","reason":"seen"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
}

// TestPageOfAbortsWithoutAGate shows each as what it is.
func TestPageOfAbortsWithoutAGate(t *testing.T) {
	_, body, _ := get(t, serve(among(t)), "/?open=abort-e9")
	ids := regexp.MustCompile(`id="((?:gate|abort)-\w+)"`).FindAllStringSubmatch(body, -1)
	var got []string
	for _, m := range ids {
		got = append(got, m[1])
	}
	if strings.Join(got, " ") != "gate-e9 gate-g1 abort-e9 abort-e7" {
		t.Errorf("%q", got)
	}
	_, ended, _ := strings.Cut(body, `id="ended"`)
	for _, want := range []string{
		`<b class="id">e9</b> <span class="region">a job that no gate owns</span>`, "abort: aborted", "<dt>ended</dt>", "aborted: seen",
		`open=abort-e7#abort-e7`, "2 gates, 2 aborted without a gate",
	} {
		if !strings.Contains(ended, want) {
			t.Errorf("%q is not in %s", want, ended)
		}
	}
	if strings.Contains(ended, "does not pass") {
		t.Error("there is no step that would pass or not")
	}
}

// TestRecordsThatAreNoAborts are left out.
func TestRecordsThatAreNoAborts(t *testing.T) {
	s := among(t)
	for id, body := range map[string]string{"": "{}", "n1": "null", "n2": "{}", "n3": `{"executionId":"other"}`, "n4": `{"gateId":"n4","executionId":"n4"}`} {
		if _, err := s.Save(t.Context(), store.Entry{Key: gate.AbortKeyPrefix + id, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if all := views(t, s, ""); len(all) != 4 {
		t.Errorf("%+v", all)
	}
	for _, id := range []string{"n1", "n2", "n3", "n4"} {
		if code, body, _ := get(t, serve(s), "/api/gates/"+id); code != 500 {
			t.Errorf("%s: %d %s", id, code, body)
		}
	}
}

// half is a store whose aborts cannot be read.
type half struct{ store.Store }

var errHalf = errors.New("half of it is away")

func (h half) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	if prefix == gate.AbortKeyPrefix {
		return nil, errHalf
	}
	return h.Store.List(ctx, prefix, after, limit)
}

func (h half) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	if strings.HasPrefix(key, gate.AbortKeyPrefix) {
		return store.Entry{}, false, errHalf
	}
	return h.Store.Load(ctx, key)
}

// TestHalfOfTheStoreIsNoList: what could not be read is not told to be missing.
func TestHalfOfTheStoreIsNoList(t *testing.T) {
	h := serve(half{among(t)})
	for path, want := range map[string]int{"/api/gates": 503, "/api/gates/e7": 503, "/api/gates/g1": 200} {
		if code, body, _ := get(t, h, path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}
