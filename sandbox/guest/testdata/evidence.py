"""Prints what the guest reads from recorded control groups, and which end it
names on which evidence."""

import json
import os
import sys

from _guest import facts, running

found = {}
for version in ("v1", "v2", "unlimited", "none"):
    facts.CGROUP = os.path.join(sys.argv[1], version)
    found[version] = {
        "cpu": round(facts.cpu_seconds(), 3) if version in ("v1", "v2") else 0, "oom": facts.oom_kills(), "pids": facts.pid_refusals(),
        "memory_limit": facts.view()["memory"], "pids_limit": facts.view()["pids"],
    }


def end(reason="", status=0, errno=0, oom=0, pids=0, full=(), left=0, said=b""):
    program = running.Running.__new__(running.Running)
    stream = running.Output("stderr", 0, 0)
    stream.recent = said
    program.streams = {2: stream}
    return program._end(reason, status, {"errno": errno}, {"oom": oom, "pids": pids, "full": list(full)}, left)


found["ends"] = {
    "a clean end": end(),
    "a clean end beside a killed helper": end(oom=1),
    "killed for memory": end(status=-9, oom=1),
    "a child killed for memory": end(status=1, oom=1),
    "a script whose helper was killed while the disk was full": end(status=1, oom=1, full=["/workspace"]),
    "its own exception is a full disk, though something was killed": end(status=1, oom=1, errno=28, full=["/workspace"]),
    "a full disk": end(status=1, full=["/workspace"]),
    "a full disk that was emptied since": end(status=1, said=b"cat: No space left on device"),
    "past its time": end(reason="wall"),
    "past its time for lack of memory": end(reason="wall", oom=1),
    "a fork bomb": end(status=1, pids=40),
    "a fork bomb that ended well": end(pids=40, left=20),
    "cancelled, whatever else": end(reason="cancelled", oom=1, pids=1),
    "just failed": end(status=1),
}
print(json.dumps(found))
