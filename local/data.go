package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prowgate/local/page"
	"prowgate/shared/config"
	"prowgate/shared/queue/broker"
	"prowgate/shared/sqlitedb"
	"prowgate/shared/store/storeurl"
)

const storeSetting = "STORE_URL"

// data is what the host keeps: the broker, the database behind it and behind the stand-in, and the
// record store, which belongs to the handler and is only read here.
type data struct {
	broker   *broker.Broker
	db       *sql.DB      // nil in memory
	records  page.Records // nil where the handler keeps them in its own memory
	storeURL string
	closers  []func() error // in order of opening
}

// openData opens everything. With --data memory the records are in a temporary file all the same, for
// two processes share them; close removes it. On an error nothing stays open.
func openData(o options, s settings, clock func() time.Time) (*data, error) {
	d := &data{}
	err := d.openBroker(o, s, clock)
	if err == nil {
		err = d.openRecords(o, s)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *data) openBroker(o options, s settings, clock func() time.Time) error {
	queues, err := s.queues()
	if err != nil {
		return err
	}
	cfg := broker.Config{Clock: clock, Queues: queues}
	if o.data == inMemory {
		d.broker = broker.New(cfg)
		return nil
	}
	file, err := realFile(o.data)
	if err != nil {
		return err
	}
	release, err := lockFile(file + ".lock")
	if err != nil {
		return err
	}
	d.closers = append(d.closers, release)
	if d.db, err = sqlitedb.Open(o.data); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	d.closers = append(d.closers, d.db.Close)
	if d.broker, err = broker.Open(d.db, cfg); err != nil {
		return fmt.Errorf("queues in %s: %w", o.data, err)
	}
	d.closers = append(d.closers, d.broker.Close)
	return nil
}

// realFile returns the path without symbolic links, so that whatever leads to one file leads to one lock. It makes
// the file if it is not there, for a link to nothing has no end.
func realFile(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", fmt.Errorf("data: %w", err)
	}
	return path, nil
}

func (d *data) openRecords(o options, s settings) error {
	given, ok := s.lookup(storeSetting)
	var err error
	if d.storeURL, err = absolute(given); err != nil {
		return fmt.Errorf("%s: %w", storeSetting, err)
	}
	if !ok {
		file := o.data
		if o.data == inMemory {
			dir, err := os.MkdirTemp("", "prowgate-")
			if err != nil {
				return fmt.Errorf("temporary folder: %w", err)
			}
			d.closers = append(d.closers, func() error { return os.RemoveAll(dir) })
			file = filepath.Join(dir, "records.db")
		}
		d.storeURL = "sqlite:" + file
	}
	if strings.HasPrefix(d.storeURL, "memory:") {
		return nil
	}
	records, closer, err := storeurl.Open(d.storeURL)
	if err != nil {
		return fmt.Errorf("%s: %w", storeSetting, err)
	}
	d.records = records
	d.closers = append(d.closers, closer.Close)
	return nil
}

// absolute returns a store's URL as it means the same in every folder: the handler runs in its package's, where a
// relative file would be another one than here. What is wrong with a URL is told where it is opened.
func absolute(storeURL string) (string, error) {
	form, file, err := config.StoreForm(storeURL)
	if err != nil || form != config.FormSQLite {
		return storeURL, nil //nolint:nilerr // see above
	}
	file, err = filepath.Abs(file)
	return "sqlite:" + file, err
}

// close closes what was opened, last first.
func (d *data) close() error {
	var problems []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		problems = append(problems, d.closers[i]())
	}
	return errors.Join(problems...)
}
