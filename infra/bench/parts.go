package main

import (
	"context"

	"prowgate/infra/bench/report"
)

// part is one section of the table.
type part struct {
	title  string
	method string
	run    func(ctx context.Context) ([]report.Row, error)
}

func row(name, value, beside, ratio string) report.Row {
	return report.Row{Name: name, Value: value, Beside: beside, Ratio: ratio}
}

func (b *bench) parts() []part {
	return []part{
		{
			"handler, at rest",
			"dist/azure/handler is started again and again, each time beside a Go handler that decodes the host's JSON and " +
				"does nothing; from the start of the process until GET / is answered, tried every millisecond; memory is VmRSS then.",
			b.atRest,
		},
		{
			"handler, messages",
			"eight callers, as many as host.json allows, post what the Functions host posts, to both handlers in turns of equal " +
				"length; the median of the turns. The store is memory; queue and Deck are servers of the benchmark on the same " +
				"processors. CPU is the handler's own, from /proc, so that it does not depend on the callers.",
			b.messages,
		},
		{
			"one gate",
			"requests: the real engine in virtual time, one job of 90 minutes at the default interval of 60 s. CPU: the real " +
				"handler and local host with their SQLite file carry many gates whose looks are closer together than in life, and " +
				"/proc is divided by the looks. Next to it the process that waits: 60 MiB for the job's length, 0.11 CPU " +
				"seconds an hour at its interval of 300 s (measured once, not here).",
			b.oneGate,
		},
		{
			"from a job's end to its verdict",
			"the real engine in virtual time at the default interval of 60 s: five jobs of 50 to 110 minutes, each run again and " +
				"again; a run takes 8 % more or less (standard deviation), and one in twelve any time between 40 and 120 minutes. " +
				"The same runs twice: with a store that forgets earlier runs, and with one that does not.",
			b.detection,
		},
		{
			"20 gates at once",
			"the real engine in virtual time before a Gangway that refuses as nginx does (9 a minute, burst 5), until every job " +
				"has been created; no order of requests could do it in less than 14 intervals of 6.67 s. The process that this " +
				"replaces took 440 s, and made a second job for every answer that was lost (measured once, not here).",
			b.burst,
		},
		{
			"gates in flight",
			"bin/local with its SQLite file and the real handler; the gates adopt jobs that hang, so that Gangway's limit is out of " +
				"the way. Deck, a server of the benchmark, notes when each job is looked at: lateness is the time between two looks, " +
				"less the interval. A look that has not come by the end counts as it stands then. CPU is of one processor.",
			b.flights,
		},
		{
			"cost of 1,000 gates",
			"computed from list prices (infra/bench/price, with date and source) and the messages and store requests of one gate of " +
				"90 minutes, as counted above; next to a container that is held while the job runs.",
			b.cost,
		},
		{
			"ten times as many, on paper",
			"computed from the published limits of the services (infra/bench/price) for 100,000 gates in flight at 60 s.",
			b.paper,
		},
	}
}
