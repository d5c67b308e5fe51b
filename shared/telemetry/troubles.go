package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// troublesPause is how long a collector's failures are counted before they are told again.
const troublesPause = 5 * time.Minute

// troubles tells of exports that failed, the first at once and the others now and then.
type troubles struct {
	log    *slog.Logger
	clock  func() time.Time
	keys   []string // what no line may hold
	mu     sync.Mutex
	all    int
	untold int
	tellAt time.Time
}

func newTroubles(log *slog.Logger, clock func() time.Time) *troubles {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &troubles{log: log, clock: clock, keys: headerValues()}
}

func (t *troubles) note(ctx context.Context, err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all++
	t.untold++
	if now := t.clock(); !now.Before(t.tellAt) {
		t.log.WarnContext(ctx, "telemetry was not taken and is lost", "exports", t.untold, "error", text(blanked(err.Error(), t.keys)))
		t.untold, t.tellAt = 0, now.Add(troublesPause)
	}
}

func (t *troubles) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}

// headerValues returns what the exports' headers hold, which is where keys are: as it is set and as it is sent, and
// of several words also each one that is long enough to be a key. The longest come first.
func headerValues() []string {
	var found []string
	for _, name := range []string{"HEADERS", "TRACES_HEADERS", "METRICS_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv("OTEL_EXPORTER_OTLP_"+name), ",") {
			_, value, _ := strings.Cut(pair, "=")
			found = append(found, words(value)...)
			if sent, err := url.PathUnescape(value); err == nil {
				found = append(found, words(sent)...)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return slices.Compact(found)
}

// leastKey is the length from which a word counts as a key.
const leastKey = 8

func words(value string) []string {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	found := []string{value}
	for word := range strings.FieldsSeq(value) {
		if len(word) >= leastKey {
			found = append(found, word)
		}
	}
	return found
}

// blanked takes out of an export's error what may hold a key: what the collector says in its answer's body, which the
// exporters quote after these words and which may repeat the request; and the keys, wherever they are.
func blanked(text string, keys []string) string {
	for _, quoted := range []string{"body: ", "partial success: "} {
		before, _, cut := strings.Cut(text, quoted)
		if cut {
			text = before + strings.TrimSuffix(quoted, ": ") + " left out"
		}
	}
	for _, key := range keys {
		text = strings.ReplaceAll(text, key, "***")
	}
	return text
}
