package gate

import (
	"maps"

	"prowgate/gangway/prow"
)

// Submission returns the job that a valid gating message asks for. With exclusive, the labels that
// Gangway selects by are the gate's own, so that a bulk change can hit this job only.
func (g Gating) Submission(exclusive bool) prow.Submission {
	s := prow.Submission{
		JobName:     g.JobName,
		Type:        prow.Periodic,
		Labels:      g.labels(exclusive),
		Annotations: g.annotations(),
		Envs:        g.envs(),
	}
	if g.BaseSHA != "" {
		s.Type = prow.Postsubmit
		s.Refs = &prow.Refs{Org: g.Org, Repo: g.Repo, BaseRef: g.BaseRef, BaseSHA: g.BaseSHA}
	}
	return s
}

func (g Gating) labels(exclusive bool) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, g.Labels)
	labels[KeyGateID] = g.GateID
	if exclusive {
		labels[prow.LabelJob] = g.GateID
		labels[prow.LabelOrg] = g.GateID
		labels[prow.LabelRepo] = g.GateID
	}
	return labels
}

// annotations lets the message's own annotations win over those made of its other fields, but for the
// gate id, by which the job is found again.
func (g Gating) annotations() map[string]string {
	annotations, _ := rolloutAnnotations(g.EV2RolloutVersion) // checked by ParseGating
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationPrefix+"cloud"] = g.Cloud
	annotations[annotationPrefix+"environment"] = g.Environment
	annotations[annotationPrefix+"region"] = g.Region
	maps.Copy(annotations, g.Annotations)
	annotations[KeyGateID] = g.GateID
	return annotations
}

func (g Gating) envs() map[string]string {
	envs := map[string]string{}
	maps.Copy(envs, g.Envs)
	envs[envLocation] = g.Region
	if g.AllowedSubscriptions != "" {
		envs[envSubscriptions] = g.AllowedSubscriptions
	}
	return envs
}
