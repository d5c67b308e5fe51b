package sim_test

// foundBy has for each mistake a seed that finds it; seed 0 where there is none. One that finds it no
// longer, because runs have changed, costs time and nothing else; TestMistakes prints the next one.
var foundBy = map[string]uint64{
	"a 200 that is taken for an abort":                       187,
	"a POST without a claim":                                 37,
	"a cancellation of an unknown gate that is forgotten":    2,
	"a cancellation that the submission's answer overwrites": 65,
	"a claim that ends before its POST does":                 1,
	"a classification in which the first step wins":          13,
	"a completion that is sent before it is stored":          2,
	"a create that is repeated when its answer is lost":      1,
	"a guard that does not wait for the list":                28,
	"a guard that looks at one job name only":                6,
	"a guard that looks at one state only":                   105,
	"a guard that trusts an empty list":                      6,
	"a job that is not found at once is submitted again":     1,
	"a list that cannot be read proves that there is no job": 8,
	"a message that is failed for a fault of Prow":           3,
	"a step that does not load and is passed over":           13,
	"a store that ignores versions":                          2,
	"a tick beyond the deadline":                             2,
	"a tick with a fixed id":                                 16,
	"a time-out that aborts the job":                         2,
	"a window one second wide":                               336,
	"an abort that is believed before plank has taken it":    577,
	"no guard at all":                                        6,
	"no sweep":                                               2,
	"the job of another gate is adopted":                     1,
	"the rate limit is left to others":                       88,
}
