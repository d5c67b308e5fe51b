// Package price works out on paper what cannot be measured here: what gates cost by the list prices of two
// clouds, and which published limit they meet first when there are ten times as many.
//
// Entry points: Azure, AWS and Limits. The prices and limits are in list.go.
package price

import (
	"cmp"
	"slices"
	"time"
)

// Gate is what one gate asks for in its life.
type Gate struct {
	Length   time.Duration // from the submission to the verdict
	Messages int           // handled by functions
	Sends    int           // messages sent
	Reads    int           // of the store
	Writes   int
}

// Line is one line of a bill.
type Line struct {
	What string
	USD  float64
}

// Bill is the price of something that is used, and of the container that would be held in its place.
type Bill struct {
	Lines  []Line
	Runner float64
}

// Sum adds the lines.
func (b Bill) Sum() float64 {
	sum := 0.0
	for _, l := range b.Lines {
		sum += l.USD
	}
	return sum
}

// Azure returns the bill of so many gates on Functions (Flex Consumption), Service Bus and Table storage. No
// free grant is counted, and no instance works on two messages at once, so that less is paid in life.
func Azure(g Gate, gates float64) Bill {
	p := azureList()
	messages := gates * float64(g.Messages)
	return Bill{
		Lines: []Line{
			{"functions: time", messages * p.leastSeconds * p.instanceGB * p.gbSecond},
			{"functions: executions", messages / million * p.executions},
			{"Service Bus: operations", gates * float64(g.Sends+2*g.Messages) / million * p.busOperations},
			{"Table storage: transactions", gates * float64(g.Reads+g.Writes) / million * p.tableTransactions},
			{"logs", messages * p.logKB / kBInGB * p.logGB},
		},
		Runner: gates * g.Length.Hours() * (p.runnerCPU*p.cpuHour + p.runnerGB*p.gbHour),
	}
}

// AWS returns the bill of so many gates on Lambda (arm64), SQS and DynamoDB.
func AWS(g Gate, gates float64) Bill {
	p := awsList()
	messages := gates * float64(g.Messages)
	return Bill{
		Lines: []Line{
			{"Lambda: time", messages * p.seconds * p.functionGB * p.gbSecond},
			{"Lambda: requests", messages / million * p.requests},
			{"SQS: requests", gates * float64(g.Sends+2*g.Messages) / million * p.queueRequests},
			{"DynamoDB: writes", gates * float64(g.Writes) * p.writeUnits / million * p.writes},
			{"DynamoDB: reads", gates * float64(g.Reads) * p.readUnits / million * p.reads},
			{"logs", messages * p.logKB / kBInGB * p.logGB},
		},
		Runner: gates * g.Length.Hours() * (p.runnerCPU*p.cpuHour + p.runnerGB*p.gbHour),
	}
}

// Limit is a published limit and what of it a number of gates needs.
type Limit struct {
	What      string
	Need      float64 // a second, or instances
	Of        float64
	GatesAtIt float64 // how many gates in flight reach it
}

// Limits returns what so many gates in flight need of each service in Azure at the given interval, the limit
// that is met first before the others.
func Limits(g Gate, gates float64, interval time.Duration) []Limit {
	p := publishedLimits()
	ticks := gates / interval.Seconds()
	share := float64(g.Messages)
	limits := []Limit{
		{What: "Service Bus Standard: credits a second, of one namespace", Need: ticks * float64(g.Sends+2*g.Messages) / share, Of: p.busCredits},
		{What: "Table storage: operations a second, of one partition", Need: ticks * float64(g.Reads+g.Writes) / share, Of: p.partition},
		{What: "Functions: instances of eight calls at once", Need: ticks * p.callSeconds / p.callsAtOnce, Of: p.instances},
		{What: "Gangway: submissions a minute", Need: gates / g.Length.Minutes(), Of: p.submissions},
	}
	for i, l := range limits {
		limits[i].GatesAtIt = gates * l.Of / l.Need
	}
	slices.SortFunc(limits, func(a, b Limit) int { return cmp.Compare(a.GatesAtIt, b.GatesAtIt) })
	return limits
}
