"""Runs one program's source in this process, as a notebook would."""

import ast
import builtins
import faulthandler
import io
import linecache
import os
import signal
import sys
import threading
import time
import traceback
import types
import warnings

from _guest import figures

WORKSPACE = "/workspace"
THREADS_MAY_TAKE = 1.0  # seconds a program's threads may outlive it


def prepare(limits):
    """Makes the first parent a place where programs can start."""
    os.chdir(WORKSPACE)
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    sys.argv = [""]
    if WORKSPACE not in sys.path:
        sys.path.append(WORKSPACE)  # last: an input cannot stand in for a library
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = _stream(1)
    sys.stderr = _stream(2)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")
    faulthandler.register(signal.SIGXCPU, file=sys.stderr, all_threads=False, chain=False)
    figures.watch()


def _stream(fd):
    return io.TextIOWrapper(open(fd, "wb", closefd=False), encoding="utf-8",
                            errors="backslashreplace", line_buffering=True)


def run(message):
    """Runs the program that message names; returns the report for the supervisor."""
    os.chdir(WORKSPACE)
    title = f"<program {message['number']}>"
    with open(message["path"], encoding="utf-8", errors="replace") as file:
        source = file.read()
    linecache.cache[title] = (len(source), None, source.splitlines(True), title)
    report, me = {"code": 0}, os.getpid()
    try:
        if message["language"] == "sql":
            from _guest import sql
            sql.execute(source, vars(sys.modules["__main__"]))
        else:
            _execute(source, title)
        if os.getpid() == me:
            figures.keep()
    except SystemExit as stop:
        report = _exited(stop)
    except BaseException as error:
        report = _failed(error)
    if os.getpid() != me:
        # A process that the program forked has come to the program's end: it
        # ends as a script's would, and only the first one reports.
        _flush()
        os._exit(report["code"])
    report["lingering"] = _lingering() if report["code"] == 0 else 0
    _flush()
    return report


def _execute(source, title):
    space = vars(sys.modules["__main__"])
    tree = ast.parse(source, title)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if tree.body:
        exec(compile(tree, title, "exec"), space)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), title, "eval"), space)
        if value is not None:
            print(repr(value))


def _exited(stop):
    code = stop.code
    if code is None:
        code = 0
    elif not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    return {"code": code & 0xFF}


def _failed(error):
    trace = error.__traceback__
    while trace is not None and "/_guest/" in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    lines = [frame.lineno for frame in traceback.extract_tb(trace) if frame.filename.startswith("<program ")]
    traceback.print_exception(type(error), error, trace)
    return {"code": 1, "error": type(error).__name__[:100],
            "module": str(getattr(error, "name", "") or "")[:100] if isinstance(error, ImportError) else "",
            "errno": error.errno if isinstance(error, OSError) and isinstance(error.errno, int) else 0,
            "line": lines[-1] if lines else 0}


def _lingering():
    """Waits a moment for the program's threads; counts those that stay."""
    until = time.monotonic() + THREADS_MAY_TAKE
    others = [t for t in threading.enumerate() if t is not threading.current_thread()]
    for thread in others:
        try:
            thread.join(max(0, until - time.monotonic()))
        except RuntimeError:
            pass  # a thread that cannot be joined is still counted below
    return sum(thread.is_alive() for thread in others)


def _flush():
    """Writes out what the program left in the buffers of its open files."""
    for value in [sys.stdout, sys.stderr, *vars(sys.modules["__main__"]).values()]:
        if isinstance(value, io.IOBase) and not value.closed:
            try:
                value.flush()
            except (OSError, ValueError):
                pass  # a full disk or a closed pipe: the program's own verdict says so
