package sqlite

import (
	sqlite3 "modernc.org/sqlite/lib"

	"prowgate/shared/fault"
	"prowgate/shared/sqlitedb"
)

// nothing wraps a failure that surely had no effect: of a read, or before a write was sent.
func nothing(op string, err error) error {
	return &fault.Error{Kind: fault.NothingHappened, Op: op, Err: err}
}

// afterSending wraps the failure of a write that SQLite has begun. The codes listed are those after
// which the statement did not run or was rolled back (sqlite.org/rescode.html). All others leave it
// open, above all an I/O error, which the commit itself may have met, and a context that ended: the
// driver then reports the context even when the statement has just been committed.
func afterSending(op string, err error) error {
	kind := fault.MayHaveHappened
	code, ok := sqlitedb.Code(err)
	if !ok {
		return &fault.Error{Kind: kind, Op: op, Err: err}
	}
	switch code {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH,
		sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		kind = fault.NothingHappened
	}
	return &fault.Error{Kind: kind, Op: op, Err: err}
}

func conflict(op string) error {
	return &fault.Error{Kind: fault.Conflict, Op: op, Text: "the record was changed by somebody else"}
}
