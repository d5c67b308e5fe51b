// Package upstream runs Prow's own Gangway (sigs.k8s.io/prow/pkg/gangway) in process: the server, over an
// in-memory store of ProwJobs in place of the API server, behind a REST front in place of the transcoding
// proxy. What is Prow's and what is a replacement decides what a test over it can prove: the server is, the
// store follows Kubernetes' own validation, the front follows the server's HTTP annotations.
//
// Nothing here names a version of Prow. What the one in go.mod lacks is read from its descriptor; see
// Server.Lacks.
//
// Entry point: New.
package upstream

import (
	"fmt"
	"net/http"

	"google.golang.org/protobuf/reflect/protoreflect"
	prowcrd "sigs.k8s.io/prow/pkg/apis/prowjobs/v1"
	"sigs.k8s.io/prow/pkg/gangway"
)

// Server is one Gangway with its jobs. Its methods may be called at once from many goroutines.
type Server struct {
	*Store
	front http.Handler
	lacks map[Ability]bool
}

// Ability is something that servers of this kind do since some version.
type Ability string

// The abilities that a suite may ask for.
const (
	TellsDetails    Ability = "answer a get with name, type, times and URL"
	NamesScheduling Ability = "name the state scheduling"
)

// New returns a server that knows the jobs of c.
func New(c Catalog) (*Server, error) {
	cfg, err := c.config()
	if err != nil {
		return nil, err
	}
	s := &Server{Store: newStore()}
	gw := &gangway.Gangway{ConfigAgent: agent(cfg), ProwJobClient: s.Store}
	if s.front, err = newFront(gw); err != nil {
		return nil, err
	}
	file := gangway.File_gangway_proto
	s.lacks = map[Ability]bool{
		TellsDetails:    file.Messages().ByName("JobExecution").Fields().ByName("job_url") == nil,
		NamesScheduling: file.Enums().ByName("JobExecutionStatus").Values().ByName("SCHEDULING") == nil,
	}
	return s, nil
}

func method(file protoreflect.FileDescriptor, name protoreflect.Name) protoreflect.MethodDescriptor {
	return file.Services().ByName("Prow").Methods().ByName(name)
}

// ServeHTTP serves the REST form of Gangway.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.front.ServeHTTP(w, r) }

// Lacks reports whether this version of Prow is too old for the ability.
func (s *Server) Lacks(a Ability) bool { return s.lacks[a] }

// Edit changes a stored job, past Gangway, as plank does.
func (s *Store) Edit(id string, change func(*prowcrd.ProwJob)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	job, ok := s.jobs[id]
	if !ok {
		return fmt.Errorf("no job %q", id)
	}
	change(job)
	s.stamp(job)
	return nil
}
