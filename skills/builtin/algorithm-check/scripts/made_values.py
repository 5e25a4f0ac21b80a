"""Values of a type made at random, and smaller ones cut from them."""

from __future__ import annotations

import random
import typing
from collections.abc import Iterator


def value(hint: object, size: int, dice: random.Random) -> object:
    """A random value of a type; None when the type says too little."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is int:
        return dice.randint(0, max(size, 1))
    if hint is float:
        return round(dice.uniform(-size - 1, size + 1), 3)
    if hint is bool:
        return dice.random() < 0.5
    if hint is str:
        return "".join(dice.choice("abcab" if dice.random() < 0.7 else "xyz ") for _ in range(size))
    if (origin or hint) in (list, set, frozenset) or getattr(origin, "__name__", "") in ("Sequence", "Iterable"):
        items = [
            value(inner[0] if inner else int, size if inner and inner[0] in (int, float) else min(size, 8), dice) for _ in range(size)
        ]
        return (
            None
            if any(i is None for i in items)
            else items
            if origin in (list, None) or origin not in (set, frozenset)
            else origin(items)
        )
    if origin is tuple and inner:
        kinds = [inner[0]] * size if len(inner) == 2 and inner[1] is Ellipsis else list(inner)
        items = [value(k, size, dice) for k in kinds]
        return None if any(i is None for i in items) else tuple(items)
    if origin is dict and inner:
        keys, values = ([value(k, size, dice) for _ in range(size)] for k in inner)
        return None if any(i is None for i in keys + values) else dict(zip(keys, values))
    return None


def cuts(value: object) -> Iterator[object]:
    """Smaller values: halves first, then those without one item, or with a smaller one."""
    if isinstance(value, (list, str, tuple)):
        half = len(value) // 2
        if half:
            yield value[:half]
            yield value[half:]
        for n in range(min(len(value), 40)):
            yield value[:n] + value[n + 1 :]
        if isinstance(value, list):
            for n, item in enumerate(value[:40]):
                for cut in cuts(item):
                    yield value[:n] + [cut] + value[n + 1 :]
    elif isinstance(value, int) and not isinstance(value, bool) and value:
        yield 0
        yield value // 2
        yield value - 1 if value > 0 else value + 1
