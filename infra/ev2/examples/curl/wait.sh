#!/bin/bash
# Waits for the verdict of the gate GATE_ID without the command `gate`, at a host that hands out sessions over
# HTTP: the local host does, Service Bus does not. Prints the completion message; exit code 0 when the gate passed.
set -o errexit -o nounset -o pipefail

if [ -z "${GATE_ID:-}" ]; then
  echo "GATE_ID is not set" >&2
  exit 2
fi
queue="${QUEUE_URL%/}/${COMPLETION_QUEUE:-gate-completion}"
if [[ "$queue" != http*://* ]]; then
  echo "Service Bus hands out sessions over AMQP only: see README.md, \"Without the command\"" >&2
  exit 2
fi
while true; do
  # Nothing in 30 s is 204 and an empty text. A host that restarts is asked again for some time.
  message="$(curl --silent --show-error --fail --max-time 60 --retry 8 --retry-all-errors --request DELETE \
    "$queue/messages/head?timeout=30&sessionId=$GATE_ID")" || exit 3
  case "$message" in
    *'"kind":"completion"'*) break ;;
    ?*) echo "$message" >&2 ;;
  esac
done
echo "$message"
[[ "$message" == *'"passed":true'* ]]
