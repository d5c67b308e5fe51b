package sim_test

// foundBy has for each mistake a seed that finds it; seed 0 where there is none. One that finds it no
// longer, because runs have changed, costs time and nothing else; TestMistakes prints the next one.
var foundBy = map[string]uint64{
	"404 that is taken for the end":                          1,
	"a 200 that is taken for an abort":                       138,
	"a cancellation that the submission's answer overwrites": 13,
	"a guard that looks at one state only":                   771,
	"a job that is not found at once is submitted again":     1,
	"a list that cannot be read proves that there is no job": 31,
	"a message that is failed for a fault of Prow":           3,
	"a step that does not load and is passed over":           31,
	"a store that ignores versions":                          1,
	"a tick beyond the deadline":                             2,
	"a tick with a fixed id":                                 9,
	"a window one second wide":                               42,
	"an abort that is believed before plank has taken it":    753,
	"artifacts that cannot be listed and are taken for none": 28,
	"no sweep":                           2,
	"the job of another gate is adopted": 1,
	"the rate limit is left to others":   88,
}
