"""Print a range of a text file's lines, within a bound of bytes."""

import json
import sys

p = json.loads(sys.argv[1])
with open(p["path"], "rb") as f:
    head = f.read(4096)
if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
    sys.exit("this is no text file; use as: profile, or a program")
encoding = "utf-8"
if head.startswith((b"\xff\xfe", b"\xfe\xff")):
    encoding = "utf-16"
else:
    try:
        head[: head.rfind(b"\n") + 1].decode("utf-8")
    except UnicodeDecodeError:
        encoding = "cp1251" if sum(b >= 0xC0 for b in head) > len(head) // 5 else "cp1252"
last = p["start"] + p["lines"] - 1
used, number, shown = 0, 0, 0
with open(p["path"], encoding=encoding, errors="replace") as f:
    for number, line in enumerate(f, 1):
        if p["start"] <= number <= last and used < p["most"]:
            line = line.rstrip("\r\n")
            if len(line) > 2000:
                line = line[:2000] + "… [%d characters more]" % (len(line) - 2000)
            print(f"{number}: {line}")
            used += len(line.encode())
            shown = number
print(f"[lines {p['start']} to {shown} of {number}]" if shown else f"[no such lines: the file has {number}]")
