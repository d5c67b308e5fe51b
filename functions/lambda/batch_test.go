package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/functions"
	"prowgate/shared/azurefn"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// rig is a handler whose functions do what a message's body says.
type rig struct {
	*handler
	mu         sync.Mutex
	log        bytes.Buffer
	handled    []string // function and body
	forwarded  []string
	given      map[string]time.Duration // by receipt handle
	forwardErr error
	wake       chan struct{} // ends the wait of a function that does not listen to its context
	running    int
	most       int
}

func newRig() *rig {
	r := &rig{given: map[string]time.Duration{}}
	r.handler = &handler{
		functions: map[string]functions.Handler{"submit": r.function("submit"), "poll": r.function("poll"), "sweep": r.function("sweep")},
		byQueue:   map[string]string{"gate-submit": "submit", "gate-poll": "poll"},
		queues:    r,
		log:       slog.New(azurefn.NewLog(&r.log, slog.LevelInfo)),
	}
	return r
}

func (r *rig) function(name string) functions.Handler {
	return func(ctx context.Context, body []byte) error {
		r.enter(name + " " + string(body))
		defer r.leave()
		switch string(body) {
		case `"fail"`:
			return &fault.Error{Kind: fault.NothingHappened, Op: "load", Text: "the store is away"}
		case `"panic"`:
			panic("a mistake")
		case `"slow"`:
			<-ctx.Done()
			return ctx.Err()
		case `"deaf"`:
			<-r.wake
		case `"brief"`:
			<-time.After(time.Second)
		}
		return nil
	}
}

func (r *rig) enter(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handled = append(r.handled, what)
	r.running++
	r.most = max(r.most, r.running)
}

func (r *rig) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
}

func (r *rig) Forward(_ context.Context, name string, m queue.Message) (bool, error) {
	if m.ScheduledAt.IsZero() || r.forwardErr != nil {
		return false, r.forwardErr
	}
	r.forwarded = append(r.forwarded, name+" "+m.ID+" "+m.ScheduledAt.Format(time.TimeOnly))
	return true, nil
}

func (r *rig) GiveBack(_ context.Context, name, lock string, after time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given[name+" "+lock] = after
	return errors.New("gone")
}

// record is one message of an event, as the event source sends it.
func record(queueName, id, body string, count int, attributes string) string {
	return fmt.Sprintf(`{"messageId":%q,"receiptHandle":%q,"body":%q,"attributes":{"ApproximateReceiveCount":"%d","SentTimestamp":"1764500000000"},`+
		`"messageAttributes":{%s},"md5OfBody":"","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:%s","awsRegion":"eu-west-1"}`,
		id, "lock-"+id, body, count, attributes, queueName)
}

func (r *rig) invoke(ctx context.Context, t *testing.T, records ...string) string {
	t.Helper()
	answer, err := r.Invoke(ctx, []byte(`{"Records":[`+strings.Join(records, ",")+`]}`))
	if err != nil {
		t.Fatalf("an error fails the whole batch: %v", err)
	}
	return string(answer)
}

func failed(ids ...string) string {
	items := []string{}
	for _, id := range ids {
		items = append(items, `{"itemIdentifier":"`+id+`"}`)
	}
	return `{"batchItemFailures":[` + strings.Join(items, ",") + `]}`
}

func TestAllIsWell(t *testing.T) {
	r := newRig()
	got := r.invoke(t.Context(), t, record("gate-submit", "a", `{"x":1}`, 1, ""))
	if want := failed(); got != want {
		t.Errorf("answer %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{`submit {"x":1}`}, r.handled); diff != "" || len(r.given) > 0 {
		t.Errorf("handled %s, given back %v", diff, r.given)
	}
}

func TestOnlyWhatFailedComesAgain(t *testing.T) {
	r := newRig()
	got := r.invoke(t.Context(), t,
		record("gate-poll", "a", `"good"`, 1, ""), record("gate-poll", "b", `"fail"`, 1, ""), record("gate-poll", "c", `"panic"`, 3, ""),
		record("gate-other", "d", `"good"`, 9, ""), record("gate-poll", "e", `"good"`, 1, `"Encoding":{"dataType":"String","stringValue":"zip"}`),
		record("gate-submit", "f", `"good"`, 1, ""))
	if want := failed("b", "c", "d", "e"); got != want {
		t.Errorf("answer %s, want %s", got, want)
	}
	want := map[string]time.Duration{
		"gate-poll lock-b": 10 * time.Second, "gate-poll lock-c": 0, "gate-other lock-d": time.Minute, "gate-poll lock-e": 0,
	}
	if diff := cmp.Diff(want, r.given); diff != "" {
		t.Errorf("given back (-want +got):\n%s", diff)
	}
	for _, text := range []string{"a mistake", "batch_test.go", "the store is away", "gate-other", "unknown encoding"} {
		if !strings.Contains(r.log.String(), text) {
			t.Errorf("the log does not speak of %q:\n%s", text, r.log.String())
		}
	}
}

const later = `"Id":{"dataType":"String","stringValue":"g1.tick.2"},"ScheduledAt":{"dataType":"String","stringValue":"2026-11-30T12:00:00Z"}`

func TestEarlyMessageIsSentOn(t *testing.T) {
	r := newRig()
	if got, want := r.invoke(t.Context(), t, record("gate-poll", "a", `{}`, 1, later)), failed(); got != want {
		t.Errorf("answer %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"gate-poll g1.tick.2 12:00:00"}, r.forwarded); diff != "" || len(r.handled) > 0 {
		t.Errorf("forwarded %s, handled %v", diff, r.handled)
	}
	r.forwardErr = errors.New("the queue is away")
	if got, want := r.invoke(t.Context(), t, record("gate-poll", "a", `{}`, 1, later)), failed("a"); got != want {
		t.Errorf("answer %s, want %s", got, want)
	}
}

// What cannot be read is given back at once, however often it has come: only then does it soon become a dead letter.
func TestUnreadableDoesNotWait(t *testing.T) {
	for _, text := range []string{"Encoding=gzip", "Encoding=base64", "ScheduledAt=tomorrow"} {
		r := newRig()
		name, value, _ := strings.Cut(text, "=")
		attribute := fmt.Sprintf(`%q:{"dataType":"String","stringValue":%q}`, name, value)
		got := r.invoke(t.Context(), t, record("gate-submit", "a", `!!`, 5, attribute))
		if diff := cmp.Diff(map[string]time.Duration{"gate-submit lock-a": 0}, r.given); diff != "" || got != failed("a") || len(r.handled) > 0 {
			t.Errorf("%s: answer %s, handled %v, given back %s", text, got, r.handled, diff)
		}
	}
}

// Whatever a function does, the answer is given before the runtime kills the process.
func TestAnswerBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 30 * time.Second
		r := newRig()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		start := time.Now()
		got := r.invoke(ctx, t, record("gate-poll", "a", `"slow"`, 1, ""), record("gate-poll", "b", `"good"`, 1, ""))
		if took := time.Since(start); got != failed("a") || took != limit-stopReserve {
			t.Errorf("answer %s after %v", got, took)
		}
		cancel()
	})
}

func TestAnswerAlthoughAFunctionIsDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 30 * time.Second
		r := newRig()
		r.wake = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		start := time.Now()
		got := r.invoke(ctx, t, record("gate-poll", "a", `"deaf"`, 1, ""), record("gate-poll", "b", `"good"`, 1, ""))
		if took := time.Since(start); got != failed("a") || took != limit-lastReserve {
			t.Errorf("answer %s after %v", got, took)
		}
		close(r.wake)
		cancel()
	})
}

func TestNothingIsBegunThatCannotEnd(t *testing.T) {
	r := newRig()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(stopReserve-time.Second))
	defer cancel()
	if got, want := r.invoke(ctx, t, record("gate-poll", "a", `"good"`, 1, "")), failed("a"); got != want || len(r.handled) > 0 {
		t.Errorf("answer %s, want %s; handled %v", got, want, r.handled)
	}
	if r.given["gate-poll lock-a"] == 0 {
		t.Error("it would use its deliveries up at once")
	}
}

func TestBoundedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		var records []string
		for i := range 4 * atOnce {
			records = append(records, record("gate-poll", fmt.Sprint(i), `"brief"`, 1, ""))
		}
		start := time.Now()
		if got := r.invoke(t.Context(), t, records...); got != failed() || r.most != atOnce || time.Since(start) != 4*time.Second {
			t.Errorf("answer %s, %d at once, after %v", got, r.most, time.Since(start))
		}
	})
}

func TestSweep(t *testing.T) {
	r := newRig()
	tick := `{"version":"0","id":"1","detail-type":"Scheduled Event","source":"aws.events","account":"1","time":"2026-11-30T12:00:00Z","resources":[],"detail":{}}`
	answer, err := r.Invoke(t.Context(), []byte(tick))
	if err != nil || !json.Valid(answer) || len(r.handled) != 1 || !strings.HasPrefix(r.handled[0], "sweep ") {
		t.Errorf("answer %s, %v; handled %v", answer, err, r.handled)
	}
	marker := gate.Marker(gate.KnownIssueEligible) // the runtime logs the error as it is
	r.functions["sweep"] = func(context.Context, []byte) error { return errors.New("abort:" + marker + ": the store is away") }
	_, err = r.Invoke(t.Context(), []byte(tick))
	if err == nil || !strings.Contains(err.Error(), "the store is away") || gate.HasMarker(err.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestUnknownEvents(t *testing.T) {
	for _, payload := range []string{
		``, `hello`, `[]`, `7`, `null`, `{}`, `{"Records":[]}`, `{"Records":[{"EventSource":"aws:sns","Sns":{}}]}`,
		`{"Records":[{"eventSource":"aws:s3"}]}`, `{"source":"aws.ec2","detail-type":"Scheduled Event"}`,
		`{"source":"aws.events","detail-type":"something else"}`, `{"hush":"hush-hush"}`,
	} {
		r := newRig()
		answer, err := r.Invoke(t.Context(), []byte(payload))
		if err == nil || answer != nil || !strings.Contains(err.Error(), "event") || len(r.handled) > 0 {
			t.Errorf("%s: answer %s, error %v, handled %v", payload, answer, err, r.handled)
		}
		if strings.Contains(r.log.String()+fmt.Sprint(err), "hush-hush") {
			t.Errorf("%s: the payload is told", payload)
		}
	}
}
