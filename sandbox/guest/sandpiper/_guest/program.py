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

from _guest import figures, pools

WORKSPACE = "/workspace"
COROUTINE = 0x80  # inspect.CO_COROUTINE, without what importing it costs each session
THREADS_MAY_TAKE = 1.0  # seconds a program's threads may outlive it

_main = types.ModuleType("__main__")  # holds what programs leave to each other
_began = False  # whether a program has run in this memory
hangup = signal.SIG_DFL  # what programs do with one, while no program runs
_own = {}  # name to the stream that a program starts with
_write, _settrace, _setprofile = os.write, sys.settrace, sys.setprofile  # programs replace what they like in modules


def prepare(limits):
    """Makes the first parent a place where programs can start."""
    os.chdir(WORKSPACE)
    _main.__builtins__ = builtins
    sys.argv = [""]
    if WORKSPACE not in sys.path:
        sys.path.append(WORKSPACE)  # last: an input cannot stand in for a library
    _take_place()
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")
    faulthandler.register(signal.SIGXCPU, file=sys.stderr, all_threads=False, chain=False)
    figures.watch()


def _take_place():
    """Undoes what an earlier program did to its own place: a stream that it
    replaced or closed would swallow what the next one says."""
    sys.modules["__main__"] = _main
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        try:
            usable = not _own[name].closed
        except (KeyError, ValueError):
            usable = False  # not made yet, or detached
        if not usable:
            _own[name] = _stream(number)
        setattr(sys, name, _own[name])


def _stream(fd):
    if fd == 0:
        return open(0, encoding="utf-8", closefd=False)
    return io.TextIOWrapper(open(fd, "wb", closefd=False), encoding="utf-8",
                            errors="backslashreplace", line_buffering=True)


def rehearse():
    """Goes the way of a program that does nothing; tells whether it did. Once a
    program has run, what is called on that way may be a program's own code: then
    it does not."""
    if _began:
        return False
    _take_place()
    _guarded(lambda: _execute("import sys; print(end='', file=sys.stdout)", "<rehearsal>"))
    figures.keep()
    _lingering()
    _flush()
    return True


def run(message):
    """Runs the program that message names; returns the report for the supervisor."""
    global _began
    _began = True
    os.chdir(WORKSPACE)
    _take_place()
    title = f"<program {message['number']}>"
    with open(message["path"], encoding="utf-8", errors="replace") as file:
        source = file.read()
    linecache.cache[title] = (len(source), None, source.splitlines(True), title)
    me = os.getpid()
    report = _guarded(lambda: _start(message["language"], source, title))
    if os.getpid() != me:
        # A process that the program forked has come to the program's end: it
        # ends as a script's would, and only the first one reports.
        _flush()
        os._exit(report["code"])
    if report["code"] == 0:
        # Also one that ended itself, as sys.exit(main()) does.
        report = _guarded(_leave)
    report["lingering"] = _lingering() if report["code"] == 0 else 0
    _flush()
    return report


def _guarded(act):
    """Calls act; returns how that ended."""
    error = None
    try:
        act()
    except BaseException as raised:
        error = raised
    # What acts in our code, or later, is taken back: first tracers, which see
    # every call of a function that is not C's.
    _settrace(None)
    try:
        _setprofile(None)
    except BaseException:
        pass  # the profiler's last word; it is gone
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
    if error is None:
        return {"code": 0}
    return _exited(error) if isinstance(error, SystemExit) else _failed(error)


def _leave():
    """What a program's good end brings: pools close, and figures are kept."""
    pools.close()
    try:
        figures.keep()
    except Exception as error:
        error.add_note("This came when a figure that was left open was saved.")
        raise


def _start(language, source, title):
    if language == "sql":
        from _guest import sql
        sql.execute(source, vars(_main))
    else:
        _execute(source, title)


def _execute(source, title):
    space = vars(_main)
    tree = ast.parse(source, title)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    parts = [compile(tree, title, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)] if tree.body else []
    if last is not None:
        parts.append(compile(ast.Expression(last.value), title, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
    if any(part.co_flags & COROUTINE for part in parts):
        import asyncio
        value = asyncio.run(_awaited(parts, space))
    else:
        value = None
        for part in parts:
            value = eval(part, space)
    if value is not None:
        print(repr(value))


async def _awaited(parts, space):
    """Runs the parts of a program that awaits at its top level, as in a notebook."""
    value = None
    for part in parts:
        value = eval(part, space)
        if part.co_flags & COROUTINE:
            value = await value
    return value


def _exited(stop):
    code = stop.code
    if code is None:
        code = 0
    elif not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    return {"code": code & 0xFF}


def _failed(error):
    trace = _shown(error.__traceback__)
    lines = [frame.lineno for frame in traceback.extract_tb(trace) if frame.filename.startswith("<program ")]
    if isinstance(error, SyntaxError) and str(error.filename).startswith("<program "):
        lines.append(error.lineno or 0)
    try:
        traceback.print_exception(type(error), error, trace)
    except BaseException as second:  # its own words, or the stream, are the program's
        _write(2, f"{type(error).__name__} (and {type(second).__name__} when it was to be shown)\n".encode())
    return {"code": 1, "error": type(error).__name__[:100],
            "module": str(getattr(error, "name", "") or "")[:100] if isinstance(error, ImportError) else "",
            "errno": error.errno if isinstance(error, OSError) and isinstance(error.errno, int) else 0,
            "line": lines[-1] if lines else 0}


def _shown(trace):
    """The part of a traceback that is the program's; where it has none, what is not ours."""
    at = trace
    while at is not None:
        if at.tb_frame.f_code.co_filename.startswith("<program "):
            return at
        at = at.tb_next
    while trace is not None and ("/_guest/" in trace.tb_frame.f_code.co_filename or trace.tb_frame.f_code is ast.parse.__code__):
        trace = trace.tb_next
    return trace


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
    for value in [sys.stdout, sys.stderr, *_own.values(), *vars(_main).values()]:
        try:
            if isinstance(value, io.IOBase) and not value.closed:
                value.flush()
        except Exception:
            pass  # a full disk, a closed pipe, a class of the program's: its own verdict says so
