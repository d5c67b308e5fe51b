# shellcheck shell=bash
# What submit.sh and cancel.sh have in common. QUEUE_URL is sb://<namespace>.servicebus.windows.net, which is
# spoken to with this machine's managed identity (AZURE_CLIENT_ID chooses one of several), or http://host:port,
# the local host, which asks for no token.

# Where virtual machines and container instances get the tokens of their identity.
TOKEN_URL="${TOKEN_URL:-http://169.254.169.254/metadata/identity/oauth2/token}"

# token prints a token for Service Bus.
token() {
  local answer
  answer="$(curl --silent --show-error --fail --max-time 30 --retry 4 --header Metadata:true --get \
    --data api-version=2018-02-01 --data-urlencode resource=https://servicebus.azure.net/ \
    ${AZURE_CLIENT_ID:+--data-urlencode "client_id=$AZURE_CLIENT_ID"} "$TOKEN_URL")" || return 1
  sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p' <<<"$answer"
}

# need NAME ends the script when a variable is not set or empty.
need() {
  if [ -z "${!1:-}" ]; then
    echo "$1 is not set" >&2
    exit 2
  fi
}

# post QUEUE MESSAGE_ID BODY sends a message. It repeats that with the same message id, which the queues drop when
# they have seen it.
post() {
  local base="${QUEUE_URL%/}" authorization config=""
  if [[ "$base" == sb://* ]]; then
    base="https://${base#sb://}"
    authorization="$(token)" || true
    if [ -z "$authorization" ]; then
      echo "failed to get token" >&2 # EV2 retries for this text by default
      return 3
    fi
    config="header = \"Authorization: Bearer $authorization\""
  fi
  # The token goes over stdin, so that it is not seen in the list of processes.
  curl --silent --show-error --fail --max-time 60 --retry 4 --retry-connrefused "$base/$1/messages" \
    --header 'Content-Type: application/json' --header "BrokerProperties: {\"MessageId\": \"$2\"}" \
    --data-raw "$3" --output /dev/null --config - <<<"$config" || return 3
}

# text VALUE prints a JSON string. Names of jobs, regions and commits need no escapes; other values are refused.
text() {
  if [[ "$1" == *[\"\\]* || "$1" == *[[:cntrl:]]* ]]; then
    echo "not usable in a message: $1" >&2
    return 2
  fi
  printf '"%s"' "$1"
}
