package face_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"prowgate/infra/ev2/gate/face"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// answer is what a server says to everything.
type answer struct {
	status     int
	kind, body string
}

const isJSON = "application/json; charset=utf-8"

// serve returns a client of a server that answers so, and the paths that it was asked for.
func serve(t *testing.T, a *answer) (*face.Client, *[]string) {
	t.Helper()
	paths := new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*paths = append(*paths, r.URL.EscapedPath())
		w.Header().Set("Content-Type", a.kind)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/base/")
	if err != nil {
		t.Fatal(err)
	}
	return face.New(u, http.DefaultTransport), paths
}

func TestPathsAreEscaped(t *testing.T) {
	c, paths := serve(t, &answer{404, isJSON, `{"error":"no"}`})
	for _, id := range []string{"g-1", "a/b", "a?b#c", "a%2Fb"} {
		if _, found, err := c.Gate(t.Context(), id); found || err != nil {
			t.Errorf("%s: %t, %v", id, found, err)
		}
	}
	if _, _, _, err := c.Completion(t.Context(), "g-1"); err != nil {
		t.Error(err)
	}
	want := "/base/api/gates/g-1 /base/api/gates/a%2Fb /base/api/gates/a%3Fb%23c /base/api/gates/a%252Fb /base/api/gates/g-1/completion"
	if got := strings.Join(*paths, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAnswers(t *testing.T) {
	a := &answer{}
	c, _ := serve(t, a)
	*a = answer{200, isJSON, `{"gates":[{"gateId":"g","phase":"running"}]}`}
	if all, err := c.Gates(t.Context()); err != nil || len(all) != 1 || all[0].GateID != "g" {
		t.Errorf("%+v, %v", all, err)
	}
	*a = answer{200, isJSON, `{"gateId":"g","phase":"done","outcome":"failed"}`}
	if v, found, err := c.Gate(t.Context(), "g"); err != nil || !found || v.Outcome != gate.Failed {
		t.Errorf("%+v, %t, %v", v, found, err)
	}
	if body, _, found, err := c.Completion(t.Context(), "g"); err != nil || !found || string(body) != a.body {
		t.Errorf("%s, %t, %v", body, found, err)
	}
	*a = answer{202, isJSON, `{"gateId":"g","phase":"running"}`}
	if body, v, found, err := c.Completion(t.Context(), "g"); err != nil || !found || body != nil || v.Phase != gate.PhaseRunning {
		t.Errorf("%s, %+v, %t, %v", body, v, found, err)
	}
}

// Only what can pass by itself is worth asking again for.
func TestAnswersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		answer
		kind fault.Kind
	}{
		"not allowed":     {answer{403, isJSON, `{"Message":"Forbidden"}`}, fault.Refused},
		"another server":  {answer{404, "text/plain", "not found"}, fault.Refused},
		"redirect":        {answer{302, "text/html", ""}, fault.Refused},
		"login page":      {answer{200, "text/html", "<html>"}, fault.Refused},
		"cut":             {answer{200, isJSON, `{"gateId":`}, fault.Refused},
		"too large":       {answer{200, isJSON, `"` + strings.Repeat("x", 17<<20) + `"`}, fault.Refused},
		"busy":            {answer{429, isJSON, `{}`}, fault.NothingHappened},
		"failing":         {answer{500, isJSON, `{}`}, fault.NothingHappened},
		"store not there": {answer{503, isJSON, `{"error":"the records cannot be read now"}`}, fault.NothingHappened},
		"gateway":         {answer{502, "text/html", "<html>"}, fault.NothingHappened},
	} {
		t.Run(name, func(t *testing.T) {
			client, paths := serve(t, &c.answer)
			_, listErr := client.Gates(t.Context())
			_, _, oneErr := client.Gate(t.Context(), "g")
			_, _, _, completionErr := client.Completion(t.Context(), "g")
			for _, err := range []error{listErr, oneErr, completionErr} {
				if !fault.Is(err, c.kind) {
					t.Errorf("%v", err)
				}
			}
			if len(*paths) != 3 {
				t.Errorf("asked for %v", *paths)
			}
		})
	}
}

type broken struct{ err error }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

func TestTransportsThatFail(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "face.example"}
	cause := errors.New("away")
	if _, err := face.New(u, broken{cause}).Gates(t.Context()); !fault.Is(err, fault.NothingHappened) || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	own := &fault.Error{Kind: fault.Refused, Text: "https only"}
	if _, err := face.New(u, broken{own}).Gates(t.Context()); !fault.Is(err, fault.Refused) || !errors.Is(err, own) {
		t.Errorf("%v", err)
	}
}

func notice(t *testing.T, body []byte) (n gate.Notice) {
	t.Helper()
	if err := json.Unmarshal(body, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// parts is a service that shows its gates two at a time.
func parts(t *testing.T, n int, endless bool) (*face.Client, *[]string) {
	t.Helper()
	asked := new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.RawQuery+" "+r.Header.Get("X-Functions-Key"))
		from, _ := strconv.Atoi(r.URL.Query().Get("after"))
		list := []map[string]string{}
		for i := from; i < min(from+2, n); i++ {
			list = append(list, map[string]string{"gateId": strconv.Itoa(i)})
		}
		body := map[string]any{"gates": list}
		if from+2 < n {
			body["next"] = strconv.Itoa(from + 2)
		}
		if endless {
			body["next"] = "0"
		}
		w.Header().Set("Content-Type", isJSON)
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return face.New(u, http.DefaultTransport), asked
}

func TestGatesAreReadPartAfterPart(t *testing.T) {
	c, asked := parts(t, 5, false)
	all, err := c.WithKey("k").Gates(t.Context())
	if err != nil || len(all) != 5 || all[4].GateID != "4" {
		t.Errorf("%v %v", all, err)
	}
	if got := strings.Join(*asked, ";"); got != " k;after=2 k;after=4 k" {
		t.Error(got)
	}
}

func TestAListThatNeverEndsIsBounded(t *testing.T) {
	c, asked := parts(t, 5, true)
	if _, err := c.Gates(t.Context()); err != nil || len(*asked) > 2 {
		t.Errorf("%d requests, %v", len(*asked), err)
	}
	c, asked = parts(t, 1000, false)
	if _, err := c.Gates(t.Context()); err != nil || len(*asked) != 40 {
		t.Errorf("%d requests, %v", len(*asked), err)
	}
}
