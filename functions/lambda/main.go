// Command lambda is the program of every Lambda function of prowgate. What it does with an event is seen
// from the event alone: messages of a queue go to the function of that queue, a schedule's tick to the
// sweep, a request to the function's URL to the status face.
//
// Entry point: run, which reads the settings and makes the handler. The runtime freezes and kills the
// process as it likes: nothing depends on an orderly end.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"prowgate/shared/gate"
)

func main() {
	h, err := run(context.Background(), os.Stdout, time.Now)
	if err != nil {
		fmt.Fprintln(os.Stderr, gate.Neutralise(err.Error()))
		os.Exit(1)
	}
	lambda.Start(h)
}
