package upstream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	prowcrd "sigs.k8s.io/prow/pkg/apis/prowjobs/v1"
	"sigs.k8s.io/prow/pkg/gangway"
)

var _ gangway.ProwJobClient = (*Store)(nil)

// Store holds ProwJobs as the API server does: names are unique, an update needs the newest resource version,
// times are kept in whole seconds, labels and annotations are checked.
type Store struct {
	mu        sync.Mutex
	jobs      map[string]*prowcrd.ProwJob
	version   int
	failLists int
	conflicts int
	work      work
}

func newStore() *Store {
	return &Store{jobs: map[string]*prowcrd.ProwJob{}, work: newWork()}
}

func kind() (schema.GroupResource, schema.GroupKind) {
	return schema.GroupResource{Group: "prow.k8s.io", Resource: "prowjobs"}, schema.GroupKind{Group: "prow.k8s.io", Kind: "ProwJob"}
}

// FailNextList makes the next list fail inside the server.
func (s *Store) FailNextList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLists++
}

// ConflictNextUpdate lets somebody else be faster than the next update.
func (s *Store) ConflictNextUpdate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conflicts++
}

// ProwJobs returns copies of all jobs, ordered by name.
func (s *Store) ProwJobs() []prowcrd.ProwJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.selected(labels.Everything())
}

func (s *Store) selected(selector labels.Selector) []prowcrd.ProwJob {
	var found []prowcrd.ProwJob
	for _, j := range s.jobs {
		if selector.Matches(labels.Set(j.Labels)) {
			found = append(found, *j.DeepCopy())
		}
	}
	slices.SortFunc(found, func(a, b prowcrd.ProwJob) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// Create stores a new job.
func (s *Store) Create(_ context.Context, job *prowcrd.ProwJob, _ metav1.CreateOptions) (*prowcrd.ProwJob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource, kind := kind()
	meta := field.NewPath("metadata")
	problems := unversioned.ValidateLabels(job.Labels, meta.Child("labels"))
	problems = append(problems, validation.ValidateAnnotations(job.Annotations, meta.Child("annotations"))...)
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(kind, job.Name, problems)
	}
	if _, ok := s.jobs[job.Name]; ok {
		return nil, apierrors.NewAlreadyExists(resource, job.Name)
	}
	stored := job.DeepCopy()
	s.jobs[job.Name] = stored
	s.stamp(stored)
	return stored.DeepCopy(), nil
}

// stamp gives a job a new version, and times as they come out of the API server.
func (s *Store) stamp(job *prowcrd.ProwJob) {
	s.version++
	job.ResourceVersion = strconv.Itoa(s.version)
	job.Status.StartTime = wholeSecond(job.Status.StartTime)
	if t := job.Status.CompletionTime; t != nil {
		*t = wholeSecond(*t)
	}
}

func wholeSecond(t metav1.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// Get returns the job of this name.
func (s *Store) Get(_ context.Context, name string, _ metav1.GetOptions) (*prowcrd.ProwJob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job, ok := s.jobs[name]
	if !ok {
		resource, _ := kind()
		return nil, apierrors.NewNotFound(resource, name)
	}
	return job.DeepCopy(), nil
}

// List returns the jobs that have the labels. With an error it returns an empty list and not nil, as the
// generated client does; Gangway relies on that.
func (s *Store) List(ctx context.Context, o metav1.ListOptions) (*prowcrd.ProwJobList, error) {
	s.begin(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failLists > 0 {
		s.failLists--
		return &prowcrd.ProwJobList{}, apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	}
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return &prowcrd.ProwJobList{}, apierrors.NewBadRequest(err.Error())
	}
	return &prowcrd.ProwJobList{Items: s.selected(selector)}, nil
}

// Update replaces a job whose version is still the one it was read with.
func (s *Store) Update(_ context.Context, job *prowcrd.ProwJob, _ metav1.UpdateOptions) (*prowcrd.ProwJob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource, _ := kind()
	stored, ok := s.jobs[job.Name]
	if !ok {
		return nil, apierrors.NewNotFound(resource, job.Name)
	}
	if s.conflicts > 0 {
		s.conflicts--
		s.stamp(stored)
	}
	if stored.ResourceVersion != job.ResourceVersion {
		return nil, apierrors.NewConflict(resource, job.Name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	stored = job.DeepCopy()
	s.jobs[job.Name] = stored
	s.stamp(stored)
	return stored.DeepCopy(), nil
}
