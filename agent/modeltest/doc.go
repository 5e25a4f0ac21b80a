// Package modeltest is a scripted OpenAI-compatible server for tests: chat
// completions and the Responses API, streamed and plain, over real HTTP, with
// the quirks and faults of servers in the field to inject.
//
// A Script says what is answered: the turn of a conversation is the number of
// assistant messages it already holds, so the server needs no memory of its
// client, and a client that was killed and started again meets the same
// answers. Every request is recorded; Asked and Repeated tell whether a
// finished turn was asked again.
//
// The server is not tied to a test: New gives a handler, Start listens on a
// loopback port for as long as a test runs, and a Script can be read from
// JSON, so that a binary under test is pointed at it by OPENAI_BASE_URL.
package modeltest
