package onaws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"prowgate/shared/fault"
)

// functionHost is the host of a Lambda function's URL (docs.aws.amazon.com/lambda, Creating and managing
// Lambda function URLs).
var functionHost = regexp.MustCompile(`(?i)\.lambda-url\.([a-z0-9-]+)\.on\.aws$`)

// service is what signatures for a Lambda function's URL are made for.
const service = "lambda"

// IsFunctionURL reports whether u is the URL of a Lambda function, whose requests have to be signed.
func IsFunctionURL(u *url.URL) bool { return functionHost.MatchString(u.Hostname()) }

// Transport signs requests without a body and passes them on. Credentials are looked for at the first one, and
// again when they have expired. It may be used by many goroutines at once.
type Transport struct {
	base  http.RoundTripper
	clock func() time.Time

	mu     sync.Mutex
	config *aws.Config // once it was read
}

// NewTransport returns a transport that signs before base.
func NewTransport(base http.RoundTripper, clock func() time.Time) *Transport {
	return &Transport{base: base, clock: clock}
}

// RoundTrip implements http.RoundTripper. What it refuses by itself, and the lack of credentials, are faults:
// no request was made.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		return nil, refusal("only requests without a body are signed")
	}
	if r.URL.Scheme != "https" && !isLoopback(r.URL.Hostname()) {
		return nil, refusal("requests that carry credentials go over https only")
	}
	cfg, err := t.settings(r.Context())
	if err != nil {
		return nil, refusal(err.Error())
	}
	credentials, err := cfg.Credentials.Retrieve(r.Context())
	if err != nil {
		return nil, err
	}
	region := cfg.Region
	if m := functionHost.FindStringSubmatch(r.URL.Hostname()); m != nil {
		region = m[1]
	}
	if region == "" {
		return nil, refusal("the region of the status URL is not known: set AWS_REGION")
	}
	signed := r.Clone(r.Context())
	empty := sha256.Sum256(nil)
	err = v4.NewSigner().SignHTTP(r.Context(), credentials, signed, hex.EncodeToString(empty[:]), service, region, t.clock())
	if err != nil {
		return nil, refusal("the request was not signed: " + err.Error())
	}
	return t.base.RoundTrip(signed)
}

func (t *Transport) settings(ctx context.Context) (*aws.Config, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.config == nil {
		cfg, err := load(ctx, "", identityLimit)
		if err != nil {
			return nil, err
		}
		t.config = &cfg
	}
	return t.config, nil
}

func refusal(text string) error {
	return &fault.Error{Kind: fault.Refused, Op: "sign the request", Text: text}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
