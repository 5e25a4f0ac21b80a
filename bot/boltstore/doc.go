// Package boltstore keeps the core's state in one bbolt file and content as
// files named by their SHA-256, all in the data folder.
//
// It promises what bot/storetest states: a commit is durable when it returns,
// or did not happen. Commits that arrive together share one fsync.
//
// Mind: one process at a time holds the file (a second one gets ErrInUse); no
// slice of the file's memory leaves a transaction; a damaged file is an error
// that names the way out, never a panic.
package boltstore
