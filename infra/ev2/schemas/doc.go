// Package schemas holds JSON Schemas of the messages: gating.json, cancel.json, tick.json and notice.json,
// for whoever builds or reads messages without prowgate's code. The package has no code but tests, which hold
// the schemas against package gate: the same fields and types, the same defaults and enumerations, and the
// same verdict on messages good and bad.
//
// Entry point: the *.json files.
package schemas
