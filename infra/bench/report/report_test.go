package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"prowgate/infra/bench/report"
)

func TestManyBecomeOne(t *testing.T) {
	values := []int{5, 1, 4, 2, 3}
	for p, want := range map[int]int{0: 1, 20: 1, 21: 2, 50: 3, 99: 5, 100: 5} {
		if got := report.Percentile(values, p); got != want {
			t.Errorf("percentile %d is %d, want %d", p, got, want)
		}
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
	if m := report.Median([]time.Duration{3, 1}); m != 1 {
		t.Errorf("median of two is %d", m)
	}
	if m := report.Mean([]float64{1, 2, 6}); m != 3 {
		t.Errorf("mean is %v", m)
	}
	if report.Median([]int{}) != 0 || report.Mean([]int{}) != 0 {
		t.Error("of no values there is something")
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want string
	}{
		{1, 2, "0.50"},
		{3, 2, "1.50"},
		{250, 2, "125"},
		{1, 50, "1/50"},
		{0, 5, "-"},
		{5, 0, "-"},
		{-1, 5, "-"},
	} {
		if got := report.Ratio(c.a, c.b); got != c.want {
			t.Errorf("%v to %v is %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	report.Table{Machine: "a machine", Sections: []report.Section{
		{Title: "one", Method: strings.Repeat("word ", 60), Rows: []report.Row{{Name: "n", Value: "v", Beside: "b", Ratio: "r"}}},
		{Title: "two", Method: "none", Failed: errors.New("no reason")},
	}}.Write(&out)
	method, table, _ := strings.Cut(out.String(), "\nwhat ")
	for line := range strings.Lines(method) {
		if len(line) > 120 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
	var rows []string
	for line := range strings.Lines(table) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := "measured next to ratio|ONE|n v b r|TWO|not measured no reason"
	if got := strings.Join(rows, "|"); got != want {
		t.Errorf("table %q, want %q", got, want)
	}
}
