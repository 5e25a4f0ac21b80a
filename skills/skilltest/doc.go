// Package skilltest knows whether a skill works. Each skill carries
// evals/*.yaml: inputs, a request, and what must hold of the answer, the files
// and the figures in them. A runnable skill's evals run without a model in a
// real sandbox session; the others are asked of a configured model through an
// Asker.
//
// What is expected is checked inside the session by check.py, which reads the
// files as their users' programs would; nothing that a skill wrote is parsed on
// the host. gallery.py draws the charts that are hard to draw.
package skilltest
