package console

import (
	"errors"

	"prowgate/shared/queue/servicebus"
)

// noToken is one of the texts for which EV2 retries by default. It is printed here and nowhere else, as
// it stands.
const noToken = "failed to get token"

// ErrNoCredentials is in the chain of the error of a command that got no credentials from AWS.
var ErrNoCredentials = errors.New("no AWS credentials")

// Failed says, for a command that ends because of err, whether EV2 may simply run it again: when an
// identity gave no token, it prints the text for which EV2 does so by default. It must be called only
// for a command that has changed nothing, and does nothing for other errors.
func (c *Console) Failed(err error) {
	if errors.Is(err, servicebus.ErrToken) || errors.Is(err, ErrNoCredentials) {
		c.Err.exactly(c.stamp() + noToken + ": the step may be repeated\n")
	}
}
