"""How time grows with size: measured so that a busy machine bends it little, and
told only as far as the times tell it."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy

from sandpiper.speech import Speech

CPU_SECONDS, WALL_SECONDS = 20, 45  # for all sizes together
LONG = 0.6  # seconds of one call after which no greater size is tried
SAMPLE = 2e-3  # seconds that one sample should take; short calls are timed many at a time
LEAST = 1e-6  # seconds of one call below which only the calling is measured
NOISY = 0.25  # of a time: where samples, or the best fit, differ by more, nothing is told
CLASSES: tuple[tuple[str, str, str, Callable[[numpy.ndarray], numpy.ndarray]], ...] = (
    ("1", "constant", "постоянный", lambda n: numpy.ones_like(n)),
    ("log n", "logarithmic", "логарифмический", lambda n: numpy.log2(n)),
    ("n", "linear", "линейный", lambda n: n),
    ("n log n", "n log n", "n log n", lambda n: n * numpy.log2(n)),
    ("n^2", "quadratic", "квадратичный", lambda n: n**2),
    ("n^3", "cubic", "кубический", lambda n: n**3),
    ("2^n", "exponential", "экспоненциальный", lambda n: numpy.exp2(n - n.max())),
)


@dataclass(slots=True)
class Timed:
    """CPU seconds of one call at a size: the samples' median without outliers, and how far samples lie from it."""

    size: int
    seconds: float
    spread: float


@dataclass(slots=True)
class Growth:
    """What the times say. ``kinds`` are the classes that they do not tell apart, best first."""

    kinds: list[str] = field(default_factory=list)
    misfit: float = math.nan  # how far the times lie from the best class, as a share of them
    why: str = ""  # why nothing can be told: "few", "noisy" or "odd"


def measure(function: Callable, arguments: tuple, limit: Callable[[float], AbstractContextManager], size: int, seconds: float) -> Timed | None:
    """Time a function on copies of its arguments; None when it fails or takes over ``seconds``."""

    def once(copies: list[tuple]) -> float:
        begin = time.process_time()
        for own in copies:
            result = function(*own)
            if isinstance(result, Iterator):
                for _item in result:
                    pass
        return (time.process_time() - begin) / len(copies)

    samples: list[float] = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        with limit(seconds), contextlib.redirect_stdout(io.StringIO()):
            first = once([copy.deepcopy(arguments)])
            calls = min(max(int(SAMPLE / max(first, 1e-7)), 1), max(200_000 // max(size, 1), 1), 500)
            for _ in range(3 if first > 0.2 else 9):
                samples.append(once([copy.deepcopy(arguments) for _ in range(calls)]))
    except Exception:  # noqa: BLE001 - a size that fails or lasts ends the measuring
        if len(samples) < 3:
            return None
    finally:
        if collecting:
            gc.enable()
    return Timed(size, *steady(samples))


def steady(samples: list[float]) -> tuple[float, float]:
    """The median of samples without those that something else disturbed, and the rest's relative spread."""
    middle = statistics.median(samples)
    off = statistics.median(abs(s - middle) for s in samples)
    kept = [s for s in samples if abs(s - middle) <= 4 * max(off, 0.02 * middle)]
    middle = statistics.median(kept)
    return middle, 1.4826 * statistics.median(abs(s - middle) for s in kept) / middle if middle else 0.0


def growth(times: list[Timed]) -> Growth:
    """Hold the times against each class, by the relative residuals of the best fit of overhead + cost × class."""
    usable = [t for t in times if t.seconds >= LEAST]
    steep = len(usable) >= 5 and usable[-1].size < 4 * usable[0].size  # exponential ones have no room to double in
    if len(usable) < 5 or (not steep and usable[-1].size < 8 * usable[0].size):
        return Growth(why="few")
    usable = usable[-8:]  # the larger sizes, where overhead and caches say least
    spread = statistics.median(t.spread for t in usable)
    if spread > NOISY:
        return Growth(why="noisy", misfit=spread)
    n = numpy.array([t.size for t in usable], dtype=float)
    seconds = numpy.array([t.seconds for t in usable])
    misfits = {name: _misfit(shape(n), seconds) for name, _, _, shape in CLASSES if name != "2^n" or n.max() < 1000}
    ranked = sorted(misfits, key=lambda name: misfits[name])
    best = misfits[ranked[0]]
    if best > NOISY:
        return Growth(why="odd", misfit=best)
    # A class that fits nearly as well as the best one is not ruled out.
    near = [name for name in ranked if misfits[name] <= max(1.8 * best, best + spread, 0.03)]
    order = [name for name, *_ in CLASSES]
    places = [order.index(name) for name in near]
    if max(places) - min(places) > 1:  # not neighbours: the sizes say nothing
        return Growth(near, best, "few" if best < NOISY / 2 else "noisy")
    return Growth(near, best)


def _misfit(shape: numpy.ndarray, seconds: numpy.ndarray) -> float:
    """The root mean square of relative residuals, with overhead and cost not below zero."""
    ones = 1 / seconds
    scaled = shape / seconds
    best = math.inf
    for columns in ((ones, scaled), (scaled,)):
        matrix = numpy.column_stack(columns)
        found, *_ = numpy.linalg.lstsq(matrix, numpy.ones_like(seconds), rcond=None)
        # Where overhead makes most of the greatest time, it is not the class that is seen.
        seen = len(columns) == 1 or found[1] * scaled[-1] >= 0.5
        if (found >= -1e-12).all() and seen:
            # A parameter more always fits better; it must pay for itself.
            free = max(len(seconds) - len(columns), 1)
            best = min(best, math.sqrt(float(((matrix @ found - 1) ** 2).sum()) / free))
    return best


def told(found: Growth, say: Speech) -> str:
    """The growth in words, and how sure they are."""
    names = {name: say.pick(en, ru) for name, en, ru, _ in CLASSES}
    if found.why == "few":
        return say.pick("**cannot be told**: too few sizes take long enough to measure", "**сказать нельзя**: слишком мало размеров с измеримым временем")
    if found.why == "noisy":
        return say.pick(f"**cannot be told**: repeated times differ by {say.percent(found.misfit, 0)}", f"**сказать нельзя**: повторные измерения расходятся на {say.percent(found.misfit, 0)}")
    if found.why == "odd":
        return say.pick(f"**cannot be told**: the times are {say.percent(found.misfit, 0)} off the nearest class", f"**сказать нельзя**: отклонение от ближайшего класса {say.percent(found.misfit, 0)}")
    fits = say.pick(f"fits within {_percent(found.misfit, say)}", f"отклонение в пределах {_percent(found.misfit, say)}")
    if len(found.kinds) == 1:
        return f"**{names[found.kinds[0]]}** ({fits})"
    listed = say.pick(" or ", " или ").join(names[name] for name, *_ in CLASSES if name in found.kinds)
    return say.pick(f"**{listed}**, which these times do not tell apart ({fits})", f"**{listed}**: эти измерения их не различают ({fits})")


def _percent(share: float, say: Speech) -> str:
    return say.percent(max(math.ceil(share * 100), 1) / 100, 0)
