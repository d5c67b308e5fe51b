package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/store"
)

// batch is how many records are read at once.
const batch = 200

// newest returns up to limit gates, the one that came last first. The store has no order of time, so
// it is read through, but no more than limit views and a batch are ever held.
func (p Page) newest(ctx context.Context, limit int) ([]gate.View, error) {
	if p.Records == nil {
		return nil, errNoRecords
	}
	gates, after := []gate.View{}, ""
	for {
		entries, err := p.Records.List(ctx, gate.KeyPrefix, after, batch)
		if err != nil {
			return nil, fmt.Errorf("read records: %w", err)
		}
		for _, e := range entries {
			v, err := view(e)
			if err != nil {
				p.Log.Warn("record left out", "key", e.Key, "error", err)
				continue
			}
			gates = append(gates, v)
		}
		gates = first(gates, limit)
		if len(entries) < batch {
			return gates, nil
		}
		after = entries[len(entries)-1].Key
	}
}

// first sorts gates and keeps the first of them.
func first(gates []gate.View, limit int) []gate.View {
	slices.SortFunc(gates, func(a, b gate.View) int {
		return cmp.Or(cameAt(b).Compare(cameAt(a)), strings.Compare(a.GateID, b.GateID))
	})
	return gates[:min(len(gates), limit)]
}

// cameAt is when the gate was first heard of.
func cameAt(v gate.View) time.Time {
	if len(v.Timeline) == 0 {
		return time.Time{}
	}
	return v.Timeline[0].At
}

// view decodes a record. A timeline is never null in JSON.
func view(e store.Entry) (gate.View, error) {
	v, err := gate.ViewOf(e.Body)
	if err != nil {
		return gate.View{}, err
	}
	if v.Timeline == nil {
		v.Timeline = []gate.Moment{}
	}
	return v, nil
}

// clockTime is a time of day for people, in UTC as everywhere in the timelines.
func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// age is how long before now a gate was first heard of.
func age(now time.Time, v gate.View) string {
	at := cameAt(v)
	if at.IsZero() {
		return ""
	}
	return max(now.Sub(at), 0).Round(time.Second).String()
}
