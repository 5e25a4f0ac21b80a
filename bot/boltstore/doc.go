// Package boltstore keeps the core's state in one bbolt file and blobs as
// files named by their SHA-256.
package boltstore
