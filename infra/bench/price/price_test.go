package price_test

import (
	"math"
	"testing"
	"time"

	"prowgate/infra/bench/price"
)

func usual() price.Gate {
	return price.Gate{Length: 90 * time.Minute, Messages: 100, Sends: 100, Reads: 200, Writes: 100}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > want/1000 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Worked out by hand from the prices in list.go.
func TestBills(t *testing.T) {
	for _, c := range []struct {
		name   string
		bill   price.Bill
		lines  []float64
		runner float64
	}{
		{"Azure", price.Azure(usual(), 1000), []float64{5.2, 0.04, 0.24, 0.0108, 1.38}, 1500 * 0.047175},
		{"AWS", price.AWS(usual(), 1000), []float64{0.1, 0.02, 0.12, 0.25, 0.025, 0.025}, 1500 * 0.0123425},
	} {
		sum := 0.0
		if len(c.bill.Lines) != len(c.lines) {
			t.Fatalf("%s: %+v", c.name, c.bill.Lines)
		}
		for i, l := range c.bill.Lines {
			near(t, c.name+", "+l.What, l.USD, c.lines[i])
			sum += c.lines[i]
		}
		near(t, c.name, c.bill.Sum(), sum)
		near(t, c.name+", runners", c.bill.Runner, c.runner)
	}
}

func TestLimits(t *testing.T) {
	limits := price.Limits(usual(), 100_000, time.Minute)
	if len(limits) != 4 {
		t.Fatalf("%+v", limits)
	}
	for i, l := range limits {
		if i > 0 && l.GatesAtIt < limits[i-1].GatesAtIt {
			t.Errorf("%s comes before what is met earlier", limits[i-1].What)
		}
		at := price.Limits(usual(), l.GatesAtIt, time.Minute)
		for _, again := range at {
			if again.What == l.What {
				near(t, l.What, again.Need, l.Of)
			}
		}
	}
	// 1,667 ticks a second, each sent, received and completed.
	near(t, limits[1].What, limits[1].Need, 5000)
}
