package upstream

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Work in the background lists with a deadline of its own, and is over when that context is.
func TestStoreSettlesWithTheWork(t *testing.T) {
	s := newStore()
	work, done := context.WithTimeout(t.Context(), time.Hour)
	if _, err := s.List(work, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	if err := s.Settle(given); err == nil {
		t.Error("settled while the work went on")
	}
	if _, err := s.List(work, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	done()
	if err := s.Settle(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStoreHoldsWorkUntilItSettles(t *testing.T) {
	s := newStore()
	s.HoldWork()
	work, done := context.WithTimeout(t.Context(), time.Hour)
	listed := make(chan int)
	go func() {
		list, err := s.List(work, metav1.ListOptions{})
		if err != nil {
			t.Error(err)
		}
		done()
		listed <- len(list.Items)
	}()
	begun := <-s.work.begun // it has begun, and is to see what comes after that
	s.work.begun <- begun
	stored(t, s, "a", nil)
	if err := s.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	if n := <-listed; n != 1 {
		t.Errorf("the work saw %d jobs", n)
	}
}

func TestStoreHoldsNoClient(t *testing.T) {
	s := newStore()
	s.HoldWork()
	if _, err := s.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}
