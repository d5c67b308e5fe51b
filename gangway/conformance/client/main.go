// Command client makes one call with prowgate's own Gangway client and prints what came of it as JSON. The
// suite runs it: in one binary the client's messages and Prow's would claim the same file name.
//
// Usage: client <url> create|get|list|abort, with the arguments as JSON on standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"

	"prowgate/gangway"
	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

// Answer is what the program prints.
type Answer struct {
	ID    string     `json:",omitempty"`
	Jobs  []prow.Job `json:",omitempty"`
	Kind  string     `json:",omitempty"` // of the failure
	Error string     `json:",omitempty"`
}

func main() {
	answer, err := run(context.Background(), os.Args[1:], os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, in io.Reader) (Answer, error) {
	if len(args) != 2 {
		return Answer{}, fmt.Errorf("want a URL and a call, got %d words", len(args))
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return Answer{}, fmt.Errorf("arguments: %w", err)
	}
	base, err := url.Parse(args[0])
	if err != nil {
		return Answer{}, fmt.Errorf("base URL: %w", err)
	}
	answer, callErr, err := call(ctx, gangway.NewClient(gangway.Config{GangwayURL: base}), args[1], raw)
	if callErr != nil {
		answer.Kind, answer.Error = fault.KindOf(callErr).String(), callErr.Error()
	}
	return answer, err
}

// call tells the failure of the call apart from that of this program.
func call(ctx context.Context, c *gangway.Client, name string, raw []byte) (a Answer, callErr, err error) {
	switch name {
	case "create":
		var s prow.Submission
		if err = json.Unmarshal(raw, &s); err == nil {
			a.ID, callErr = c.Create(ctx, s)
		}
	case "get":
		var id string
		if err = json.Unmarshal(raw, &id); err == nil {
			a.Jobs = make([]prow.Job, 1)
			a.Jobs[0], callErr = c.Get(ctx, id)
		}
	case "list":
		var jobName string
		if err = json.Unmarshal(raw, &jobName); err == nil {
			a.Jobs, callErr = c.List(ctx, jobName, "")
		}
	case "abort":
		var abort prow.Abort
		if err = json.Unmarshal(raw, &abort); err == nil {
			callErr = c.Abort(ctx, abort)
		}
	default:
		err = fmt.Errorf("unknown call %q", name)
	}
	return a, callErr, err
}
