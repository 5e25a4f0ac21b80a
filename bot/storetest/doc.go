// Package storetest states what a Store and Blobs promise, as a test suite
// every implementation runs.
package storetest
