package servicebus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"prowgate/shared/fault"
)

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want fault.Kind
	}{
		{&azservicebus.Error{Code: azservicebus.CodeUnauthorizedAccess}, fault.Refused},
		{&azservicebus.Error{Code: azservicebus.CodeNotFound}, fault.Refused},
		{&azservicebus.Error{Code: azservicebus.CodeLockLost}, fault.Conflict},
		{&azservicebus.Error{Code: azservicebus.CodeConnectionLost}, fault.MayHaveHappened},
		{&azservicebus.Error{Code: azservicebus.CodeTimeout}, fault.MayHaveHappened},
		{&azservicebus.Error{Code: "new"}, fault.MayHaveHappened},
		{azservicebus.ErrMessageTooLarge, fault.Refused},
		{&amqp.Error{Condition: "com.microsoft:session-cannot-be-locked"}, fault.Conflict},
		{&amqp.LinkError{RemoteErr: &amqp.Error{Condition: "com.microsoft:session-lock-lost"}}, fault.Conflict},
		{&amqp.Error{Condition: "com.microsoft:server-busy"}, fault.NothingHappened},
		{&amqp.Error{Condition: "new"}, fault.MayHaveHappened},
		{context.DeadlineExceeded, fault.MayHaveHappened},
		{errors.New("new"), fault.MayHaveHappened},
	} {
		err := fmt.Errorf("wrapped: %w", c.err)
		got := (&Bus{}).fault("send", plain, err, fault.MayHaveHappened)
		if !fault.Is(got, c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v: %v, want kind %v and its cause", c.err, got, c.want)
		}
	}
}

func TestTextHasNoSecretsAndAnEnd(t *testing.T) {
	b := &Bus{target: target{secrets: []string{"k3y+/="}}}
	for given, want := range map[string]string{
		"bad k3y+/= here":                            "Service Bus: bad [secret] here",
		"token " + jwt + ".":                         "Service Bus: token [secret].",
		"SharedAccessSignature sr=x&sig=abc%3d&se=1": "Service Bus: SharedAccessSignature sr=x&[secret]&se=1",
		"Endpoint=sb://h;SharedAccessKey=abc=;x":     "Service Bus: Endpoint=sb://h;[secret];x",
		"two\n lines":                                "Service Bus: two lines",
	} {
		if got := b.text(errors.New(given)); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
	if got := b.text(errors.New(strings.Repeat("ü", mostText))); len(got) > mostText+3 || !strings.HasSuffix(got, "ü...") {
		t.Errorf("a long text became %d bytes: %q", len(got), got)
	}
}
