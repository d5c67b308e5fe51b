package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"prowgate/infra/ev2/gate/console"
	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

// report is the result of `gate validate`.
type report struct {
	Valid    bool     `json:"valid"`
	Kind     string   `json:"kind"` // gating or cancel
	Problems []string `json:"problems"`
	Message  any      `json:"message,omitempty"` // as the service reads it, with the defaults

	guessed bool // the kind was told by the fields, of which a gating message may have no more
}

func (a *app) validateCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a gating or cancel message without sending it",
		Long: "validate lists every problem of the message in FILE (- for stdin) and exits with 2 when it would be rejected.\n" +
			"A message that has nothing but gateId, executionId and reason is taken for a cancel message: --kind gating\n" +
			"checks it as a gating message all the same.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			body, err := a.readFile(args[0])
			if err != nil {
				return err
			}
			r, err := validate(kind, body)
			if err != nil {
				return err
			}
			r.guessed = kind == "auto" && r.Kind == "cancel"
			return a.report(r)
		},
	}
	c.Flags().StringVar(&kind, "kind", "auto", "what the message is: gating, cancel, or auto to tell by its fields")
	return c
}

func (a *app) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.Stdin)
	}
	return os.ReadFile(name)
}

func validate(kind string, body []byte) (report, error) {
	switch kind {
	case "auto":
		return validate(kindOf(body), body)
	case "cancel":
		return validateCancel(body), nil
	case "gating":
		return validateGating(body), nil
	}
	return report{}, errors.New("--kind must be gating, cancel or auto")
}

// kindOf tells a cancel message, which has nothing but an id and a reason, from a gating message.
func kindOf(body []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || len(fields) == 0 {
		return "gating"
	}
	for name := range fields {
		if name != "gateId" && name != "executionId" && name != "reason" {
			return "gating"
		}
	}
	return "cancel"
}

func validateGating(body []byte) report {
	g, rejection, err := gate.ParseGating(body)
	r := report{Kind: "gating", Problems: []string{}}
	switch {
	case err != nil:
		r.Problems = append(r.Problems, err.Error())
	case rejection != nil:
		r.Problems = append(r.Problems, rejection.Problems...)
	default:
		r.Valid, r.Message = true, g
	}
	return r
}

func validateCancel(body []byte) report {
	c, err := gate.ParseCancel(body)
	r := report{Kind: "cancel", Problems: []string{}}
	if err != nil {
		r.Problems = append(r.Problems, strings.Split(err.Error(), "; ")...)
		return r
	}
	r.Valid, r.Message = true, c
	return r
}

func (a *app) report(r report) error {
	if !r.Valid {
		a.code = step.Rejected
	}
	if a.json() {
		return a.printJSON(r)
	}
	kind := r.Kind + " message"
	if r.guessed {
		kind += " (told by its fields; --kind gating checks it as a gating message)"
	}
	text := "valid " + kind + "\n"
	if !r.Valid {
		text = fmt.Sprintf("rejected %s, %d problem(s):\n", kind, len(r.Problems))
	}
	for _, p := range r.Problems {
		text += "  " + console.Line(p) + "\n"
	}
	_, err := io.WriteString(a.console.Out, text)
	return err
}
