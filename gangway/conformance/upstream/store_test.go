package upstream

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	prowcrd "sigs.k8s.io/prow/pkg/apis/prowjobs/v1"
)

func stored(t *testing.T, s *Store, name string, labels map[string]string) *prowcrd.ProwJob {
	t.Helper()
	job := &prowcrd.ProwJob{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	job.Status.StartTime = metav1.NewTime(time.Unix(7, 900e6))
	created, err := s.Create(t.Context(), job, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func TestStoreWantsTheNewestVersion(t *testing.T) {
	s := newStore()
	job := stored(t, s, "a", nil)
	if job.Status.StartTime.UnixNano() != 7e9 {
		t.Errorf("start %v", job.Status.StartTime)
	}
	s.ConflictNextUpdate()
	if _, err := s.Update(t.Context(), job, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("somebody was faster: %v", err)
	}
	fresh, err := s.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), fresh, metav1.UpdateOptions{}); err != nil {
		t.Errorf("the newest version: %v", err)
	}
	if _, err := s.Update(t.Context(), fresh, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("the same version again: %v", err)
	}
	fresh.Name = "b"
	if _, err := s.Update(t.Context(), fresh, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("another job: %v", err)
	}
}

func TestStoreChecksWhatIsCreated(t *testing.T) {
	s := newStore()
	stored(t, s, "a", nil)
	again := &prowcrd.ProwJob{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if _, err := s.Create(t.Context(), again, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a name twice: %v", err)
	}
	bad := &prowcrd.ProwJob{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: map[string]string{"a b": "c"}}}
	if _, err := s.Create(t.Context(), bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a bad label key: %v", err)
	}
}

func TestStoreListsByLabels(t *testing.T) {
	s := newStore()
	stored(t, s, "b", map[string]string{"x": "1", "y": "1"})
	stored(t, s, "a", map[string]string{"x": "1", "y": "2"})
	for selector, want := range map[string]string{"": "ab", "x=1": "ab", "x=1,y=2": "a", "z=1": ""} {
		list, err := s.List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, j := range list.Items {
			got += j.Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", selector, got, want)
		}
	}
	s.FailNextList()
	if list, err := s.List(t.Context(), metav1.ListOptions{}); err == nil || list == nil || len(list.Items) > 0 {
		t.Errorf("a failed list: %v, %v", list, err)
	}
}
