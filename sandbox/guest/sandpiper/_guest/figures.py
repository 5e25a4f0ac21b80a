"""Matplotlib figures that a program left open become artifacts."""

import functools
import os
import sys
from importlib.machinery import PathFinder

OUT = "/workspace/out"


class _Finder:
    """Notices the import of matplotlib.figure, whoever asks for it."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.figure":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        original = spec.loader.exec_module

        def exec_module(module):
            original(module)
            _mark_saved(module.Figure)

        spec.loader.exec_module = exec_module
        return spec


def watch():
    """Sees to it that figures remember whether they were saved."""
    sys.meta_path.insert(0, _Finder())


def _mark_saved(figure_class):
    original = figure_class.savefig

    @functools.wraps(original)  # pyplot looks at the wrapped method's name
    def savefig(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        self._sandpiper_saved = True
        return result

    figure_class.savefig = savefig


def keep():
    """Saves every open figure that was drawn on and never saved, and closes all."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if getattr(figure, "_sandpiper_saved", False) or not figure.get_axes():
            continue
        os.makedirs(OUT, exist_ok=True)
        figure.savefig(_free_name(), bbox_inches="tight")
    pyplot.close("all")


def _free_name():
    count = 1
    while os.path.lexists(f"{OUT}/figure-{count}.png"):
        count += 1
    return f"{OUT}/figure-{count}.png"
