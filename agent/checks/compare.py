"""Compare pairs of files; Office files and archives by their members.

/workspace/in holds the pairs a0, b0, a1, b1, …; the verdicts are written to
/workspace/.sandpiper/compare.json as a list of true and false. Members that
hold nothing but times, and times in the others' metadata, do not count.
"""

import io
import json
import os
import re
import zipfile

IN, REPORT = "/workspace/in", "/workspace/.sandpiper/compare.json"
MOST = 300 << 20


def members(raw):
    found = {}
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if sum(i.file_size for i in archive.infolist()) > MOST:
            raise ValueError("an archive that unfolds too far")
        for info in archive.infolist():
            data = archive.read(info)
            if info.filename in ("docProps/core.xml", "meta.xml"):
                data = re.sub(rb"\d{4}-\d\d-\d\dT[\d:.]+Z?", b"", data)
            if data.startswith(b"PK\x03\x04"):
                data = repr(sorted(members(data).items())).encode()
            found[info.filename] = data
    return found


def same(a, b):
    if a == b:
        return True
    if a.startswith(b"PK\x03\x04") and b.startswith(b"PK\x03\x04"):
        try:
            return members(a) == members(b)
        except (zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError):
            return False
    return False


def read(name):
    with open(os.path.join(IN, name), "rb") as f:
        return f.read()


def main():
    verdicts = []
    while os.path.exists(os.path.join(IN, f"a{len(verdicts)}")):
        verdicts.append(same(read(f"a{len(verdicts)}"), read(f"b{len(verdicts)}")))
    os.makedirs(os.path.dirname(REPORT), exist_ok=True)
    with open(REPORT, "w", encoding="utf-8") as f:
        json.dump(verdicts, f)


main()
