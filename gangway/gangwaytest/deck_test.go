package gangwaytest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
)

// deckItem is what the tests read of a ProwJob.
type deckItem struct {
	Metadata struct {
		Name                string
		Labels, Annotations map[string]string
	}
	Spec struct {
		Job, Type, Cluster string
		PodSpec            *struct {
			Containers []struct {
				Env []struct{ Name, Value string }
			}
		} `json:"pod_spec"`
		DecorationConfig map[string]any `json:"decoration_config"`
		Refs             *struct {
			Org     string
			BaseSHA string `json:"base_sha"`
		}
	}
	Status struct {
		State, URL, StartTime, CompletionTime string
		BuildID                               string `json:"build_id"`
		Revivals                              int    `json:"pod_revival_count"`
	}
}

func (r *rig) deck(query string) (items []deckItem, date time.Time) {
	r.t.Helper()
	resp := r.send("GET", "/prowjobs.js?"+query, "")
	defer func() { _ = resp.Body.Close() }()
	var list struct{ Items []deckItem }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		r.t.Fatal(err)
	}
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		r.t.Fatal(err)
	}
	return list.Items, date
}

func (r *rig) deckJob(id string) (item deckItem) {
	r.t.Helper()
	code, text := r.get("/prowjob?prowjob=" + id)
	if code != 200 {
		r.t.Fatalf("%d %s", code, text)
	}
	if err := yaml.Unmarshal([]byte(text), &item); err != nil {
		r.t.Fatal(err)
	}
	return item
}

func TestDeckJobIsLiveYAML(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	id := r.create(`{"job_name":"a","job_execution_type":2,` + aroRefs +
		`,"pod_spec_options":{"envs":{"K":"v"},"annotations":{"ev2.rollout/region":"uksouth"}}}`)
	resp := r.send("GET", "/prowjob?prowjob="+id, "")
	_ = resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
		t.Errorf("content type %s", got)
	}
	if _, text := r.get("/prowjob?prowjob=" + id); !strings.HasPrefix(text, "apiVersion: prow.k8s.io/v1\nkind: ProwJob\n") {
		t.Errorf("not YAML: %s", text)
	}
	j := r.deckJob(id)
	if j.Status.State != "triggered" || j.Spec.Refs.BaseSHA != "abc" || j.Metadata.Annotations["ev2.rollout/region"] != "uksouth" {
		t.Errorf("%+v", j)
	}
	if env := j.Spec.PodSpec.Containers[0].Env; len(env) != 1 || env[0].Name != "K" {
		t.Errorf("env %v", env)
	}
	j = r.after(15 * time.Second).deckJob(id)
	if j.Status.State != "pending" || len(j.Status.BuildID) != 19 || !strings.HasSuffix(j.Status.URL, "/a/"+j.Status.BuildID) {
		t.Errorf("pending: %+v", j.Status)
	}
}

func TestDeckJobAsJSONSaysTheSame(t *testing.T) {
	var texts [2]map[string]any
	for i := range texts {
		o := anyJob(gangwaytest.Passing(time.Minute))
		o.JSONJobs = i == 1
		r := newRig(t, o)
		id := r.postsubmit("a")
		_, text := r.after(time.Hour).get("/prowjob?prowjob=" + id)
		if json.Valid([]byte(text)) != o.JSONJobs {
			t.Errorf("JSON %v: %s", o.JSONJobs, text)
		}
		if err := yaml.Unmarshal([]byte(text), &texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Error(diff)
	}
}

func TestDeckJobAnswers404OnAnything(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	id := r.periodic("a")
	r.FailNext(gangwaytest.DeckJob, gangwaytest.Fault{Mode: gangwaytest.Lost})
	for _, want := range []int{404, 200} {
		if code, _ := r.get("/prowjob?prowjob=" + id); code != want {
			t.Errorf("%d, want %d", code, want)
		}
	}
	if code, _ := r.get("/prowjob?prowjob=nope"); code != 404 {
		t.Errorf("unknown: %d", code)
	}
	if code, _ := r.get("/prowjob"); code != 400 {
		t.Errorf("no parameter: %d", code)
	}
	r.after(25 * time.Hour)
	if code, _ := r.get("/prowjob?prowjob=" + id); code != 404 {
		t.Errorf("after a day: %d", code)
	}
}

func TestDeckListIsAsOldAsItsCache(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(20*time.Second)))
	r.after(time.Second).periodic("a")
	if items, date := r.after(28 * time.Second).deck(""); len(items) != 0 || date != time.Date(2026, 11, 2, 10, 0, 29, 0, time.UTC) {
		t.Errorf("before the refresh: %d jobs at %v", len(items), date)
	}
	if items, _ := r.after(time.Second).deck(""); len(items) != 1 || items[0].Status.State != "success" {
		t.Errorf("after it: %+v", items)
	}
	id := r.postsubmit("b")
	if items, _ := r.after(40 * time.Second).deck(""); len(items) != 2 || items[0].Metadata.Name != id {
		t.Errorf("the youngest is not first: %+v", items)
	}
	r.after(time.Second).AddForeign(gangwaytest.Foreign{JobName: "c", Type: prow.Periodic, Start: time.Date(2026, 11, 2, 10, 0, 5, 0, time.UTC)})
	if items, _ := r.deck(""); len(items) != 2 {
		t.Errorf("a job is listed before the next refresh: %d", len(items))
	}
	if items, _ := r.after(25 * time.Hour).deck(""); len(items) != 1 || items[0].Spec.Job != "c" {
		t.Errorf("after a day: %+v", items)
	}
}

