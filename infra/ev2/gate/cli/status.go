package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	var id, execution, from string
	c := &cobra.Command{
		Use:   "status [--gate-id ID | --execution-id ID]",
		Short: "Show one gate or one abort with its timeline, or all of them",
		Long: "status reads /api/gates of the local host, or of --status-url (whose requests are signed when it is a\n" +
			"Lambda function's URL, or QUEUE_URL is of SQS). It exits with 0 when the service answered, whatever the\n" +
			"gates' verdicts; with 1 when it does not know the gate. The table cuts long names, --output json does not.\n" +
			"--execution-id shows what became of the job of a `gate abort`; in the table, and as JSON, such an abort is an\n" +
			"entry without a gate id.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			one, err := which(c.Flags(), id, execution)
			if err != nil {
				return err
			}
			client, err := a.face(from)
			if err == nil && client == nil {
				err = errors.New("--status-url is required: QUEUE_URL names queues that serve no status, as Service Bus and SQS do not")
			}
			switch {
			case err != nil:
				return err
			case one != "":
				return a.showGate(c.Context(), client, one, execution != "")
			}
			return a.showGates(c.Context(), client)
		},
	}
	c.Flags().StringVar(&id, "gate-id", "", "show this gate only, with its timeline")
	c.Flags().StringVar(&execution, "execution-id", "", "show the abort of this job, which no gate owns")
	addStatusURL(c.Flags(), &from)
	return c
}

// which returns the id of the one entry to show, empty for all. Aborts have the id of their execution.
func which(fs *pflag.FlagSet, id, execution string) (string, error) {
	one, abort := fs.Changed("gate-id"), fs.Changed("execution-id")
	switch {
	case one && abort:
		return "", errors.New("--gate-id and --execution-id exclude each other")
	case one && noID(id):
		return "", errors.New("--gate-id must be the id of a gate, 1-63 characters; leave it out to list all gates")
	case abort && noID(execution):
		return "", errors.New("--execution-id must be the id of an execution; leave it out to list all gates")
	}
	return id + execution, nil
}

func noID(text string) bool { return text == "" || text == "." || text == ".." }

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
		_, _ = fmt.Fprint(t, cell(nameOf(g), idWidth))
		for _, text := range []string{string(g.Phase), string(g.Outcome), g.State, g.Region, g.JobName} {
			_, _ = fmt.Fprint(t, "\t"+cell(text, cellWidth))
		}
		_, _ = fmt.Fprintln(t, "\t"+cell(g.JobURL, urlWidth))
	}
	return t.Flush()
}

// nameOf is the gate's id or, for an abort of a job that no gate owns, what was aborted.
func nameOf(v gate.View) string {
	if v.GateID == "" {
		return "abort of " + v.ExecutionID
	}
	return v.GateID
}

// showGate shows the gate of that id, or the abort of that execution. Under one id the service has the gate first.
func (a *app) showGate(ctx context.Context, client *face.Client, id string, abort bool) error {
	g, found, err := client.Gate(ctx, id)
	switch {
	case err != nil:
		return &failure{step.Unreachable, err}
	case found && abort && g.GateID != "":
		return &failure{step.NotPassed, errors.New("that is the id of a gate: --gate-id shows it, and the list an abort of that name")}
	case abort && !found:
		return &failure{step.NotPassed, errors.New("the service knows of no abort of such an execution")}
	case !found || !abort && g.GateID == "":
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
	if g.GateID == "" {
		row("abort", "of a job that no gate owns")
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
