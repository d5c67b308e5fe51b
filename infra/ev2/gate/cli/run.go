package cli

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prowgate/infra/ev2/gate/step"
)

// queueing is how long a gate may wait for its turn at Gangway and still be answered, added to its
// time limit: the service tries to submit for 65 minutes.
const queueing = 75 * time.Minute

// runLimits are the flags of `gate run` that are not part of the message.
type runLimits struct{ grace, connect, wait, look time.Duration }

func (a *app) runCommand() *cobra.Command {
	var limits runLimits
	var statusURL string
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a gate and exit with its verdict",
		Long: "run sends a gating message, follows its progress on stderr and prints the verdict on stdout.\n\n" +
			"SIGINT or SIGTERM cancels the gate and waits up to --cancel-grace for what becomes of its job;\n" +
			"a second signal ends the step. A step that ended without a verdict is joined again by running it\n" +
			"with the same flags and --gate-id. A verdict comes once: whether it was taken before, a step can\n" +
			"tell where it reaches the status face (the local host, or --status-url). On Service Bus without\n" +
			"one it waits up to --wait for it. On SQS the verdict is read at --status-url, as often as you like.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c, limits, statusURL) },
	}
	f := c.Flags()
	f.SortFlags = false
	addFields(f)
	f.DurationVar(&limits.grace, "cancel-grace", 20*time.Second, "after a signal, how long to wait for the abort's outcome")
	f.DurationVar(&limits.connect, "connect-timeout", 2*time.Minute, "how long the service may be out of reach at the start")
	f.DurationVar(&limits.wait, "wait", 0, "how long to wait for the verdict, from when the service has the message (default the gate's timeout and "+queueing.String()+")")
	f.DurationVar(&limits.look, "status-interval", 10*time.Second, "on SQS, how long between two looks at the status face")
	addStatusURL(f, &statusURL)
	emptyIsNotGiven(f)
	return c
}

func (a *app) run(c *cobra.Command, l runLimits, statusURL string) error {
	if l.grace <= 0 || l.connect <= 0 || l.wait <= 0 && given(c.Flags(), "wait") || l.look <= 0 {
		return errors.New("--cancel-grace, --connect-timeout, --wait and --status-interval must be positive durations")
	}
	id, _ := c.Flags().GetString("gate-id")
	if id == "" {
		id = "gate-" + a.NewID()
	}
	body, err := gatingBody(c.Flags(), id)
	if err != nil {
		return err
	}
	if given := former(c.Flags()); len(given) > 0 {
		a.console.Say("ignored, because the service has its own: %s", strings.Join(given, ", "))
	}
	g, err := checked(body)
	if err != nil {
		return err
	}
	if l.wait == 0 {
		l.wait = verdictWithin(time.Duration(g.Timeout))
	}
	q, status, err := a.waiting(c.Context(), statusURL, l.look)
	if err != nil {
		return err
	}
	defer a.close(c.Context(), q)
	a.code = a.follow(c.Context(), q, status, step.Request{
		GateID: id, Body: body, Gating: g, Trace: a.trace(), CancelID: "cancel-" + a.NewID(),
	}, l)
	return nil
}

// verdictWithin is how long a verdict may take, at most as long as a duration can be.
func verdictWithin(timeout time.Duration) time.Duration {
	return min(timeout, math.MaxInt64-queueing) + queueing
}

func (a *app) follow(ctx context.Context, q step.Queue, status step.Status, r step.Request, l runLimits) int {
	s := &step.Step{
		Queue: q, Status: status, Console: a.console, Log: a.log, JSON: a.json(), Signals: a.Signals(), Clock: a.Clock,
		Names: step.Names{
			Submit: a.settings.SubmitQueue, Cancel: a.settings.CancelQueue, Completion: a.settings.CompletionQueue,
		},
		Connect: l.connect, Grace: l.grace, Wait: l.wait,
	}
	a.console.Say("gate id: %s", r.GateID)
	return s.Run(ctx, r)
}
