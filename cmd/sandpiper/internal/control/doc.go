// Package control is how the processes of one data folder work together: the
// first one holds the database and serves a unix socket for its life, every
// command goes through that socket, the first one's own included.
//
// It carries JSON calls, streams of JSON lines and uploads over HTTP. A fault
// of the server arrives as the same fault at the client; a server that ends
// in the middle of a call gives ErrLost, upon which the client may become the
// first process itself.
package control
