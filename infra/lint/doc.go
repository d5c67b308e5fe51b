// Package lint holds the rules of this repository that no general linter knows, as tests over its files and
// over what its packages import: the layering, where an EV2 marker may be written, who may read a clock, what
// a file may mention, and that the Makefile explains itself. A rule is a small function from source to
// findings, so that each is also tested on source that breaks it.
//
// Entry point: the tests; `make lint` and `make test` run them.
package lint
