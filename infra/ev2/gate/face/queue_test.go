package face_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/infra/ev2/gate/face"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

const every = 10 * time.Second

// service is a status face without a network.
type service struct {
	status int
	body   string
	err    error
	asked  []time.Time
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, time.Now())
	if s.err != nil {
		return nil, s.err
	}
	if r.URL.Path != "/api/gates/g/completion" {
		return nil, errors.New("asked for " + r.URL.Path)
	}
	return &http.Response{
		StatusCode: s.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(s.body)),
	}, nil
}

// shows makes the service answer with the gate's timeline.
func (s *service) shows(t *testing.T, timeline ...gate.Moment) {
	t.Helper()
	body, err := json.Marshal(gate.View{GateID: "g", Phase: gate.PhaseRunning, JobURL: "https://prow/1", State: "pending", Timeline: timeline})
	if err != nil {
		t.Fatal(err)
	}
	s.status, s.body, s.err = http.StatusAccepted, string(body), nil
}

// sink is the queues that messages are sent to.
type sink struct{ sent []string }

func (s *sink) Send(_ context.Context, name string, _ queue.Message) error {
	s.sent = append(s.sent, name)
	return nil
}
func (*sink) Close(context.Context) error { return nil }

func moment(n int) gate.Moment {
	return gate.Moment{At: time.Date(2026, 11, 30, 9, 0, n, 0, time.UTC), Event: "state", Text: fmt.Sprint(n)}
}

// bubble runs a story of a queue in virtual time.
func bubble(t *testing.T, story func(t *testing.T, s *service, q *face.Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &service{status: http.StatusNotFound, body: `{"error":"there is no such gate"}`}
		story(t, s, face.NewQueue(&sink{}, face.New(&url.URL{Scheme: "https", Host: "face"}, s), every, time.Now))
	})
}

// texts receives until nothing comes and returns what did.
func texts(t *testing.T, q *face.Queue) (got []string) {
	t.Helper()
	for {
		d, ok, err := q.Receive(t.Context(), "gate-completion", "g", every)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return got
		}
		n := notice(t, d.Body)
		if n.Kind != gate.KindProgress || n.GateID != "g" || n.JobURL == "" || d.SessionID != "g" {
			t.Errorf("%+v", d)
		}
		got = append(got, n.Text)
	}
}

func TestTimelineBecomesProgressOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *service, q *face.Queue) {
		var got []string
		got = append(got, texts(t, q)...) // not known yet
		s.shows(t, moment(1), moment(2))
		got = append(got, texts(t, q)...)
		got = append(got, texts(t, q)...)
		s.shows(t, moment(1), moment(2), moment(3))
		got = append(got, texts(t, q)...)
		s.shows(t, moment(1), moment(4), moment(5)) // the last one seen gave way
		got = append(got, texts(t, q)...)
		if want := []string{"state: 1", "state: 2", "state: 3", "state: 4", "state: 5"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

// The completion is given again to whoever asks again: nothing is taken away.
func TestCompletionIsTheBodyAsItIs(t *testing.T) {
	bubble(t, func(t *testing.T, s *service, q *face.Queue) {
		s.status, s.body = http.StatusOK, `{"kind":"completion","gateId":"g"}`
		for range 2 {
			d, ok, err := q.Receive(t.Context(), "gate-completion", "g", time.Minute)
			if err != nil || !ok || string(d.Body) != s.body || d.ID != "g.completion" {
				t.Fatalf("%+v, %t, %v", d, ok, err)
			}
			if err := errors.Join(q.Complete(t.Context(), "gate-completion", d), q.Abandon(t.Context(), "gate-completion", d)); err != nil {
				t.Error(err)
			}
		}
		if gap := s.asked[1].Sub(s.asked[0]); gap != every {
			t.Errorf("asked again after %s", gap)
		}
	})
}

// However often the step receives, and whatever comes back, the face is asked at its own pace.
func TestPace(t *testing.T) {
	for name, prepare := range map[string]func(*service){
		"nothing": func(*service) {},
		"failing": func(s *service) { s.err = errors.New("away") },
		"refused": func(s *service) { s.status, s.body = http.StatusForbidden, `{"Message":"Forbidden"}` },
		"strange": func(s *service) { s.status, s.body = http.StatusOK, `{}` },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *service, q *face.Queue) {
				prepare(s)
				for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); {
					_, ok, err := q.Receive(t.Context(), "gate-completion", "g", 30*time.Second)
					if (err != nil) != (name == "failing" || name == "refused") || ok != (name == "strange") {
						t.Fatalf("%t, %v", ok, err)
					}
					if err != nil && fault.Is(err, fault.Refused) != (name == "refused") {
						t.Fatal(err)
					}
				}
				for i := 1; i < len(s.asked); i++ {
					if gap := s.asked[i].Sub(s.asked[i-1]); gap < every {
						t.Fatalf("asked again after %s", gap)
					}
				}
				if len(s.asked) < 55 {
					t.Errorf("asked %d times in 10 minutes", len(s.asked))
				}
			})
		})
	}
}

func TestReceiveEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, _ *service, q *face.Queue) {
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		began := time.Now()
		if _, ok, err := q.Receive(ctx, "gate-completion", "g", time.Hour); ok || err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("%t, %v after %s", ok, err, time.Since(began))
		}
	})
}

func TestMessagesAreSentToTheQueues(t *testing.T) {
	var s sink
	q := face.NewQueue(&s, nil, every, time.Now)
	if err := q.Send(t.Context(), "gate-cancel", queue.Message{}); err != nil || !slices.Equal(s.sent, []string{"gate-cancel"}) {
		t.Errorf("%v, %v", s.sent, err)
	}
}
