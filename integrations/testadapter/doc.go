// Package testadapter drives a whole Sandpiper over plain HTTP: it takes events
// from a platform that exists only for tests and brings answers to it.
//
// It has what a real adapter has — acknowledgement after Submit, redelivery,
// classed failures, a look-up of lost sends — and nothing of a real platform's
// habits. testplatform is the other side: it loses requests and responses and
// counts what arrived. KillAt ends the process at a named point of the core, so
// that together they show what a crash leaves.
package testadapter
