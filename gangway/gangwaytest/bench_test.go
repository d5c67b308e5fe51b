package gangwaytest_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"prowgate/gangway/gangwaytest"
)

// BenchmarkSmallWorld is one life of a world as the simulator has it: a create, polls, a list.
func BenchmarkSmallWorld(b *testing.B) {
	script := gangwaytest.Passing(time.Minute)
	for b.Loop() {
		now := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
		w := gangwaytest.New(gangwaytest.Options{
			Clock: func() time.Time { return now }, NewID: func() string { return "id" }, AnyJob: &script, JSONJobs: true,
		})
		client := &http.Client{Transport: w.Transport()}
		if o := post(b.Context(), client, "http://stand-in"); o.code != http.StatusOK {
			b.Fatalf("%+v", o)
		}
		for range 10 {
			now = now.Add(10 * time.Second)
			for _, path := range []string{"/prowjob?prowjob=id", "/prowjobs.js"} {
				resp, err := client.Get("http://stand-in" + path)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}
	}
}
