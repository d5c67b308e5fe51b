package config

import (
	"errors"
	"regexp"
	"strings"
)

// The names that AWS takes (DynamoDB API, CreateTable; Secrets Manager, the ARN of a secret).
var (
	dynamoTable = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)
	secretARN   = regexp.MustCompile(`^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$`)
)

// checkSQS takes the base of queue URLs, after "sqs:" or as it is: a host, and the account as the path.
func checkSQS(value string) error {
	if len(value) >= len("sqs:") && strings.EqualFold(value[:len("sqs:")], "sqs:") {
		value = value[len("sqs:"):]
	}
	u, err := webURL(value)
	if err == nil && strings.Trim(u.Path, "/") == "" {
		err = errors.New("must end in the account, as in https://sqs.<region>.amazonaws.com/<account>")
	}
	return err
}

func checkDynamoDB(value string) error {
	if !dynamoTable.MatchString(strings.TrimPrefix(value, "dynamodb:")) {
		return errors.New("must be dynamodb:<table>: 3 to 255 letters, digits, '_', '-' or '.'")
	}
	return nil
}
