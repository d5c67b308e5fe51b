// Package standin runs the stand-in for Gangway, Deck and the artifacts bucket inside the local host
// and keeps its jobs in the host's database, so that a host that is killed finds them again.
//
// Entry point: Open.
package standin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"prowgate/gangway/gangwaytest"
)

// Options say how the stand-in behaves.
type Options struct {
	Clock         func() time.Time
	BaseURL       string        // where Handler is mounted, without a trailing slash
	JobTime       time.Duration // how long a job takes
	RatePerMinute int           // of requests to Gangway; 0: no limit
	Burst         int
	Log           *slog.Logger
}

// StandIn is a stand-in with its place in the database. Its methods may be called at once.
type StandIn struct {
	world *gangwaytest.World
	db    *sql.DB
	ctx   context.Context //nolint:containedctx // of the host; saving has no caller that could give one
	log   *slog.Logger

	mu sync.Mutex // a save writes what is newest, so one goes on at a time
}

// saveWithin bounds one save.
const saveWithin = 15 * time.Second

// Open returns a stand-in with the jobs that db holds, an empty one if db is nil. A job that was
// answered to a client has been saved before, unless saving failed, which is logged.
func Open(ctx context.Context, db *sql.DB, o Options) (*StandIn, error) {
	s := &StandIn{db: db, ctx: context.WithoutCancel(ctx), log: o.Log}
	options := gangwaytest.Options{
		Clock:         o.Clock,
		BaseURL:       o.BaseURL,
		RatePerMinute: o.RatePerMinute,
		Burst:         o.Burst,
		ScriptFor:     gangwaytest.Demo(o.JobTime),
	}
	if db != nil {
		options.Changed = s.save
	}
	s.world = gangwaytest.New(options)
	if db == nil {
		return s, nil
	}
	return s, s.restore(ctx)
}

// Handler serves all surfaces of the stand-in.
func (s *StandIn) Handler() http.Handler { return s.world }

func (s *StandIn) restore(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS standin (id INTEGER PRIMARY KEY CHECK (id = 1), snapshot BLOB NOT NULL)`); err != nil {
		return fmt.Errorf("stand-in's table: %w", err)
	}
	var snapshot []byte
	err := s.db.QueryRowContext(ctx, `SELECT snapshot FROM standin`).Scan(&snapshot)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stand-in's jobs: %w", err)
	}
	if err := s.world.Restore(snapshot); err != nil {
		return fmt.Errorf("stand-in's jobs: %w", err)
	}
	return nil
}

// save writes the newest snapshot before it returns.
func (s *StandIn) save() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, stop := context.WithTimeout(s.ctx, saveWithin)
	defer stop()
	snapshot, err := s.world.Snapshot()
	if err == nil {
		_, err = s.db.ExecContext(ctx, `INSERT INTO standin (id, snapshot) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET snapshot = excluded.snapshot`, snapshot)
	}
	if err != nil {
		s.log.Error("the stand-in's jobs could not be saved", "error", err)
	}
}
