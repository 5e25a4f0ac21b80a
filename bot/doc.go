// Package bot is the core: it turns Events into Tasks, runs one Task of a
// conversation at a time, and owes Deliveries until their Receipts are
// recorded.
//
// It promises that what was accepted is never lost and never done twice:
// Submit returns only after event, deduplication key and task are committed
// together, every outcome is committed together with its deliveries, and a
// send whose answer was lost is looked up before it is repeated.
//
// The package knows no platform, no model and no container. It talks to them
// through the ports in ports.go, and imports none of the rooms that implement
// those ports. Nothing in it may assume to be the only process: time comes
// from the Clock, identity from the Store.
package bot
