// Package console is the command line's adapter: one request, its answer and
// its files.
//
// The answer's text reaches the person through whoever watches the task; what
// this adapter delivers are the files, into the folder that the request named.
// It promises that a file appears whole or not at all, once, never through a
// link, and never over something that a person put there: what stands in the
// folder is replaced only when it is still, byte for byte, what an earlier
// task wrote there. Otherwise the new file gets a free name beside it
// (report-2.md), and the receipt says so.
package console
