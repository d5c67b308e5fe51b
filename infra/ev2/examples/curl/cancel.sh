#!/bin/bash
# Cancels the gate GATE_ID without the command `gate`: for a rollout's cancel event, which runs outside the step.
# It may be sent before the gating message, after the verdict, and more than once: each call has a message id of its
# own, because the queue drops an id that it has seen, and asking again for an abort that was given up must be heard.
set -o errexit -o nounset -o pipefail
source "$(dirname "${BASH_SOURCE[0]}")/queue.sh"

need GATE_ID
id="$(text "$GATE_ID")"
reason="$(text "${REASON:-cancel event}")"
message_id="cancel-$(cat /proc/sys/kernel/random/uuid)"
post "${CANCEL_QUEUE:-gate-cancel}" "$message_id" "{\"gateId\": $id, \"reason\": $reason}"
