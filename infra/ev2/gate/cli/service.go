package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"prowgate/infra/ev2/gate/face"
	"prowgate/infra/ev2/gate/onaws"
	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/config"
)

// open opens the queues, where messages go.
func (a *app) open(ctx context.Context) (Queue, error) {
	if a.queueURL == "" {
		return nil, errors.New("where are the queues? set QUEUE_URL or --queue-url")
	}
	if err := a.settings.checkQueues(); err != nil {
		return nil, err
	}
	q, err := a.Open(ctx, a.queueURL)
	if err != nil {
		return nil, fmt.Errorf("open the queues: %w", err)
	}
	return q, nil
}

// checkQueues refuses, before anything is sent, names that a step would come upon when it waits or cancels.
func (s Settings) checkQueues() error {
	var wrong []error
	for _, c := range [][2]string{{"SUBMIT_QUEUE", s.SubmitQueue}, {"CANCEL_QUEUE", s.CancelQueue}, {"COMPLETION_QUEUE", s.CompletionQueue}} {
		if err := config.CheckQueueName(c[1]); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %q %w", c[0], c[1], err))
		}
	}
	return errors.Join(wrong...)
}

// onSQS reports whether the queues are of SQS. No other form is told apart here.
func (a *app) onSQS() bool {
	form, _ := config.QueueForm(a.queueURL) // what has no form is not opened either
	return form == config.FormSQS
}

func addStatusURL(fs *pflag.FlagSet, into *string) {
	fs.StringVar(into, "status-url", "", "base URL of the status face (default: the setting STATUS_URL, else the host of an http(s) QUEUE_URL)")
}

// face returns the face where gates are read, nil when none is known: from is the flag. Requests are signed for
// a Lambda function's URL, and wherever the queues are of SQS.
func (a *app) face(from string) (*face.Client, error) {
	base, err := a.statusBase(from)
	if base == nil || err != nil {
		return nil, err
	}
	if a.onSQS() || onaws.IsFunctionURL(base) {
		return face.New(base, a.Signed), nil
	}
	return face.New(base, a.HTTP).WithKey(a.settings.StatusKey), nil
}

// statusBase returns the URL below which /api/gates is, nil when it is not known. It never quotes a URL, which
// may be a secret.
func (a *app) statusBase(from string) (*url.URL, error) {
	name := "--status-url"
	if from == "" {
		name, from = "STATUS_URL", a.settings.StatusURL
	}
	if from != "" {
		u := webURL(from)
		if u == nil {
			return nil, errors.New(name + " must be an absolute http(s) URL, without user, query and fragment")
		}
		return u, nil
	}
	if u := webURL(a.queueURL); u != nil && !a.onSQS() {
		return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
	}
	return nil, nil //nolint:nilnil // not known is no failure
}

// webURL returns raw as a base URL, nil when it is none.
func webURL(raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil
	}
	return u
}

// waiting returns what a step that waits needs: the queues, and the face if there is one.
func (a *app) waiting(ctx context.Context, statusURL string, every time.Duration) (Queue, step.Status, error) {
	client, err := a.face(statusURL)
	if err != nil {
		return nil, nil, err
	}
	if client == nil && a.onSQS() {
		return nil, nil, errors.New("--status-url or STATUS_URL is required: SQS cannot hand out the messages of one gate, so they are read there")
	}
	q, err := a.open(ctx)
	switch {
	case err != nil || client == nil:
		return q, nil, err
	case a.onSQS():
		return face.NewQueue(q, client, every, a.Clock), client, nil
	}
	return q, client, nil
}
