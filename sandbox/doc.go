// Package sandbox runs programs in hardened containers that serve one task and
// are then destroyed.
//
// A Session is one attached stream to a guest (package guest) inside a
// container without network, capabilities, root or any mount of the host.
// Programs and files go in as frames, output and files come out as frames;
// there is no bind mount, no `docker cp` and no exec, so a session works the
// same with a remote engine, inside a container and under gVisor.
//
// It promises that:
//
//   - a session was used by nobody before, and its limits were read back from
//     the engine and from inside before the first program (Info.Proof);
//   - every program ends with one Verdict, from evidence: the guest's counters,
//     and above them the engine's events and inspect. A program that passed a
//     limit leaves the session usable, and Python's memory as it was before;
//   - all that comes out of a container is hostile: frames are bounded before
//     they are read, the host keeps its own clock and counts, and no path that
//     the guest names is opened;
//   - nothing outlives its bot: a container ends when its stream closes or its
//     deadline passes, and the reaper removes this owner's, and only those.
//
// What to mind: files do not roll back with the memory, nor do the offsets of
// files that stay open; threads that outlive their program cost its memory. A
// program may ruin its own session, and only that. Under gVisor a memory kill
// takes the session along. Close sessions: each holds its memory until then.
package sandbox
