"""Runs once while the image is built: matplotlib's font list, so that no
session builds its own, and the inventory, so that everybody knows what is here.
"""

import compileall
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sysconfig

HERE = "/usr/share/sandpiper"


def fonts():
    """Builds the font list; returns the names of the families."""
    os.environ["MPLCONFIGDIR"] = "/tmp/matplotlib"
    from matplotlib import font_manager, get_cachedir

    os.makedirs(f"{HERE}/matplotlib", exist_ok=True)
    for name in os.listdir(get_cachedir()):
        if name.startswith("fontlist"):
            shutil.copy(f"{get_cachedir()}/{name}", f"{HERE}/matplotlib/{name}")
    shutil.rmtree("/tmp/matplotlib")
    return sorted({entry.name for entry in font_manager.fontManager.ttflist})


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return ""
    return (done.stdout + done.stderr).strip().split("\n")[0][:80]


def inventory():
    """What a program can count on, with versions."""
    found = {}
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"]
        if name:
            found[name.lower()] = package.version
    modules = importlib.metadata.packages_distributions()
    tools = ("sqlite3", "jq", "pandoc", "pdftotext", "gawk", "file", "unzip", "zip", "xz", "zstd", "ps")
    return {
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", ""),
        "python_version": platform.python_version(),
        "node_version": first_line("node", "--version").lstrip("v"),
        "python": dict(sorted(found.items())),
        "modules": sorted(name for name in modules if not name.startswith("_") and "/" not in name),
        "tools": [tool for tool in tools if shutil.which(tool)],
        "fonts": fonts(),
    }


with open(f"{HERE}/inventory.json", "w", encoding="utf-8") as file:
    json.dump(inventory(), file, ensure_ascii=True, separators=(",", ":"))
# Debian compiles its packages when they are installed; what pip added is compiled here.
compileall.compile_dir(sysconfig.get_path("purelib"), quiet=2)
