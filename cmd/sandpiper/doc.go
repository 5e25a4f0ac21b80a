// Command sandpiper is the bot; README.md says what it does, and
// `sandpiper --help` how to ask it.
//
// main.go handles signals and the exit status, cli_*.go read one group of
// commands each, api_*.go answer them, app.go starts everything in one straight
// line. The first process of a data folder holds the database and serves a
// control socket for its life; every command is a client of that socket, the
// first one's own included (node.go). A client whose server dies takes its
// place, recovers what was under way and still gets its answer, so a command
// must be safe to repeat until it has printed something.
package main
