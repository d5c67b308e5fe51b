package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"prowgate/infra/bench/price"
)

// stepOnAWS is what the step of a gate pays on AWS for looking every 10 s (infra/README.md); it is no part of the bill.
const stepOnAWS = 0.20

// TestReadmesHoldTheCost: what is written down of the cost of 1,000 gates is what the requests that one really makes cost.
func TestReadmesHoldTheCost(t *testing.T) {
	g, err := asked(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	az, aw := price.Azure(g, 1000), price.AWS(g, 1000)
	readme := read(t, "../README.md")
	for row, want := range map[string][2]float64{
		"compute: time":     {line(t, az, "functions: time"), line(t, aw, "Lambda: time")},
		"compute: requests": {line(t, az, "functions: executions"), line(t, aw, "Lambda: requests")},
		"queue":             {line(t, az, "Service Bus: operations"), line(t, aw, "SQS: requests")},
		"store":             {line(t, az, "Table storage: transactions"), line(t, aw, "DynamoDB: writes") + line(t, aw, "DynamoDB: reads")},
		"logs":              {line(t, az, "logs"), line(t, aw, "logs")},
		"**1,000 gates**":   {az.Sum(), aw.Sum() + stepOnAWS},
	} {
		if got, want := cells(t, readme, row), [2]string{usd(want[0]), usd(want[1])}; got != want {
			t.Errorf("infra/README.md, %s: %v, want %v", row, got, want)
		}
	}
	if want := fmt.Sprintf("templates: %d messages", g.Messages); !strings.Contains(readme, want) {
		t.Errorf("infra/README.md does not say %q", want)
	}
	text := fmt.Sprintf("1,000 gates: Azure %s USD, of which %s is", usd(az.Sum()), usd(az.Lines[0].USD))
	for _, want := range []string{text, fmt.Sprintf("AWS %s against", usd(aw.Sum()))} {
		if !strings.Contains(read(t, "README.md"), want) {
			t.Errorf("infra/bench/README.md does not say %q", want)
		}
	}
}

func usd(v float64) string { return fmt.Sprintf("%.2f", v) }

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// line returns what one line of a bill comes to.
func line(t *testing.T, b price.Bill, what string) float64 {
	t.Helper()
	for _, l := range b.Lines {
		if l.What == what {
			return l.USD
		}
	}
	t.Fatalf("the bill has no %s", what)
	return 0
}

// cells returns the numbers that the row's two cells begin with.
func cells(t *testing.T, text, row string) [2]string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row) + ` \| \**([0-9.]+)[^|]*\| \**([0-9.]+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no row %s", row)
	}
	return [2]string{m[1], m[2]}
}
