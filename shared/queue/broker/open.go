package broker

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// Open returns a broker that writes every change to db, opened by package sqlitedb, before it shows
// it, with everything the file holds of the configured queues. The locks of the process that wrote it
// are gone and their delivery counts stay; ids are still remembered. Messages of queues that are not
// configured stay in the file untouched. Only one broker may use a file; other tables of it are free.
// Close ends the use of db and leaves db open.
func Open(db *sql.DB, cfg Config) (*Broker, error) {
	s, err := newSQLite(db)
	if err != nil {
		return nil, err
	}
	b := New(cfg)
	b.journal = s
	for _, load := range []func(*sql.DB) error{b.loadSequence, b.loadMessages, b.loadIDs, b.settleFormer} {
		if err := load(db); err != nil {
			return nil, errors.Join(fmt.Errorf("load the broker's file: %w", err), s.close())
		}
	}
	return b, nil
}

// Close releases what the broker holds of its file. The broker must not be used afterwards.
func (b *Broker) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.journal.(*sqlite); ok {
		return s.close()
	}
	return nil
}

// loadSequence finds the highest number ever given, also to a message that is gone.
func (b *Broker) loadSequence(db *sql.DB) error {
	err := db.QueryRow(`SELECT seq FROM sqlite_sequence WHERE name = 'broker_messages'`).Scan(&b.sequence)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func (b *Broker) loadMessages(db *sql.DB) error {
	now := b.clock().UTC()
	return each(db, `SELECT seq, queue, id, session, correlation, content_type, body, scheduled, ttl, available,
		expires, deliveries, reason, text, trace FROM broker_messages ORDER BY seq`, func(rows *sql.Rows) error {
		it := &item{}
		var name string
		var scheduled, available, expires int64
		if err := rows.Scan(&it.seq, &name, &it.m.ID, &it.m.SessionID, &it.m.CorrelationID, &it.m.ContentType,
			&it.m.Body, &scheduled, &it.m.TTL, &available, &expires, &it.deliveries, &it.reason, &it.text, &it.m.Trace); err != nil {
			return err
		}
		it.m.ScheduledAt, it.available, it.expires = moment(scheduled), moment(available), moment(expires)
		if l, ok := b.lines[name]; ok {
			l.attach(it, now)
		}
		return nil
	})
}

func (b *Broker) loadIDs(db *sql.DB) error {
	return each(db, `SELECT queue, id, until FROM broker_ids ORDER BY until`, func(rows *sql.Rows) error {
		var name, id string
		var until int64
		if err := rows.Scan(&name, &id, &until); err != nil {
			return err
		}
		if l, ok := b.lines[name]; ok {
			l.seen.add(id, moment(until))
		}
		return nil
	})
}

// settleFormer dead-letters what the former process held for the last time that it may be delivered:
// its lock ended with that process.
func (b *Broker) settleFormer(*sql.DB) error {
	now := b.clock().UTC()
	for _, l := range b.order {
		for _, it := range l.spent() {
			if err := b.release(l, it, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// spent returns the items that may not be delivered again, in their order.
func (l *line) spent() []*item {
	var found []*item
	if l.dead == nil {
		return nil
	}
	for _, it := range l.items {
		if it.deliveries >= l.cfg.MaxDeliveries {
			found = append(found, it)
		}
	}
	slices.SortFunc(found, func(a, b *item) int { return cmp.Compare(a.seq, b.seq) })
	return found
}

// each runs read on every row of the query.
func each(db *sql.DB, query string, read func(*sql.Rows) error) (err error) {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
