package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

// queueing is how long a gate may wait for its turn at Gangway and still be answered, added to its
// time limit: the service tries to submit for 65 minutes.
const queueing = 75 * time.Minute

// runLimits are the flags of `gate run` that are not part of the message.
type runLimits struct{ grace, connect, wait time.Duration }

func (a *app) runCommand() *cobra.Command {
	var limits runLimits
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a gate and exit with its verdict",
		Long: "run sends a gating message, follows its progress on stderr and prints the verdict on stdout.\n\n" +
			"SIGINT or SIGTERM cancels the gate and waits up to --cancel-grace for what becomes of its job;\n" +
			"a second signal ends the step. A step that ended without a verdict is joined again by running it\n" +
			"with the same flags and --gate-id.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c, limits) },
	}
	f := c.Flags()
	f.SortFlags = false
	addFields(f)
	f.DurationVar(&limits.grace, "cancel-grace", 20*time.Second, "after a signal, how long to wait for the abort's outcome")
	f.DurationVar(&limits.connect, "connect-timeout", 2*time.Minute, "how long the service may be out of reach at the start")
	f.DurationVar(&limits.wait, "wait", 0, "how long to wait for the verdict (default the gate's timeout and "+queueing.String()+")")
	return c
}

func (a *app) run(c *cobra.Command, l runLimits) error {
	if l.grace <= 0 || l.connect <= 0 || l.wait < 0 {
		return errors.New("--cancel-grace, --connect-timeout and --wait must be positive durations")
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
	// What breaks a rule is for the service to reject; without a usable gate id it could not answer.
	g, _, err := gate.ParseGating(body)
	if err != nil {
		return fmt.Errorf("--gate-id: %w", err)
	}
	if l.wait == 0 {
		l.wait = timeoutOf(g) + queueing
	}
	q, err := a.open()
	if err != nil {
		return err
	}
	defer a.close(c.Context(), q)
	a.code = a.follow(c.Context(), q, step.Request{GateID: id, Body: body}, l)
	return nil
}

func (a *app) follow(ctx context.Context, q step.Queue, r step.Request, l runLimits) int {
	s := &step.Step{
		Queue: q, Console: a.console, Log: a.log, JSON: a.json(), Signals: a.Signals(), Clock: a.Clock,
		Names: step.Names{
			Submit: a.settings.SubmitQueue, Cancel: a.settings.CancelQueue, Completion: a.settings.CompletionQueue,
		},
		Connect: l.connect, Grace: l.grace, Wait: l.wait,
	}
	a.console.Say("gate id: %s", r.GateID)
	return s.Run(ctx, r)
}
