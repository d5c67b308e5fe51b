package price

const (
	million = 1e6
	kBInGB  = 1e6
)

// Date is when the prices and limits were written down. They are those of the vendors' price pages for the
// cheapest large regions in the United States, in US dollars without tax and discount, and were written down
// from memory: check them for your region and contract before you plan with them.
const Date = "November 2026"

// azure are list prices of azure.microsoft.com/pricing/details, East US.
type azure struct {
	gbSecond     float64 // functions: Flex Consumption, on demand
	leastSeconds float64 // functions: the least that is paid for one execution
	instanceGB   float64 // instanceMemoryMB in infra/azure, 2048
	executions   float64 // functions: a million

	busOperations     float64 // service-bus, Standard: a million, beyond the 13 that the base price of 10 a month includes
	tableTransactions float64 // storage/tables, LRS: a million
	logGB             float64 // monitor: a GB into Log Analytics, pay as you go
	logKB             float64 // what host and handler log of one message: requests, traces, our lines; assumed

	cpuHour, gbHour     float64 // container-instances, Linux; what runs a shell step of EV2
	runnerCPU, runnerGB float64 // of one step: the default size of a container group
}

func azureList() azure {
	return azure{
		gbSecond: 0.000026, leastSeconds: 1, instanceGB: 2, executions: 0.40,
		busOperations: 0.80, tableTransactions: 0.036, logGB: 2.76, logKB: 5,
		cpuHour: 0.0405, gbHour: 0.00445, runnerCPU: 1, runnerGB: 1.5,
	}
}

// aws are list prices of aws.amazon.com/<service>/pricing, us-east-1.
type aws struct {
	gbSecond   float64 // lambda, arm64
	seconds    float64 // of one message, most of it waiting for Deck; assumed
	functionGB float64 // MemorySize in infra/aws, 256
	requests   float64 // lambda: a million

	queueRequests float64 // sqs, standard queues: a million, beyond the first
	writes        float64 // dynamodb, on demand: a million units
	writeUnits    float64 // of one record: 2 KiB, and the index
	reads         float64 // dynamodb, on demand: a million units
	readUnits     float64 // of one record, consistent
	logGB         float64 // cloudwatch: a GB of logs
	logKB         float64 // what is logged of one message; assumed

	cpuHour, gbHour     float64 // fargate, Linux on x86
	runnerCPU, runnerGB float64 // of one step: the smallest task there is
}

func awsList() aws {
	return aws{
		gbSecond: 0.0000133334, seconds: 0.3, functionGB: 0.25, requests: 0.20,
		queueRequests: 0.40, writes: 0.625, writeUnits: 4, reads: 0.125, readUnits: 1, logGB: 0.50, logKB: 0.5,
		cpuHour: 0.04048, gbHour: 0.004445, runnerCPU: 0.25, runnerGB: 0.5,
	}
}

// limits are what one of each is published to carry.
type limits struct {
	busCredits  float64 // service-bus-throttling: credits a second of a Standard namespace, one for each data operation
	partition   float64 // storage/tables/scalability-targets: operations a second of one partition
	instances   float64 // maximumInstanceCount in infra/azure
	callsAtOnce float64 // maxConcurrentCalls in host.json
	callSeconds float64 // of one tick: a read of Deck and three of the store and queue; assumed
	submissions float64 // the limit in front of OpenShift CI's Gangway
}

func publishedLimits() limits {
	return limits{busCredits: 1000, partition: 2000, instances: 40, callsAtOnce: 8, callSeconds: 0.3, submissions: 9}
}
