// Package sandbox runs programs in hardened containers that serve one task and
// are then destroyed.
//
// A Session is one attached stream to a guest (package guest) inside a
// container without network, capabilities, root or any mount of the host.
// Programs and files go in as frames, output and files come out as frames;
// there is no bind mount, no `docker cp` and no exec, so a session works the
// same with a remote engine, inside a container and under gVisor.
//
// All that comes out of a container is hostile: frames are bounded before they
// are read, the host keeps its own clock, and evidence from the engine
// outranks what the guest says.
package sandbox
