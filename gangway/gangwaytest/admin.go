package gangwaytest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"prowgate/gangway/prow"
)

// adminJob is a job as GET /admin/jobs shows it.
type adminJob struct {
	ID          string            `json:"id"`
	JobName     string            `json:"jobName"`
	Type        prow.JobType      `json:"type"`
	State       prow.State        `json:"state"`
	Description string            `json:"description,omitempty"`
	Cluster     string            `json:"cluster"`
	URL         string            `json:"url,omitempty"`
	Start       time.Time         `json:"start"`
	Completed   time.Time         `json:"completed,omitzero"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Envs        map[string]string `json:"envs,omitempty"`
	Foreign     bool              `json:"foreign,omitempty"`
	Changes     []Change          `json:"changes,omitempty"`
}

// admin serves what a person or a script does to the world from outside:
//
//	GET  /admin/jobs             all jobs, the oldest first: {"jobs":[...]}
//	POST /admin/jobs             create a job of somebody else: a Foreign
//	POST /admin/jobs/{id}        move a job on: {"state":"success","description":"..."}
//	PUT  /admin/scripts/{name}   set the script of a job name: a Script
func (w *World) admin(c *call) reply {
	path := strings.TrimPrefix(c.URL.Path, "/admin/")
	kind, arg, _ := strings.Cut(path, "/")
	switch {
	case c.Method == http.MethodGet && path == "jobs":
		return w.adminJobs(c)
	case c.Method == http.MethodPost && path == "jobs":
		return w.adminForeign(c)
	case c.Method == http.MethodPost && kind == "jobs":
		return w.adminMove(c, arg)
	case c.Method == http.MethodPut && kind == "scripts" && arg != "":
		return w.adminScript(c, arg)
	}
	return textReply(http.StatusNotFound, "no such admin request")
}

func (w *World) adminJobs(c *call) reply {
	jobs := []adminJob{}
	for _, j := range w.jobs {
		t := w.truth(j, c.now)
		jobs = append(jobs, adminJob{
			ID: t.ID, JobName: t.Name, Type: t.Type, State: t.State, Description: t.Description,
			Cluster: t.Cluster, URL: t.URL, Start: t.StartTime, Completed: t.CompletionTime, Labels: t.Labels,
			Annotations: t.Annotations, Envs: t.Envs, Foreign: t.Foreign, Changes: t.Changes,
		})
	}
	return jsonReply(http.StatusOK, marshal(map[string]any{"jobs": jobs}))
}

func (w *World) adminForeign(c *call) reply {
	var f Foreign
	if err := decodeStrict(c.body, &f); err != nil {
		return textReply(http.StatusBadRequest, err.Error())
	}
	if f.JobName == "" || f.Type == "" {
		return textReply(http.StatusBadRequest, "jobName and type are required")
	}
	c.changed = true
	return jsonReply(http.StatusCreated, marshal(map[string]string{"id": w.foreign(f, c.now)}))
}

func (w *World) adminMove(c *call, id string) reply {
	var m struct {
		State       prow.State `json:"state"`
		Description string     `json:"description"`
	}
	if err := decodeStrict(c.body, &m); err != nil {
		return textReply(http.StatusBadRequest, err.Error())
	}
	if m.State == "" {
		return textReply(http.StatusBadRequest, "state is required")
	}
	if !w.move(id, m.State, m.Description, c.now) {
		return textReply(http.StatusNotFound, "no such job")
	}
	c.changed = true
	return jsonReply(http.StatusOK, []byte("{}"))
}

func (w *World) adminScript(c *call, jobName string) reply {
	var s Script
	if err := decodeStrict(c.body, &s); err != nil {
		return textReply(http.StatusBadRequest, err.Error())
	}
	w.scripts[jobName] = s
	c.changed = true
	return jsonReply(http.StatusOK, []byte("{}"))
}

func decodeStrict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
