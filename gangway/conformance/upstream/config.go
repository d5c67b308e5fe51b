package upstream

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	prowcrd "sigs.k8s.io/prow/pkg/apis/prowjobs/v1"
	"sigs.k8s.io/prow/pkg/config"
)

// Catalog is the part of a Prow configuration that Gangway looks jobs up in.
type Catalog struct {
	Jobs       []Job
	Scheduling bool // new jobs start in state scheduling
}

// Job is a configured job.
type Job struct {
	Name     string
	OrgRepo  string   // "org/repo" of a postsubmit; "": a periodic
	Branches []string // of a postsubmit, as regular expressions; empty: all
	Cluster  string
	ExtraRef *prowcrd.Refs
}

// The client that the proxy in front says it has authenticated, and the tenant whose jobs it may touch.
const (
	consumerType   = "PROJECT"
	consumerNumber = "123456"
	tenant         = "tenant"
)

func (c Catalog) config() (*config.Config, error) {
	cfg := &config.Config{}
	cfg.Scheduler.Enabled = c.Scheduling
	cfg.Gangway.AllowedApiClients = []config.AllowedApiClient{{
		GCP: &config.ApiClientGcp{
			EndpointApiConsumerType: consumerType, EndpointApiConsumerNumber: consumerNumber,
		},
		AllowedJobsFilters: []config.AllowedJobsFilter{{TenantID: tenant}},
	}}
	postsubmits := map[string][]config.Postsubmit{}
	for _, j := range c.Jobs {
		if j.OrgRepo == "" {
			cfg.Periodics = append(cfg.Periodics, config.Periodic{JobBase: j.base()})
			continue
		}
		postsubmits[j.OrgRepo] = append(postsubmits[j.OrgRepo], config.Postsubmit{
			JobBase: j.base(), Brancher: config.Brancher{Branches: j.Branches},
			Reporter: config.Reporter{Context: j.Name}, // the default that loading sets (prow, pkg/config/config.go)
		})
	}
	if err := cfg.SetPostsubmits(postsubmits); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return cfg, nil
}

func (j Job) base() config.JobBase {
	b := config.JobBase{
		Name: j.Name, Agent: string(prowcrd.KubernetesAgent), Cluster: j.Cluster,
		ProwJobDefault: &prowcrd.ProwJobDefault{TenantID: tenant},
		Spec:           &corev1.PodSpec{Containers: []corev1.Container{{Name: "test", Image: "image"}}},
	}
	if j.ExtraRef != nil {
		b.ExtraRefs = []prowcrd.Refs{*j.ExtraRef}
	}
	return b
}

func agent(cfg *config.Config) *config.Agent {
	a := &config.Agent{}
	a.Set(cfg)
	return a
}
