// Package depth says how full a queue is, for brokers, for what serves them and for what shows them.
//
// Entry point: Counts.
package depth

// Counts is the number of messages of one queue in each state. A message is in exactly one of them.
type Counts struct {
	Active       int `json:"active"`       // ready to be received now
	Scheduled    int `json:"scheduled"`    // not due yet
	Locked       int `json:"locked"`       // held by a receiver
	DeadLettered int `json:"deadLettered"` // in the queue's dead-letter queue
}
