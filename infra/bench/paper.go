package main

import (
	"context"
	"fmt"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/infra/bench/price"
	"prowgate/infra/bench/report"
	"prowgate/shared/gate"
)

// asked is what one usual gate asks for, counted in virtual time.
func asked(ctx context.Context) (price.Gate, error) {
	c, err := requests(ctx, gangwaytest.Passing(usual))
	return price.Gate{
		Length: usual, Messages: c.Deliveries, Sends: c.Sends + c.Notices, Reads: c.Loads, Writes: c.Saves,
	}, err
}

func (b *bench) cost(ctx context.Context) ([]report.Row, error) {
	g, err := asked(ctx)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	for _, cloud := range []struct {
		name, runner string
		bill         price.Bill
	}{
		{"Azure", "container instance, 1 CPU, 1.5 GB", price.Azure(g, 1000)},
		{"AWS", "Fargate task, 0.25 CPU, 0.5 GB", price.AWS(g, 1000)},
	} {
		sum := cloud.bill.Sum()
		rows = append(rows, report.Row{
			Name: cloud.name + ", list prices of " + price.Date, Value: fmt.Sprintf("%.2f USD", sum),
			Beside: fmt.Sprintf("%s: %.2f USD", cloud.runner, cloud.bill.Runner), Ratio: report.Ratio(sum, cloud.bill.Runner),
		})
		for _, l := range cloud.bill.Lines {
			rows = append(rows, report.Row{Name: "  " + l.What, Value: fmt.Sprintf("%.2f USD", l.USD)})
		}
	}
	return rows, nil
}

func (b *bench) paper(ctx context.Context) ([]report.Row, error) {
	g, err := asked(ctx)
	if err != nil {
		return nil, err
	}
	const gates = 100_000
	ticks := gates / gate.DefaultPollInterval.Seconds()
	rows := []report.Row{{
		Name: "ticks, and requests to Deck, a second", Value: fmt.Sprintf("%.0f", ticks),
		Beside: fmt.Sprintf("at 5 minutes: %.0f", gates/(5*time.Minute).Seconds()),
	}}
	for _, l := range price.Limits(g, gates, gate.DefaultPollInterval) {
		rows = append(rows, report.Row{
			Name: l.What, Value: fmt.Sprintf("%.0f", l.Need), Beside: fmt.Sprintf("limit: %.0f, reached by %.0f gates", l.Of, l.GatesAtIt),
			Ratio: report.Ratio(l.Need, l.Of),
		})
	}
	return rows, nil
}
