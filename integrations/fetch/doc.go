// Package fetch brings files from https links whose hosts the operator listed
// in fetch.allow_hosts: for schedules, and for links in requests of any
// platform.
//
// It is a bot.Channel of which only Fetch does anything: nothing is asked for
// or answered through it. It promises that no link reaches a host that is not
// listed or an address inside the operator's network, whatever redirects and
// names say (see package netguard), and that each link is read at most to a
// limit.
package fetch
