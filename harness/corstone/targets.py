"""NPU targets by their Vela name, as rows of data.

CONFIG is the value of the NPU's CONFIG register that the driver compares with the one in the command stream: product
in [31:28], log2 of the MACs in [3:0] (hal_ethos_u ethosu55/65/85_interface.h; values as Vela 5.1.0 writes them). ID is
the architecture the device reports (reset values of the same headers; for U65 the arch 1.0.6 that Vela asks for).
Leaves out boards: which board carries which product is the board's data. Beside them the host targets, which run a TOSA
graph on this machine and have neither NPU nor board.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.errors import ConfigError


@dataclass(frozen=True)
class Target:
    """One NPU configuration. ``product`` is ``U55``, ``U65`` or ``U85``; ``macs`` counts MACs a cycle."""

    name: str
    product: str
    macs: int
    config: int
    id: int


_ROWS = (
    Target("ethos-u55-32", "U55", 32, 0x00001005, 0x10104201),
    Target("ethos-u55-64", "U55", 64, 0x00001006, 0x10104201),
    Target("ethos-u55-128", "U55", 128, 0x00001807, 0x10104201),
    Target("ethos-u55-256", "U55", 256, 0x00003008, 0x10104201),
    Target("ethos-u65-256", "U65", 256, 0x10003008, 0x10066001),
    Target("ethos-u65-512", "U65", 512, 0x10006009, 0x10066001),
    Target("ethos-u85-128", "U85", 128, 0x20000117, 0x20007001),
    Target("ethos-u85-256", "U85", 256, 0x20000118, 0x20007001),
    Target("ethos-u85-512", "U85", 512, 0x20001119, 0x20007001),
    Target("ethos-u85-1024", "U85", 1024, 0x2000251A, 0x20007001),
    Target("ethos-u85-2048", "U85", 2048, 0x2000261B, 0x20007001),
)

TARGETS: dict[str, Target] = {row.name: row for row in _ROWS}

_PRODUCTS = {0: "U55", 1: "U65", 2: "U85"}


@dataclass(frozen=True)
class HostTarget:
    """One host target. ``profile`` is what the graph is lowered for; ``executor`` runs it: ``tosa`` or ``vgf``."""

    name: str
    title: str
    profile: str
    executor: str
    quantized: bool


HOST_BOARD = "host"
"""Stands in records where a board would."""

_INT, _FP = "TOSA-1.0+INT+int16", "TOSA-1.0+FP"
HOST_TARGETS: dict[str, HostTarget] = {
    row.name: row
    for row in (
        HostTarget("tosa-fp", "TOSA reference model, plain", _FP, "tosa", False),
        HostTarget("tosa-int", "TOSA reference model, quantized", _INT, "tosa", True),
        HostTarget("vgf-fp", "VGF through Arm's Vulkan emulation layer, plain", _FP, "vgf", False),
        HostTarget("vgf-int", "VGF through Arm's Vulkan emulation layer, quantized", _INT, "vgf", True),
    )
}

GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(TARGETS),
    "host": tuple(HOST_TARGETS),
    "vgf": ("vgf-fp", "vgf-int"),
}


def expand(names: Iterable[str]) -> list[str]:
    """``all`` (every NPU), ``host`` and ``vgf`` replaced by the targets they stand for; no repetitions."""
    return list(dict.fromkeys(found for name in names for found in GROUPS.get(name, (name,))))


def target(name: str) -> Target:
    """The target of that name.

    Raises
    ------
    ConfigError: the name is none of the known targets; the message lists them.
    """
    try:
        return TARGETS[name]
    except KeyError:
        if name in HOST_TARGETS:
            raise ConfigError(
                f"{name} runs on this machine and has no board",
                cause=Cause.CONFIGURATION,
                hint=f"use it with `corstone check`; for a board use one of {', '.join(TARGETS)}",
            ) from None
        raise ConfigError(
            f"there is no target {name!r}",
            cause=Cause.CONFIGURATION,
            hint=f"use one of {', '.join(TARGETS)}; without a board {', '.join(HOST_TARGETS)}",
        ) from None


def from_config(config: int) -> Target | None:
    """The target a CONFIG word stands for, by product and MACs; None when it is none of ours."""
    product = _PRODUCTS.get(config >> 28)
    macs = 1 << (config & 0xF)
    return next((t for t in _ROWS if t.product == product and t.macs == macs), None)
