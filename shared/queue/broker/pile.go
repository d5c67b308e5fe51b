package broker

import "container/heap"

// pile is a priority queue of items that can also give up one from its middle. An item lies in at most
// one pile of each role and knows its index there.
type pile struct {
	items []*item
	less  func(a, b *item) bool
	role  int
}

// The roles of piles: one for the state an item is in, one for its expiry.
const (
	roleState = iota
	roleExpiry
	roles
)

func (p *pile) Len() int           { return len(p.items) }
func (p *pile) Less(i, j int) bool { return p.less(p.items[i], p.items[j]) }

func (p *pile) Swap(i, j int) {
	p.items[i], p.items[j] = p.items[j], p.items[i]
	p.items[i].index[p.role], p.items[j].index[p.role] = i, j
}

// Push appends, for package heap only.
func (p *pile) Push(x any) {
	it := x.(*item)
	it.index[p.role] = len(p.items)
	p.items = append(p.items, it)
}

// Pop cuts off the last item, for package heap only.
func (p *pile) Pop() any {
	last := len(p.items) - 1
	it := p.items[last]
	p.items[last] = nil
	p.items = p.items[:last]
	it.index[p.role] = -1
	return it
}

func (p *pile) put(it *item) { heap.Push(p, it) }

// drop removes the item if it lies in this pile.
func (p *pile) drop(it *item) {
	if i := it.index[p.role]; i >= 0 && i < len(p.items) && p.items[i] == it {
		heap.Remove(p, i)
	}
}

// top returns the first item without removing it, nil when there is none.
func (p *pile) top() *item {
	if p == nil || len(p.items) == 0 {
		return nil
	}
	return p.items[0]
}

func byPlace(a, b *item) bool {
	if !a.available.Equal(b.available) {
		return a.available.Before(b.available)
	}
	return a.seq < b.seq
}

func byLockEnd(a, b *item) bool {
	if !a.lockedUntil.Equal(b.lockedUntil) {
		return a.lockedUntil.Before(b.lockedUntil)
	}
	return a.seq < b.seq
}

func byExpiry(a, b *item) bool {
	if !a.expires.Equal(b.expires) {
		return a.expires.Before(b.expires)
	}
	return a.seq < b.seq
}
