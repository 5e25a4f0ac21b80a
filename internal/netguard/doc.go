// Package netguard makes HTTP clients that may be handed URLs written by
// strangers.
//
// It promises that such a client reaches only hosts that were allowed by
// name, only over TLS, and never an address inside the operator's network:
// each address is checked when it is dialled, after the name was resolved, so
// that neither a redirect nor a name that points inwards (nor one that points
// elsewhere the second time it is asked) gets through.
//
// Mind that behind a proxy the proxy resolves and dials: there the name is
// all that can be checked, so only hosts that the operator listed himself
// (Options.Listed) are reached through it.
package netguard
