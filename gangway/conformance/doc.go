// Package conformance runs one suite against two servers: gangwaytest, the stand-in that everything else in
// this repository is tested with, and Gangway's own code from Prow, in package upstream. Where the two answer
// differently the stand-in is wrong, unless README.md lists the difference.
//
// It is a Go module of its own, so that Prow's dependencies, most of Kubernetes among them, stay out of the
// programs. prowgate's client takes part as a program, ./client, because its messages and Prow's are
// generated from files of the same name, which one binary cannot hold.
//
// Entry point: TestConformance.
package conformance
