#!/bin/bash
# Shows what the template would change, deploys it, and puts the package onto the function app. `usage` below
# says how. Who runs it has to be logged in (az login), and to deploy needs the roles Contributor and Role
# Based Access Control Administrator in the resource group. Nothing it prints is a secret.
set -o errexit -o nounset -o pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() {
  cat >&2 <<TEXT
usage: deploy.sh what-if ENVIRONMENT RESOURCE_GROUP   show what would change
       deploy.sh deploy  ENVIRONMENT RESOURCE_GROUP   put the template into effect
       deploy.sh push    ENVIRONMENT RESOURCE_GROUP   build the package and put it onto the function app
ENVIRONMENT names a file in $here/parameters.
TEXT
  exit 2
}

fail() {
  echo "deploy.sh: $*" >&2
  exit 1
}

need() {
  command -v "$1" >/dev/null || fail "$1 is not installed: $2"
}

[ $# -eq 3 ] || usage
action=$1 environment=$2 group=$3
parameters="$here/parameters/$environment.json"
case "$action" in what-if | deploy | push) ;; *) usage ;; esac

[ -r "$parameters" ] || fail "there is no $parameters"
need az "see https://learn.microsoft.com/cli/azure/install-azure-cli"
if [ "$action" != push ] && grep -q '00000000-0000-0000-0000-000000000000' "$parameters"; then
  fail "$parameters is an example: set pipelinePrincipalId to the object id of the pipeline's identity"
fi

# archive FOLDER FILE packs a folder so that the same files make the same bytes: in one order, without times and owners.
archive() {
  find "$1" -exec touch -d 2000-01-01T00:00:00Z {} +
  (cd "$1" && find . -type f | LC_ALL=C sort | TZ=UTC zip -q -X -@ "$2")
}

name="prowgate-$environment"

output() {
  az deployment group show --resource-group "$group" --name "$name" \
    --query "properties.outputs.$1.value" --output tsv
}

case "$action" in
what-if)
  az deployment group what-if --resource-group "$group" --name "$name" \
    --template-file "$here/main.json" --parameters "@$parameters"
  ;;
deploy)
  az deployment group create --resource-group "$group" --name "$name" \
    --template-file "$here/main.json" --parameters "@$parameters" --query properties.outputs
  ;;
push)
  need zip "the package goes up as an archive that keeps the handler executable"
  app=$(output functionApp)
  [ -n "$app" ] || fail "deployment $name in $group names no function app: deploy first"
  scratch=$(mktemp -d)
  trap 'rm -r "$scratch"' EXIT
  make -C "$root" package-azure GOOS=linux GOARCH=amd64
  archive "$root/dist/azure" "$scratch/package.zip"
  az functionapp deployment source config-zip --resource-group "$group" --name "$app" --src "$scratch/package.zip"
  ;;
esac
