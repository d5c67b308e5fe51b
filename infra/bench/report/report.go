// Package report holds the table that the benchmarks print, and the few numbers that turn many
// measurements into one.
//
// Entry points: Table.Write, Median and Percentile.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Row is one number of the table. Beside is what it is to be read next to, Ratio the one divided by the
// other, both from the same run.
type Row struct {
	Name, Value, Beside, Ratio string
}

// Section is a group of rows that were measured in one way.
type Section struct {
	Title  string
	Method string // how the numbers came about, in a sentence or two
	Rows   []Row
	Failed error // why the rows are missing
}

// Table is everything that was measured.
type Table struct {
	Machine  string
	Sections []Section
}

// Write prints the methods first, then all rows as one table.
func (t Table) Write(out io.Writer) {
	fmt.Fprintf(out, "Measured on %s. How:\n\n", t.Machine)
	for _, s := range t.Sections {
		fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(wrap(s.Title+": "+s.Method, 112), "\n", "\n      "))
	}
	fmt.Fprintln(out)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tmeasured\tnext to\tratio")
	for _, s := range t.Sections {
		fmt.Fprintf(w, "%s\t\t\t\n", strings.ToUpper(s.Title))
		for _, r := range s.Rows {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", r.Name, r.Value, r.Beside, r.Ratio)
		}
		if s.Failed != nil {
			fmt.Fprintf(w, "  not measured\t%v\t\t\n", s.Failed)
		}
	}
	_ = w.Flush() // memory does not fail
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
}

// wrap breaks a text into lines of at most width characters, where words allow it.
func wrap(text string, width int) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case length+1+len(word) > width:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}

// Median returns the middle one of the values, 0 of none.
func Median[T ~int | ~int64 | ~float64](values []T) T { return Percentile(values, 50) }

// Percentile returns the smallest value that p percent of the values do not exceed, 0 of none.
func Percentile[T ~int | ~int64 | ~float64](values []T, p int) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// Mean returns the mean of the values, 0 of none.
func Mean[T ~int | ~int64 | ~float64](values []T) T {
	var sum T
	for _, v := range values {
		sum += v
	}
	if len(values) == 0 {
		return 0
	}
	return sum / T(len(values))
}

// Milliseconds writes a duration as people compare them.
func Milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// Seconds writes a duration in seconds.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// MiB writes a number of bytes.
func MiB(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// Ratio writes one number divided by another, "-" when that cannot be done.
func Ratio(a, b float64) string {
	switch r := a / b; {
	case a <= 0 || b <= 0:
		return "-"
	case r >= 100:
		return fmt.Sprintf("%.0f", r)
	case r >= 0.095:
		return fmt.Sprintf("%.2f", r)
	default:
		return fmt.Sprintf("1/%.0f", 1/r)
	}
}
