package broker

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"prowgate/shared/fault"
)

const schema = `
CREATE TABLE IF NOT EXISTS broker_messages (
	seq          INTEGER PRIMARY KEY AUTOINCREMENT,
	queue        TEXT NOT NULL,
	id           TEXT NOT NULL,
	session      TEXT NOT NULL,
	correlation  TEXT NOT NULL,
	content_type TEXT NOT NULL,
	body         BLOB NOT NULL,
	scheduled    INTEGER NOT NULL,
	ttl          INTEGER NOT NULL,
	available    INTEGER NOT NULL,
	expires      INTEGER NOT NULL,
	deliveries   INTEGER NOT NULL,
	reason       TEXT NOT NULL,
	text         TEXT NOT NULL,
	trace        TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS broker_ids (
	queue TEXT NOT NULL,
	id    TEXT NOT NULL,
	until INTEGER NOT NULL,
	PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS broker_ids_until ON broker_ids (until);
`

// The statements that change the tables; moments are nanoseconds since 1970, 0 for none.
const (
	sqlInsert = `INSERT INTO broker_messages
		(seq, queue, id, session, correlation, content_type, body, scheduled, ttl, available, expires, deliveries, reason, text, trace)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', '', ?)`
	sqlRemember = `INSERT INTO broker_ids (queue, id, until) VALUES (?, ?, ?)
		ON CONFLICT (queue, id) DO UPDATE SET until = excluded.until`
	sqlPrune     = `DELETE FROM broker_ids WHERE until <= ?`
	sqlDelivered = `UPDATE broker_messages SET deliveries = ? WHERE seq = ?`
	sqlRemove    = `DELETE FROM broker_messages WHERE seq = ?`
	sqlMove      = `UPDATE broker_messages SET queue = ?, available = ?, expires = 0, reason = ?, text = ? WHERE seq = ?`
)

// sqlite is the journal in two tables of a SQLite file, prepared once.
type sqlite struct {
	db         *sql.DB
	statements map[string]*sql.Stmt
}

func newSQLite(db *sql.DB) (*sqlite, error) {
	if _, err := db.Exec(schema); err != nil {
		return nil, fmt.Errorf("create the broker's tables: %w", err)
	}
	if err := addTrace(db); err != nil {
		return nil, fmt.Errorf("bring the broker's tables up to date: %w", err)
	}
	s := &sqlite{db: db, statements: map[string]*sql.Stmt{}}
	for _, text := range []string{sqlInsert, sqlRemember, sqlPrune, sqlDelivered, sqlRemove, sqlMove} {
		stmt, err := db.Prepare(text) //nolint:sqlclosecheck // kept until close
		if err != nil {
			return nil, errors.Join(fmt.Errorf("prepare the broker's statements: %w", err), s.close())
		}
		s.statements[text] = stmt
	}
	return s, nil
}

// addTrace adds the column that files of before traces lack.
func addTrace(db *sql.DB) error {
	var there int
	err := db.QueryRow(`SELECT COUNT(*) FROM pragma_table_info('broker_messages') WHERE name = 'trace'`).Scan(&there)
	if err == nil && there == 0 {
		_, err = db.Exec(`ALTER TABLE broker_messages ADD COLUMN trace TEXT NOT NULL DEFAULT ''`)
	}
	return err
}

func (s *sqlite) close() error {
	var errs []error
	for _, stmt := range s.statements {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

func (s *sqlite) insert(a arrival) error {
	m := a.item.m
	if m.Body == nil {
		m.Body = []byte{}
	}
	steps := []step{{sqlInsert, []any{
		a.item.seq, a.queue, m.ID, m.SessionID, m.CorrelationID, m.ContentType, m.Body, stamp(m.ScheduledAt),
		int64(m.TTL), stamp(a.item.available), stamp(a.item.expires), m.Trace,
	}}}
	if !a.remember.IsZero() {
		steps = append(steps, step{sqlRemember, []any{a.queue, m.ID, stamp(a.remember)}})
	}
	if a.prune {
		steps = append(steps, step{sqlPrune, []any{stamp(a.now)}})
	}
	return s.write(steps...)
}

func (s *sqlite) delivered(seq int64, count int) error {
	return s.write(step{sqlDelivered, []any{count, seq}})
}

func (s *sqlite) remove(seq int64) error {
	return s.write(step{sqlRemove, []any{seq}})
}

func (s *sqlite) move(m burial) error {
	return s.write(step{sqlMove, []any{m.queue, stamp(m.at), m.reason, m.text, m.seq}})
}

type step struct {
	statement string
	args      []any
}

// write carries out the steps in one transaction. It takes no context: a write that a caller could
// break off would leave open whether it took place.
func (s *sqlite) write(steps ...step) error {
	tx, err := s.db.Begin()
	if err != nil {
		return writeFault(fault.NothingHappened, err)
	}
	for _, st := range steps {
		stmt := tx.Stmt(s.statements[st.statement]) //nolint:sqlclosecheck // the transaction's end closes it
		if _, err := stmt.Exec(st.args...); err != nil {
			return writeFault(fault.NothingHappened, errors.Join(err, tx.Rollback()))
		}
	}
	if err := tx.Commit(); err != nil {
		return writeFault(fault.MayHaveHappened, err)
	}
	return nil
}

func writeFault(k fault.Kind, err error) error {
	return &fault.Error{Kind: k, Op: "write to the broker's file", Err: err}
}

// stamp turns a moment into nanoseconds since 1970; the zero time, and anything before 1970, into 0, and
// what is too far away for them into the last there is, in 2262.
func stamp(t time.Time) int64 {
	switch {
	case t.Unix() <= 0:
		return 0
	case t.Year() > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// moment is the reverse of stamp.
func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
