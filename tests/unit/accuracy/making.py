"""Tables for tests, made from an operator and its parameters; entries can be replaced to plant a fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corstone.accuracy.tables import NODES_16, TableUse, expected_entries
from corstone.program import QParams

INT16_ROOM = {"qmin": -32767, "qmax": 32767, "dtype": "int16"}
INT8_ROOM = {"qmin": -128, "qmax": 127, "dtype": "int8"}


def int8(scale: float, zero_point: int = 0, qmin: int = -128) -> QParams:
    return QParams(scale, zero_point, qmin, 127, "int8")


def int16(scale: float) -> QParams:
    return QParams(scale, 0, -32767, 32767, "int16")


def table(operator: str, given: QParams, output: QParams, constants: tuple[Any, ...] = ()) -> TableUse:
    """The table that ExecuTorch builds today."""
    bits = 8 if given.dtype == "int8" else 16
    blank = np.zeros(256 if bits == 8 else NODES_16, np.int64)
    use = TableUse(0, "x", "t", blank, bits, operator, operator, constants, given, output)
    return replace(use, entries=expected_entries(use))


def with_entries(use: TableUse, **at: int) -> TableUse:
    """The same table with entries changed: ``e12=5`` sets entry 12."""
    entries = use.entries.copy()
    for name, value in at.items():
        entries[int(name[1:])] = value
    return replace(use, entries=entries)
