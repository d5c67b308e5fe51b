package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"prowgate/infra/ev2/gate/console"
	"prowgate/infra/ev2/gate/face"
	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

// gates is what `gate status` prints as JSON, and what `/api/gates` answers.
type gates struct {
	Gates []gate.View `json:"gates"`
}

func (a *app) statusCommand() *cobra.Command {
	var id, from string
	c := &cobra.Command{
		Use:   "status [--gate-id ID]",
		Short: "Show one gate with its timeline, or all gates",
		Long: "status reads /api/gates of the local host, or of --status-url (whose requests are signed when it is a\n" +
			"Lambda function's URL, or QUEUE_URL is of SQS). It exits with 0 when the service answered, whatever the\n" +
			"gates' verdicts; with 1 when it does not know the gate. The table cuts long names, --output json does not.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			one := c.Flags().Changed("gate-id")
			if one && (id == "" || id == "." || id == "..") {
				return errors.New("--gate-id must be the id of a gate, 1-63 characters; leave it out to list all gates")
			}
			client, err := a.face(from)
			if err == nil && client == nil {
				err = errors.New("--status-url is required: QUEUE_URL names queues that serve no status, as Service Bus and SQS do not")
			}
			switch {
			case err != nil:
				return err
			case one:
				return a.showGate(c.Context(), client, id)
			}
			return a.showGates(c.Context(), client)
		},
	}
	c.Flags().StringVar(&id, "gate-id", "", "show this gate only, with its timeline")
	addStatusURL(c.Flags(), &from)
	return c
}

// The widest a cell of the table may be. Ids are never cut as long as they keep to the rules.
const (
	idWidth   = 63
	cellWidth = 40
	urlWidth  = 200
	lineWidth = 1000 // of a line in the timeline
)

// cell returns text on one line, cut to a width in runes.
func cell(text string, width int) string {
	text = console.Line(text)
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return console.Line(string([]rune(text)[:width-3]) + "...")
}

func (a *app) showGates(ctx context.Context, client *face.Client) error {
	all, err := client.Gates(ctx)
	if err != nil {
		return &failure{step.Unreachable, err}
	}
	if a.json() {
		return a.printJSON(gates{append([]gate.View{}, all...)}) // none are [], not null
	}
	t := tabwriter.NewWriter(a.console.Out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "GATE\tPHASE\tOUTCOME\tSTATE\tREGION\tJOB\tURL")
	for _, g := range all {
		_, _ = fmt.Fprint(t, cell(g.GateID, idWidth))
		for _, text := range []string{string(g.Phase), string(g.Outcome), g.State, g.Region, g.JobName} {
			_, _ = fmt.Fprint(t, "\t"+cell(text, cellWidth))
		}
		_, _ = fmt.Fprintln(t, "\t"+cell(g.JobURL, urlWidth))
	}
	return t.Flush()
}

func (a *app) showGate(ctx context.Context, client *face.Client, id string) error {
	g, found, err := client.Gate(ctx, id)
	switch {
	case err != nil:
		return &failure{step.Unreachable, err}
	case !found:
		return &failure{step.NotPassed, errors.New("the service knows no such gate")}
	case a.json():
		return a.printJSON(g)
	}
	t := tabwriter.NewWriter(a.console.Out, 0, 4, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(t, "%s\t%s\n", name, cell(value, lineWidth))
		}
	}
	row("gate", g.GateID)
	row("phase", string(g.Phase))
	row("outcome", string(g.Outcome))
	row("job", g.JobName)
	row("region", g.Region)
	row("execution", g.ExecutionID)
	row("state", g.State)
	row("url", g.JobURL)
	if g.Abort != nil {
		row("abort", console.AbortText(*g.Abort))
	}
	for _, m := range g.Timeline {
		row(m.At.UTC().Format(time.RFC3339), m.Event+": "+m.Text)
	}
	return t.Flush()
}
