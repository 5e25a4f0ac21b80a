// Command sandboxbench compares sessions with `docker run --rm` of the same
// image with the same flags, on this machine, in one run: three programs, cold
// and out of the pool, under runc and gVisor, and the rate that is sustained.
// It prints one table in Markdown. Goals are shown as met or missed; a missed
// one is no failure.
package main
