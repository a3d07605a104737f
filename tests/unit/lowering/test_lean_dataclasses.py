"""Dataclasses with methods generated on demand are what they are without: compared one to one."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from corstone.lowering import lean_dataclasses
from corstone.lowering.lean_dataclasses import methods_on_demand
from corstone.lowering.replacing import is_known

CREATE: Any = vars(dataclasses)["_create_fn"]
OPTIONS: list[dict[str, bool]] = [{}, {"frozen": True}, {"order": True}, {"eq": False}, {"frozen": True, "slots": True}]


def _made(options: dict[str, bool]) -> Any:
    class Made:
        """None."""

        name: str
        size: int = 3
        parts: Any = None

    make: Any = dataclasses.dataclass(**options)
    return make(Made)


def _what_it_does(kind: Any) -> list[object]:
    first, same, other = kind("a"), kind("a"), kind("b", 4)
    found: list[object] = [repr(first), str(kind.__init__.__annotations__), kind.__doc__, kind.__eq__.__qualname__]
    found += [first == same, first == other, first != other, first == ("a", 3, None)]
    for act in (
        lambda: hash(first) == hash(same),
        lambda: first < other,
        lambda: sorted([other, first]) == [first, other],
        lambda: setattr(first, "name", "c"),
        lambda: setattr(first, "more", "c"),
        lambda: delattr(first, "parts"),
        lambda: dataclasses.replace(other, size=7) == other,
    ):
        try:
            found.append(act())
        except (TypeError, AttributeError) as error:
            found.append((type(error), str(error)))
    first = kind("c")
    if kind.__dataclass_params__.frozen:
        return found
    first.parts = first
    return [*found, repr(first)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_they_do_the_same(options: dict[str, bool]) -> None:
    plain = _made(options)
    with methods_on_demand():
        spared = _made(options)
    assert _what_it_does(spared) == _what_it_does(plain)


def test_nothing_is_generated_until_it_is_called() -> None:
    assert is_known(CREATE, lean_dataclasses._CREATE_READ), "not spared"
    with methods_on_demand():
        kind = _made({"frozen": True})
    assert kind.__repr__.__wrapped__.__code__.co_filename == lean_dataclasses.__file__
    assert kind.__init__.__code__.co_filename == "<string>"
    assert _made({}).__eq__.__code__.co_filename == "<string>"


def test_other_pythons_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lean_dataclasses, "_CREATE_READ", "")
    with methods_on_demand():
        assert vars(dataclasses)["_create_fn"] is CREATE
