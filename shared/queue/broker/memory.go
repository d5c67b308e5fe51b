package broker

import "time"

// memory is the duplicate detection of one queue: message ids and how long each is remembered. What it
// forgets follows from the time alone, so forgetting needs no journal.
type memory struct {
	until   map[string]time.Time
	history []sighting // in order of arrival
}

type sighting struct {
	id    string
	until time.Time
}

// has reports whether the id is remembered at the given time.
func (m *memory) has(id string, now time.Time) bool {
	until, ok := m.until[id]
	return ok && now.Before(until)
}

func (m *memory) add(id string, until time.Time) {
	m.until[id] = until
	m.history = append(m.history, sighting{id, until})
}

// forget drops what is over and reports whether there was anything.
func (m *memory) forget(now time.Time) bool {
	n := 0
	for n < len(m.history) && !now.Before(m.history[n].until) {
		s := m.history[n]
		if m.until[s.id].Equal(s.until) { // not remembered anew since
			delete(m.until, s.id)
		}
		n++
	}
	m.history = m.history[n:]
	return n > 0
}
