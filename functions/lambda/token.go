package main

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"

	"prowgate/shared/awsfault"
	"prowgate/shared/fault"
)

// secretTimeout is how long one reading of the token may take.
const secretTimeout = 5 * time.Second

// readSecret returns a function that reads the current version of a secret's text.
func readSecret(cfg aws.Config, arn string) func(ctx context.Context) (string, error) {
	client := secretsmanager.NewFromConfig(cfg, func(o *secretsmanager.Options) { o.HTTPClient = awsfault.Watch(o.HTTPClient) })
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, secretTimeout)
		defer cancel()
		out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String(arn)})
		if err != nil {
			return "", &fault.Error{Kind: fault.NothingHappened, Op: "read the token's secret", Text: code(err), Err: err}
		}
		return aws.ToString(out.SecretString), nil
	}
}

// code is what AWS calls the failure, or that there was no answer.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return "Secrets Manager did not answer"
}
