// Package gangway holds the clients of the three servers that prowgate reads jobs from and sends jobs to:
// Gangway (create, read, list, abort), Deck (one job, the list of all jobs) and the store of the runs'
// artifacts. Each call is one attempt: nothing is retried inside. Every failure comes back as a
// *fault.Error whose kind is chosen here, where the foreign error enters.
//
// Entry points: NewClient, NewDeck and NewArtifacts, all made from one Config. The messages of Gangway are
// in gangway.proto and, generated from it by buf, in package gangwaypb.
package gangway

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The longest that a call may take, from its start to the last byte of its answer. Whoever claims the right
// to create must hold the claim for longer than CreateTimeout.
const (
	CreateTimeout  = 30 * time.Second
	AbortTimeout   = 30 * time.Second
	ReadTimeout    = 20 * time.Second // one job, one page, one artifact
	ListingTimeout = 90 * time.Second // all jobs of Deck; all pages of a run's artifacts
)

// The most that is read of an answer, after decompression.
const (
	maxAnswer   = 1 << 20   // Gangway's answers, and one artifact
	maxProwJob  = 2 << 20   // Kubernetes objects end at about 1.5 MB
	maxPage     = 4 << 20   // one page of an artifacts listing, at most 1,000 names of 1,024 bytes
	maxListing  = 256 << 20 // all jobs
	maxListItem = 4 << 20   // one job among them, and a little less
)

// Config says where the servers are and how to reach them.
type Config struct {
	GangwayURL   *url.URL // base, without /v1
	ProwURL      *url.URL // base of Deck
	ArtifactsURL *url.URL // base of a server that speaks Google Cloud Storage's JSON and XML APIs

	// Token returns the bearer token for Gangway; nil or an empty token sends none. It is asked once for
	// each call, goes to no other server, and is in no error.
	Token func(ctx context.Context) (string, error)
	// TokenRefused is told of a token that Gangway answered with 401 or 403, and says whether another one has
	// taken its place. If so, that failure is NothingHappened: the token was at fault, nothing was done, and
	// the next attempt carries the new one. Otherwise, and when it is nil, it is Refused. Nothing is repeated
	// inside, because every request has its place in the rate limit.
	TokenRefused func(ctx context.Context, token string) (renewed bool)
	// Transport sends the requests; a copy of Go's default transport when nil.
	Transport http.RoundTripper
	// Clock is what a Retry-After with a date is measured against; such dates are ignored when it is nil.
	Clock func() time.Time
}

// transport returns the configured transport or a fresh one with Go's default settings.
func (c Config) transport() http.RoundTripper {
	if c.Transport != nil {
		return c.Transport
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	return &http.Transport{}
}

// below returns the URL of a path below base. The path begins with a slash, is not escaped, and has been
// checked by the caller.
func below(base *url.URL, path string, query url.Values) string {
	u := *base
	u.Path = strings.TrimRight(base.Path, "/") + path
	u.RawPath, u.RawQuery, u.Fragment = "", query.Encode(), ""
	return u.String()
}
