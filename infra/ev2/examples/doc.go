// Package examples holds the pipeline's side as files to take over: pipeline.yaml and gate-step.sh, a gating
// step with the command `gate`, and curl/, the same without it. The package has no code but tests, which run
// the scripts, feed the flags that they use to the command, and hold the pipeline against what EV2 and the
// service ask for.
//
// Entry point: ../README.md, for people; pipeline.yaml, for a pipeline.
package examples
