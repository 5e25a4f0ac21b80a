// Package testadapter drives the binary over plain HTTP, for tests and for the crash suite.
package testadapter
