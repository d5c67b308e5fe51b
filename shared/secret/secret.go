// Package secret hands out a secret that may be renewed while the process runs: it is read once and kept,
// and read again when the server that it is for refuses it. So a renewed token works without a restart, and
// a vault is asked a few times a day and not for every request.
//
// Entry points: New, and Fixed for a secret that came as a setting. Package keyvault below it reads one from
// Azure Key Vault.
package secret

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// rereadAfter is how old a secret must be to be read again. A server that refuses a good secret, because
// the right to one of its paths is missing, does not make this process ask the vault all the time.
const rereadAfter = time.Minute

// UnreadableText is logged, as an error, when the secret could not be read. The alerts look for it too.
const UnreadableText = "the token cannot be read"

// RefusedText is logged, as an error, when the server refused the secret and no other has taken its place. The
// alerts of the templates look for it.
const RefusedText = "the token was refused"

// Source hands out one secret. Its methods may be used by many goroutines at once; while one of them reads,
// the others wait for the result or the end of their context.
type Source struct {
	read  func(ctx context.Context) (string, error)
	clock func() time.Time
	log   *slog.Logger
	turn  chan struct{} // holds a token while somebody uses what follows

	text  string    // empty when it has not been read yet
	tried time.Time // when it was last asked for
}

// New returns a source of what read returns; white space around it does not count. read bounds its own
// time, and returns errors that do not hold the secret.
func New(read func(ctx context.Context) (string, error), clock func() time.Time, log *slog.Logger) *Source {
	return &Source{read: read, clock: clock, log: log, turn: make(chan struct{}, 1)}
}

// Fixed returns a source of a secret that can change only with a restart; an empty one is none at all.
func Fixed(text string, clock func() time.Time, log *slog.Logger) *Source {
	s := New(nil, clock, log)
	s.text = strings.TrimSpace(text)
	return s
}

// Token returns the secret, which it reads if it has none yet. A failed read is not kept.
func (s *Source) Token(ctx context.Context) (string, error) {
	if err := s.lock(ctx); err != nil {
		return "", err
	}
	defer s.unlock()
	if s.text == "" && s.read != nil {
		if err := s.renew(ctx); err != nil {
			s.log.ErrorContext(ctx, UnreadableText, "error", err.Error())
			return "", err
		}
	}
	return s.text, nil
}

// Refused is told of a secret that its server has refused, and says whether another one has taken its
// place since: because somebody else found it, or because it is read again now. That happens once a minute
// at most, whatever comes of it.
func (s *Source) Refused(ctx context.Context, token string) bool {
	if s.lock(ctx) != nil {
		return false
	}
	defer s.unlock()
	if s.text == token && s.read != nil && s.clock().Sub(s.tried) >= rereadAfter {
		if err := s.renew(ctx); err != nil {
			s.log.ErrorContext(ctx, UnreadableText, "error", err.Error())
		}
	}
	renewed := s.text != token
	if !renewed {
		s.log.ErrorContext(ctx, RefusedText)
	}
	return renewed
}

// renew reads the secret.
func (s *Source) renew(ctx context.Context) error {
	s.tried = s.clock()
	text, err := s.read(ctx)
	if err != nil {
		return err
	}
	if text = strings.TrimSpace(text); text == "" {
		return errors.New("the secret is empty")
	}
	if s.text != "" && s.text != text {
		s.log.InfoContext(ctx, "the token was renewed")
	}
	s.text = text
	return nil
}

func (s *Source) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Source) unlock() { <-s.turn }
