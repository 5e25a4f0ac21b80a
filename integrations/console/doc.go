// Package console is the command line's adapter: one request, its answer and its files.
package console
