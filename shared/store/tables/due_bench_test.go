package tables

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prowgate/shared/store"
)

// BenchmarkDue asks as a sweep does when nothing is due, beside records of 4 KiB that are kept: of the agenda, and,
// to compare, by a filter on the due time, for which the service has to look at every record. It tells what a
// question costs in requests and bytes.
func BenchmarkDue(b *testing.B) {
	a := start(b)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, kept := range []int{1000, 5000} {
		var c counter
		s := a.open(b, &c)
		fill(b, s, now.AddDate(0, 0, 1), kept)
		ask := map[string]func() error{
			"agenda": func() error { _, err := s.Due(b.Context(), now, 100); return err },
			"filter": func() error {
				filter := fmt.Sprintf("PartitionKey eq '%s' and %s le %dL", partition, dueName, now.UnixMicro())
				return s.query(b.Context(), "scan", filter, mostPerPage, func(*call, []byte) (bool, error) { return true, nil })
			},
		}
		for name, ask := range ask {
			b.Run(fmt.Sprint(name, "/0of", kept), func(b *testing.B) { c.measure(b, ask) })
		}
	}
}

func (c *counter) measure(b *testing.B, ask func() error) {
	c.requests.Store(0)
	c.bytes.Store(0)
	for b.Loop() {
		if err := ask(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(c.requests.Load())/float64(b.N), "requests/op")
	b.ReportMetric(float64(c.bytes.Load())/float64(b.N), "answered-B/op")
}

// fill saves that many records, due one after the other from that time on.
func fill(b *testing.B, s store.Store, from time.Time, many int) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(many); i = next.Add(1) {
				e := store.Entry{Key: fmt.Sprint("gate:", i), Due: from.Add(time.Duration(i) * time.Minute), Body: bytes.Repeat([]byte("x"), 4<<10)}
				if _, err := s.Save(b.Context(), e); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// counter is a transport that counts what goes over it.
type counter struct{ requests, bytes atomic.Int64 }

func (c *counter) Do(req *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		res.Body = counted{res.Body, &c.bytes}
	}
	return res, err
}

type counted struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}
