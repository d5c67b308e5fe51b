package world

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store"
)

// Counts are how often each wire was used.
type Counts struct {
	Gangway, TooFast           int // requests, and how many of them the limit refused
	Deck, Bucket               int
	Loads, Saves               int // of the store
	Sends, Notices, Deliveries int // messages to the poll queue and to the completion queue; messages handled
}

// wire counts the requests to Prow and to the bucket.
type wire struct{ w *World }

func (t wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w := t.w
	resp, err := w.Prow.Transport().RoundTrip(r)
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		w.Counts.Gangway++
		if err == nil && resp.StatusCode == http.StatusTooManyRequests {
			w.Counts.TooFast++
		}
		if err == nil && resp.StatusCode == http.StatusOK && r.Method == http.MethodPost {
			w.Posts = append(w.Posts, w.Now)
		}
	case strings.HasPrefix(r.URL.Path, "/prowjob"):
		w.Counts.Deck++
	default:
		w.Counts.Bucket++
	}
	return resp, err
}

// counted counts what is asked of the store.
type counted struct {
	store.Store
	w *World
}

func (s counted) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	s.w.Counts.Loads++
	if s.w.options.Forgetful && !kept(key) {
		return store.Entry{}, false, nil
	}
	return s.Store.Load(ctx, key)
}

func (s counted) Save(ctx context.Context, e store.Entry) (string, error) {
	s.w.Counts.Saves++
	if s.w.options.Forgetful && !kept(e.Key) {
		return "1", nil
	}
	return s.Store.Save(ctx, e)
}

// kept reports whether a forgetful store keeps the entry.
func kept(key string) bool {
	return strings.HasPrefix(key, gate.KeyPrefix) || strings.HasPrefix(key, gate.AbortKeyPrefix) || strings.HasPrefix(key, "budget:")
}

// sender counts what is sent, and takes the notices out.
type sender struct{ w *World }

func (s sender) Send(ctx context.Context, name string, m queue.Message) error {
	if name != finishQueue {
		s.w.Counts.Sends++
		return s.w.broker.Send(ctx, name, m)
	}
	s.w.Counts.Notices++
	var n gate.Notice
	if err := json.Unmarshal(m.Body, &n); err != nil {
		return fmt.Errorf("notice: %w", err)
	}
	if n.Kind == gate.KindCompletion {
		s.w.ended = append(s.w.ended, n)
	}
	return nil
}
