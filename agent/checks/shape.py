"""Write shape.json: what kind each file of /workspace/out is, and its tables.

Two runs of a report on the same data are compared by it: bytes differ from one
library's version to the next, rows, columns and sums must not.
"""

import json
import os

import sandpiper.profile

MOST_FILES, MOST_BYTES, MOST_COLUMNS = 30, 32 << 20, 200


def table(name, found):
    columns = []
    for c in found["columns"][:MOST_COLUMNS]:
        total = c.get("sum")
        columns.append({"name": c["name"], "type": c["type"], **({"sum": total} if isinstance(total, (int, float)) and not isinstance(total, bool) else {})})
    return {"name": name, "rows": found["rows"], "columns": columns}


def shape(path, name):
    size = os.path.getsize(path)
    made = {"name": name, "kind": os.path.splitext(name)[1].lstrip(".").lower(), "empty": size == 0, "tables": []}
    if 0 < size <= MOST_BYTES and made["kind"] in ("csv", "tsv", "xlsx", "xlsm", "ods", "jsonl", "parquet"):
        for entry in sandpiper.profile.files([path])["files"]:
            made["tables"] += [table(s["name"], s) for s in entry["sheets"]] or [table("", entry)]
    return made


found = []
for folder, folders, files in os.walk("/workspace/out"):
    folders.sort()
    for file in sorted(files):
        path = os.path.join(folder, file)
        if os.path.isfile(path) and not os.path.islink(path):
            found.append(shape(path, os.path.relpath(path, "/workspace/out")))
os.makedirs("/workspace/.sandpiper", exist_ok=True)
with open("/workspace/.sandpiper/shape.json", "w", encoding="utf-8") as f:
    json.dump(found[:MOST_FILES], f)
