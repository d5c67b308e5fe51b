#!/bin/bash
# Cancels the gate GATE_ID without the command `gate`: for a rollout's cancel event, which runs outside the step.
# It may be sent before the gating message, after the verdict, and more than once.
set -o errexit -o nounset -o pipefail
source "$(dirname "${BASH_SOURCE[0]}")/queue.sh"

id="$(text "$GATE_ID")"
reason="$(text "${REASON:-the rollout was cancelled}")"
post "${CANCEL_QUEUE:-gate-cancel}" "cancel-$GATE_ID" "{\"gateId\": $id, \"reason\": $reason}"
