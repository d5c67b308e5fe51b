// Package azure holds what puts prowgate on Azure: main.json, an Azure Resource Manager template that EV2 and
// `az` take as it is, with example parameters for three environments, and deploy.sh. The package has no code
// but tests. They work out the template's expressions, put every resource into the SDK's own types and take
// it out again, so that a misspelt property or a wrong type shows, and compare queues, settings and
// permissions with what the code needs. What Azure itself makes of the template only `deploy.sh what-if` shows.
//
// Entry point: README.md, for people; the tests, for the template.
package azure
