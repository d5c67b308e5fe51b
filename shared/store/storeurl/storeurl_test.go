package storeurl_test

import (
	"path/filepath"
	"strings"
	"testing"

	"prowgate/shared/store"
	"prowgate/shared/store/storeurl"
	"prowgate/shared/store/tables"
)

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b%20?x.db")
	for _, raw := range []string{"memory:", "sqlite:" + file} {
		s, closer, err := storeurl.Open(raw)
		if err != nil {
			t.Fatalf("open %s: %v", raw, err)
		}
		if _, err := s.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`{}`)}); err != nil {
			t.Errorf("save in %s: %v", raw, err)
		}
		if err := closer.Close(); err != nil {
			t.Errorf("close %s: %v", raw, err)
		}
	}
	s, closer, err := storeurl.Open("sqlite:" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	if _, ok, err := s.Load(t.Context(), "k"); err != nil || !ok {
		t.Errorf("after reopening the file: found %v, error %v", ok, err)
	}
}

func TestOpenTables(t *testing.T) {
	for _, raw := range []string{
		"https://account.table.core.windows.net/records",
		"AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a;TableName=records",
	} {
		s, closer, err := storeurl.Open(raw)
		if _, ok := s.(*tables.Store); err != nil || !ok {
			t.Fatalf("open %s: %T, %v", raw, s, err)
		}
		if err := closer.Close(); err != nil {
			t.Errorf("close %s: %v", raw, err)
		}
	}
}

func TestRefused(t *testing.T) {
	const key = "c2VjcmV0LWtleQ=="
	for raw, want := range map[string]string{
		"":                      "must be sqlite:<file> or memory:",
		"records.db":            "must be sqlite:<file> or memory:",
		"postgres://u:" + key:   "must be sqlite:<file> or memory:",
		"memory:" + key:         "must be memory: with nothing after the colon",
		"sqlite:":               "must be sqlite:<file>",
		"sqlite://" + key:       "must be sqlite:<file>",
		"dynamodb:" + key:       "must be dynamodb:<table>",
		"dynamodb:records":      `no adapter opens the form "dynamodb"`, // the functions in AWS open it themselves
		"https://a.b/t?" + key:  "must not have a query",
		"AccountKey=" + key:     "must have a part TableName=<table>",
		"a=b;AccountKey=" + key: "must have a part TableName=<table>",

		"AccountName=a;AccountKey=?" + key + ";TableName=abc": "must be a valid connection string",
	} {
		_, _, err := storeurl.Open(raw)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%q: the error repeats the key: %v", raw, err)
		}
	}
}

func TestFileThatCannotBeOpened(t *testing.T) {
	raw := "sqlite:" + filepath.Join(t.TempDir(), "missing", "a.db")
	if s, closer, err := storeurl.Open(raw); err == nil || s != nil || closer != nil {
		t.Errorf("got %v, %v, error %v", s, closer, err)
	}
}
