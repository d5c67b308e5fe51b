#!/bin/bash
# Sends a gating message without the command `gate` and prints the gate id. It does not wait: exit code 0 says
# that the message was sent, and nothing of the gate. For the verdict see README.md, "Without the command".
set -o errexit -o nounset -o pipefail
shopt -s inherit_errexit
source "$(dirname "${BASH_SOURCE[0]}")/queue.sh"

gate_id="${GATE_ID:-gate-$(cat /proc/sys/kernel/random/uuid)}"

message() {
  local id job cloud environment region sha # assigned one by one: a text that is refused ends the script
  id="$(text "$gate_id")"
  job="$(text "$PROW_JOB_NAME")"
  cloud="$(text "$CLOUD")"
  environment="$(text "$ENVIRONMENT")"
  region="$(text "$REGION")"
  sha="$(text "${BASE_SHA:-}")"
  cat <<EOF
{
  "gateId": $id, "jobName": $job, "cloud": $cloud, "environment": $environment, "region": $region, "baseSha": $sha,
  "gatePromotion": ${GATE_PROMOTION:-false}, "allowEv2Retry": ${ALLOW_EV2_RETRY:-false}, "dryRun": ${DRY_RUN:-false}
}
EOF
}

body="$(message)"
post "${SUBMIT_QUEUE:-gate-submit}" "submit-$gate_id" "$body"
echo "$gate_id"
