// Package gate is what prowgate decides, without any I/O: the messages and their rules, the record of
// a gate, the decision on every event, the classification of a failure, the guard before an abort, and
// the one place that writes an EV2 marker.
//
// Entry point: Decide, a pure function of record, event and time, which returns the next record and
// the commands that carry it out. Results of commands come back as events.
package gate
