package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"prowgate/infra/ev2/gate/console"
	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

const (
	statusLimit = 30 * time.Second
	statusMax   = 16 << 20 // bytes read of an answer
)

// gates is what `/api/gates` answers.
type gates struct {
	Gates []gate.View `json:"gates"`
}

func (a *app) statusCommand() *cobra.Command {
	var id, from string
	c := &cobra.Command{
		Use:   "status [--gate-id ID]",
		Short: "Show one gate with its timeline, or all gates",
		Long: "status reads /api/gates of the local host, or of --status-url. It exits with 0 when the service\n" +
			"answered, whatever the gates' verdicts; with 1 when it does not know the gate.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			base, err := a.statusBase(from)
			if err != nil {
				return err
			}
			if id != "" {
				return a.showGate(c.Context(), base.JoinPath("api", "gates", id))
			}
			return a.showGates(c.Context(), base.JoinPath("api", "gates"))
		},
	}
	c.Flags().StringVar(&id, "gate-id", "", "show this gate only, with its timeline")
	c.Flags().StringVar(&from, "status-url", "", "base URL of the service (default: the host of an http(s) QUEUE_URL)")
	return c
}

// statusBase returns the URL below which /api/gates is. It never quotes the queue's URL, which may be
// a secret.
func (a *app) statusBase(from string) (*url.URL, error) {
	if from != "" {
		u, err := url.Parse(from)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, errors.New("--status-url must be an absolute http(s) URL")
		}
		return u, nil
	}
	u, err := url.Parse(a.queueURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("--status-url is required: QUEUE_URL names queues that serve no status, as Service Bus does not")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

func (a *app) showGates(ctx context.Context, u *url.URL) error {
	var all gates
	notFound := &failure{step.Unreachable, errors.New("there is no status at this URL")}
	if err := a.get(ctx, u, &all, notFound); err != nil {
		return err
	}
	if a.json() {
		return a.printJSON(all)
	}
	t := tabwriter.NewWriter(a.console.Out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "GATE\tPHASE\tOUTCOME\tSTATE\tREGION\tJOB\tURL")
	for _, g := range all.Gates {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", console.Line(g.GateID), g.Phase, g.Outcome,
			console.Line(g.State), console.Line(g.Region), console.Line(g.JobName), console.Line(g.JobURL))
	}
	return t.Flush()
}

func (a *app) showGate(ctx context.Context, u *url.URL) error {
	var g gate.View
	notFound := &failure{step.NotPassed, errors.New("the service knows no such gate")}
	if err := a.get(ctx, u, &g, notFound); err != nil {
		return err
	}
	if a.json() {
		return a.printJSON(g)
	}
	t := tabwriter.NewWriter(a.console.Out, 0, 4, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(t, "%s\t%s\n", name, console.Line(value))
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

// get reads a JSON document; notFound is what a 404 means.
func (a *app) get(ctx context.Context, u *url.URL, into any, notFound error) error {
	ctx, stop := context.WithTimeout(ctx, statusLimit)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return errors.New("the status URL is not usable")
	}
	req.Header.Set("Accept", "application/json")
	res, err := a.HTTP.RoundTrip(req)
	if err != nil {
		return &failure{step.Unreachable, fmt.Errorf("the service was not reached: %w", err)}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusNotFound {
		return notFound
	}
	if res.StatusCode != http.StatusOK {
		return &failure{step.Unreachable, fmt.Errorf("the service answered %s", res.Status)}
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, statusMax)).Decode(into); err != nil {
		return &failure{step.Unreachable, fmt.Errorf("the service's answer is not readable: %w", err)}
	}
	return nil
}
