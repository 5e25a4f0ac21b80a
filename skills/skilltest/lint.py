# Looks at the scripts below ROOT without running them; prints a JSON list of
# {"severity", "file", "line", "message"}.
import ast
import importlib.util
import json
import os
import subprocess
import sys

found = []


def tell(severity, name, line, message):
    found.append({"severity": severity, "file": name, "line": line or 0, "message": message[:400]})


def python(path, name, siblings):
    with open(path, "rb") as f:
        source = f.read()
    try:
        tree = ast.parse(source, name)
    except (SyntaxError, ValueError) as error:
        tell("error", name, getattr(error, "lineno", 0), f"is not valid Python: {getattr(error, 'msg', error)}")
        return
    optional = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            optional.update(id(n) for part in node.body for n in ast.walk(part))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            modules = [node.module]
        else:
            continue
        for module in modules:
            top = module.partition(".")[0]
            if top in siblings or top in sys.stdlib_module_names:
                continue
            try:
                known = importlib.util.find_spec(top) is not None
            except (ImportError, ValueError):
                known = False
            if not known and id(node) not in optional:
                tell("warning", name, node.lineno, f"imports {top}, which the image does not have")


def checked(command, path, name, kind):
    try:
        run = subprocess.run([*command, path], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        tell("warning", name, 0, f"could not be checked: {error}")
        return
    if run.returncode:
        lines = [line for line in (run.stderr or run.stdout).strip().splitlines() if line.strip()]
        told = next((line for line in lines if "rror" in line), lines[0] if lines else "")
        tell("error", name, 0, f"is not valid {kind}: {told.replace(path, name)}")


for folder, folders, names in os.walk(ROOT):
    siblings = {os.path.splitext(n)[0] for n in names if n.endswith(".py")} | set(folders) | {os.path.basename(folder)}
    siblings |= {os.path.splitext(n)[0] for n in os.listdir(ROOT)}
    scripts = os.path.join(ROOT, "scripts")
    if os.path.isdir(scripts):
        siblings |= {os.path.splitext(n)[0] for n in os.listdir(scripts)}
    for n in sorted(names):
        path = os.path.join(folder, n)
        name = os.path.relpath(path, ROOT)
        if n.endswith(".py"):
            python(path, name, siblings)
        elif n.endswith((".js", ".mjs", ".cjs")):
            checked(["node", "--check"], path, name, "JavaScript")
        elif n.endswith((".sh", ".bash")):
            checked(["bash", "-n"], path, name, "shell")
print(json.dumps(found, ensure_ascii=False))
