package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prowgate/infra/ev2/gate/console"
	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

func (a *app) cancelCommand() *cobra.Command {
	var r gate.CancelRequest
	var connect time.Duration
	c := &cobra.Command{
		Use:   "cancel --gate-id ID",
		Short: "Cancel a gate",
		Long: "cancel sends a cancel message and does not wait: the waiting step gets the verdict, and\n" +
			"`gate status --gate-id ID` shows what becomes of the job.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if r.GateID == "" {
				return errors.New("--gate-id is required; to abort a job that no gate owns, use: gate abort --execution-id")
			}
			return a.sendCancel(c.Context(), r, connect)
		},
	}
	c.Flags().StringVar(&r.GateID, "gate-id", "", "the gate to cancel (required)")
	c.Flags().StringVar(&r.ExecutionID, "execution-id", "", "the gate's execution, if it is known")
	c.Flags().StringVar(&r.Reason, "reason", "", "why, for the record")
	addConnect(c.Flags(), &connect)
	return c
}

func (a *app) abortCommand() *cobra.Command {
	var r gate.CancelRequest
	var connect time.Duration
	c := &cobra.Command{
		Use:   "abort --execution-id ID",
		Short: "Abort a job that no gate owns",
		Long: "abort sends a cancel message for an execution and does not wait. The service aborts the job only\n" +
			"when it is sure to hit no other one. `gate status --execution-id ID` shows what became of it: the\n" +
			"phase is done when the service has finished, and the abort says whether the job was aborted.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if r.ExecutionID == "" {
				return errors.New("--execution-id is required")
			}
			return a.sendCancel(c.Context(), r, connect)
		},
	}
	c.Flags().StringVar(&r.ExecutionID, "execution-id", "", "the execution to abort (required)")
	c.Flags().StringVar(&r.Reason, "reason", "", "why, for the record")
	addConnect(c.Flags(), &connect)
	return c
}

func addConnect(fs *pflag.FlagSet, into *time.Duration) {
	fs.DurationVar(into, "connect-timeout", time.Minute, "how long the service may be out of reach")
}

func (a *app) sendCancel(ctx context.Context, r gate.CancelRequest, connect time.Duration) error {
	if connect <= 0 {
		return errors.New("--connect-timeout must be a positive duration")
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := gate.ParseCancel(body); err != nil {
		return fmt.Errorf("bad cancel message: %w", err)
	}
	q, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer a.close(ctx, q)
	ctx, stop := context.WithTimeout(ctx, connect)
	defer stop()
	m := queue.Message{ID: "cancel-" + a.NewID(), CorrelationID: r.GateID, ContentType: queue.ContentType, Trace: a.trace(), Body: body}
	if arrival, err := step.Send(ctx, q, a.log, a.settings.CancelQueue, m); err != nil {
		if arrival == step.NotSent {
			a.console.Failed(err)
		}
		return notSent(arrival, err)
	}
	return a.sent(r)
}

func notSent(arrival step.Arrival, err error) error {
	switch {
	case arrival != step.NotSent: // whatever became of the last attempt
		return &failure{step.Unreachable, fmt.Errorf("the message was not confirmed, it may have arrived: %w", err)}
	case fault.Is(err, fault.Refused):
		return &failure{step.Rejected, fmt.Errorf("the message was refused: %w", err)}
	}
	return &failure{step.Unreachable, fmt.Errorf("the message was not sent: %w", err)}
}

func (a *app) sent(r gate.CancelRequest) error {
	if a.json() {
		return a.printJSON(r)
	}
	what := "gate " + r.GateID
	if r.GateID == "" {
		what = "execution " + r.ExecutionID
	}
	_, err := fmt.Fprintf(a.console.Out, "the cancel of %s was sent\n", console.Line(what))
	return err
}

// printJSON prints v as JSON on stdout.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.console.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
