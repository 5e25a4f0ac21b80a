// Package modeltest is a scripted OpenAI-compatible server for tests, with
// faults to inject.
package modeltest
