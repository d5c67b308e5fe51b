#!/bin/bash
# Sends a gating message without the command `gate` and prints the gate id. It does not wait: exit code 0 says
# that the message was sent, and nothing of the gate. For the verdict see README.md, "Without the command".
set -o errexit -o nounset -o pipefail
shopt -s inherit_errexit
source "$(dirname "${BASH_SOURCE[0]}")/queue.sh"

gate_id="${GATE_ID:-gate-$(cat /proc/sys/kernel/random/uuid)}"

# flag NAME VALUE prints a JSON truth value.
flag() {
  if [ "$2" != true ] && [ "$2" != false ]; then
    echo "$1 must be true or false" >&2
    return 2
  fi
  printf '%s' "$2"
}

message() {
  local id job cloud environment region sha promotion retry dry # assigned one by one: a text that is refused ends the script
  id="$(text "$gate_id")"
  job="$(text "$PROW_JOB_NAME")"
  cloud="$(text "$CLOUD")"
  environment="$(text "$ENVIRONMENT")"
  region="$(text "$REGION")"
  sha="$(text "${BASE_SHA:-}")"
  promotion="$(flag GATE_PROMOTION "${GATE_PROMOTION:-false}")"
  retry="$(flag ALLOW_EV2_RETRY "${ALLOW_EV2_RETRY:-false}")"
  dry="$(flag DRY_RUN "${DRY_RUN:-false}")"
  cat <<EOF
{
  "gateId": $id, "jobName": $job, "cloud": $cloud, "environment": $environment, "region": $region, "baseSha": $sha,
  "gatePromotion": $promotion, "allowEv2Retry": $retry, "dryRun": $dry
}
EOF
}

body="$(message)"
post "${SUBMIT_QUEUE:-gate-submit}" "submit-$gate_id" "$body"
echo "$gate_id"
