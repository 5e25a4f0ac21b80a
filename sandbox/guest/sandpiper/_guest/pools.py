"""Pools of workers that a program left open are closed at its end, as a script's
are when its interpreter exits. Left alone, their threads would outlive the
program, and a process with live threads cannot be the next parent.
"""

import sys


def close():
    """Closes every open pool that we know of. What is still queued is done."""
    for closer in (_loky, _processes, _threads, _multiprocessing):
        try:
            closer()
        except Exception:
            pass  # another version, or a pool that broke: its threads are counted


def _module(name):
    return sys.modules.get(name)


def _loky():
    """joblib keeps its workers for the next call, scikit-learn through it."""
    for name in ("joblib.externals.loky.reusable_executor", "loky.reusable_executor"):
        executor = getattr(_module(name), "_executor", None)
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=True)


def _threads():
    module = _module("concurrent.futures.thread")
    for thread in list(module._threads_queues) if module else ():
        executor = thread._args[0]() if thread.is_alive() else None
        if executor is not None:
            executor.shutdown(wait=False)


def _processes():
    module = _module("concurrent.futures.process")
    for thread in list(module._threads_wakeups) if module else ():
        executor = thread.executor_reference()
        if executor is not None:
            executor.shutdown(wait=True)


def _multiprocessing():
    module = _module("multiprocessing.util")
    if module:
        module._run_finalizers(0)
