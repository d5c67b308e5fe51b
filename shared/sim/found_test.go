package sim_test

// foundBy has for each mistake a seed that finds it; seed 0 where there is none. One that finds it no
// longer, because runs have changed, costs time and nothing else; TestMistakes prints the next one.
var foundBy = map[string]uint64{
	"a 200 that is taken for an abort":                       17,
	"a POST without a claim":                                 175,
	"a cancellation of an unknown gate that is forgotten":    26,
	"a cancellation that the submission's answer overwrites": 13,
	"a claim that ends before its POST does":                 9,
	"a classification in which the first step wins":          38,
	"a completion that is sent before it is stored":          7,
	"a create that is repeated when its answer is lost":      9,
	"a guard that does not wait for the list":                20,
	"a guard that looks at one job name only":                28,
	"a guard that looks at one state only":                   334,
	"a guard that trusts an empty list":                      41,
	"a list that cannot be read proves that there is no job": 31,
	"a marker in the timeline":                               9,
	"a step that does not load and is passed over":           88,
	"a tick with a fixed id":                                 2,
	"a verdict that a late cancellation changes":             2,
	"a window one second wide":                               6,
	"an abort that is believed before plank has taken it":    398,
	"an aborted job that is taken for a failed one":          1,
	"artifacts that cannot be listed and are taken for none": 28,
	"no guard at all":                                        28,
	"no sweep":                                               9,
}
