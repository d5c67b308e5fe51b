package httpqueue

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"prowgate/shared/queue"
)

// target is what a request's path names: a queue, its messages, their head, or one locked message.
type target struct {
	queue string
	kind  string // "queue", "messages", "head" or "lock"
	lock  string
}

// parseTarget splits the path. Segments are unescaped one by one, so that a message id may hold a
// slash.
func parseTarget(r *http.Request) (target, error) {
	parts := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i := range parts {
		part, err := url.PathUnescape(parts[i])
		if err != nil {
			return target{}, errors.New("the path is not escaped properly")
		}
		parts[i] = part
	}
	n := 1
	if len(parts) > 1 && strings.EqualFold("/"+parts[1], queue.DeadLetter) {
		parts[1], n = strings.TrimPrefix(queue.DeadLetter, "/"), 2
	}
	t := target{queue: strings.Join(parts[:n], "/"), kind: "queue"}
	switch rest := parts[n:]; {
	case len(rest) == 0:
	case rest[0] != "messages" || len(rest) > 3:
		return target{}, errors.New("the path is not <queue>[/messages[/head]] or <queue>/messages/<id>/<lock>")
	case len(rest) == 1:
		t.kind = "messages"
	case len(rest) == 2 && rest[1] == "head":
		t.kind = "head"
	case len(rest) == 3:
		t.kind, t.lock = "lock", rest[2]
	default:
		return target{}, errors.New("a message is named by its id and its lock token")
	}
	return t, nil
}
