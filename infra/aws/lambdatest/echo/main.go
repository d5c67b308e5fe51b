// Command echo is a Lambda function for the tests of the played runtime: it does what its event says, which
// is "exit", "hang" or "fail", and answers with any other event itself.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(_ context.Context, event json.RawMessage) (json.RawMessage, error) {
		switch string(event) {
		case `"exit"`:
			os.Exit(3)
		case `"hang"`:
			select {}
		case `"fail"`:
			return nil, errors.New("it failed")
		}
		return event, nil
	})
}