func TestDeckListShowsAnOldState(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	id := r.periodic("a")
	r.after(30 * time.Second)
	if err := r.Move(id, prow.Success, "by hand"); err != nil {
		t.Fatal(err)
	}
	if items, _ := r.deck(""); items[0].Status.State != "pending" || r.deckJob(id).Status.State != "success" {
		t.Errorf("the list says %s, the job %s", items[0].Status.State, r.deckJob(id).Status.State)
	}
	if items, _ := r.after(30 * time.Second).deck(""); items[0].Status.State != "success" {
		t.Errorf("later the list says %s", items[0].Status.State)
	}
}

func TestDeckListParameters(t *testing.T) {
	for _, old := range []bool{false, true} {
		o := anyJob(gangwaytest.Hanging())
		o.OldDeck = old
		r := newRig(t, o)
		r.postsubmit("a")
		r.periodic("p")
		r.after(time.Minute)
		want := map[bool]int{false: 1, true: 2}[old]
		if items, _ := r.deck("org=Azure&repo=ARO-HCP"); len(items) != want {
			t.Errorf("old deck %v: %d of the repo", old, len(items))
		}
		items, _ := r.deck("omit=decoration_config,pod_spec")
		if i := items[0]; len(items) != 2 || i.Metadata.Labels == nil || i.Metadata.Annotations == nil || i.Spec.DecorationConfig != nil || len(i.Spec.PodSpec.Containers) != 1 {
			t.Errorf("omitted: %+v", items)
		}
		items, _ = r.deck("omit=annotations,labels")
		if i := items[0]; i.Metadata.Labels != nil || i.Metadata.Annotations != nil || i.Spec.DecorationConfig == nil {
			t.Errorf("omitted: %+v", items)
		}
	}
}

func TestDeckListAsScript(t *testing.T) {
	r := newRig(t, gangwaytest.Options{})
	if _, text := r.get("/prowjobs.js?var=allBuilds"); text != `var allBuilds = {"items":[]};` {
		t.Error(text)
	}
	r.FailNext(gangwaytest.DeckJobs, gangwaytest.Fault{Mode: gangwaytest.Lost})
	if _, text := r.get("/prowjobs.js"); text != `{}` {
		t.Error(text)
	}
}

func TestRevivedPodHasAnotherBuild(t *testing.T) {
	s := gangwaytest.Passing(time.Minute)
	s.Steps = append(s.Steps, gangwaytest.Step{After: 30 * time.Second, Revive: true})
	r := newRig(t, anyJob(s))
	id := r.periodic("a")
	first := r.after(20 * time.Second).deckJob(id).Status
	second := r.after(20 * time.Second).deckJob(id).Status
	if first.BuildID == second.BuildID || first.URL == second.URL || second.Revivals != 1 || second.State != "pending" {
		t.Errorf("%+v then %+v", first, second)
	}
	r.after(time.Hour)
	if names := strings.Join(r.objects("logs/a/"+first.BuildID+"/"), " "); strings.Contains(names, "/finished.json artifacts") || names == "" {
		t.Errorf("the first build's: %s", names)
	}
	if code, _ := r.get(fmt.Sprintf("/%s/logs/a/%s/finished.json", gangwaytest.Bucket, first.BuildID)); code != 404 {
		t.Errorf("the first build finished: %d", code)
	}
	if code, _ := r.get(fmt.Sprintf("/%s/logs/a/%s/finished.json", gangwaytest.Bucket, second.BuildID)); code != 200 {
		t.Errorf("the second did not: %d", code)
	}
}
