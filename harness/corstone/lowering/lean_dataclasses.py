"""Dataclasses whose methods are generated when they are first called. Needs no torch.

Importing torch and ExecuTorch makes a thousand dataclasses; for each, Python generates and compiles the text of four
methods or more, most of which a lowering never calls. While ``methods_on_demand`` is in force, all but ``__init__`` are
functions that generate the same text when they are called. Where this Python's ``dataclasses`` are not those that were
read, nothing is changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from corstone.lowering.replacing import is_known

# Not ``__init__``: others ask for its signature.
_METHODS = frozenset(
    {"__repr__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__setattr__", "__delattr__"}
)
_CREATE = "_create_fn"
_CREATE_READ = "f6e0924f42d36cc758c77ca39ce29bc1ac4ff4aa6215faa76d5d5030652a87cf"


@contextmanager
def methods_on_demand() -> Iterator[None]:
    """Put off the methods of every dataclass that the block makes."""
    original: Callable[..., Any] = getattr(dataclasses, _CREATE, None)  # type: ignore[assignment]
    if not is_known(original, _CREATE_READ):
        yield
        return

    def create(name: str, args: Sequence[str], body: Sequence[str], **options: Any) -> Any:
        if name in _METHODS:
            return _on_demand(name, lambda: original(name, args, body, **options))
        return original(name, args, body, **options)

    setattr(dataclasses, _CREATE, create)
    try:
        yield
    finally:
        setattr(dataclasses, _CREATE, original)


def _on_demand(name: str, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    made: Callable[..., Any] | None = None

    def method(self: Any, *args: Any) -> Any:
        nonlocal made
        if made is None:
            made = make()
        return made(self, *args)

    method.__name__ = name
    return method
