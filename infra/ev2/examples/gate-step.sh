#!/bin/bash
# The gating step on prowgate. It is ARO-HCP's execute-prow-job.sh but for the call near its end.
set -o errexit
set -o nounset
set -o pipefail
set -o xtrace

function waitBeforeExit() {
  local exit_code=$?
  echo "Waiting before exiting to ensure that logs are captured by Azure Container Instance."
  sleep "${LOG_GRACE_SECONDS:-10}"
  exit "$exit_code"
}

trap waitBeforeExit EXIT

if [ -z "${PROW_JOB_NAME:-}" ]; then
  echo "PROW_JOB_NAME is not set. Exiting."
  exit 0
fi

# When running via EV2, verify the current commit matches the ARO-HCP SHA encoded in the rollout version
# (e.g. build.156499306.sdp-pipelines.e5ca8e1b5.ARO-HCP.51f51a32c97c)
if [ -n "${zz_injected_EV2RolloutVersion:-}" ]; then
  rollout_sha="${zz_injected_EV2RolloutVersion##*.}"
  current_sha="$(git rev-parse --short=12 HEAD)"
  if [ "$rollout_sha" != "$current_sha" ]; then
    echo "ERROR: ARO-HCP commit mismatch. EV2 rollout version contains '$rollout_sha' but current HEAD is '$current_sha'."
    exit 1
  fi
fi

# bash would keep a signal until the command has ended, so the command runs beside it and gets the signal at once.
# Always as TERM: bash starts what runs beside it deaf to INT, which it hears only once it asks for it. The command may
# have got the signal too, when that went to the whole group, and takes the two for one.
trap 'if [ -n "${!:-}" ]; then kill -TERM "$!" || true; else exit 143; fi' TERM INT

# An empty value counts as not given. QUEUE_URL says where the queues are.
"${GATE}" run \
  --job-name "$PROW_JOB_NAME" \
  --cloud "$CLOUD" \
  --environment "$ENVIRONMENT" \
  --region "$REGION" \
  --ev2-rollout-version "${zz_injected_EV2RolloutVersion:-}" \
  --base-sha "${BASE_SHA:-}" \
  --dry-run="${DRY_RUN:-false}" \
  --gate-promotion="${GATE_PROMOTION:-false}" \
  --allow-ev2-retry="${ALLOW_EV2_RETRY:-false}" &
gate=$!

code=0
wait "$gate" || code=$?
while kill -0 "$gate" 2>/dev/null; do # a signal has ended the wait, and not yet the command
  code=0
  wait "$gate" || code=$?
done
exit "$code"
