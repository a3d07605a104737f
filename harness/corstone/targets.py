"""NPU targets by their Vela name, as rows of data.

CONFIG is the value of the NPU's CONFIG register that the driver compares with the one in the command stream: product
in [31:28], log2 of the MACs in [3:0] (hal_ethos_u ethosu55/65/85_interface.h; values as Vela 5.1.0 writes them). ID is
the architecture the device reports (reset values of the same headers; for U65 the arch 1.0.6 that Vela asks for).
Leaves out boards: which board carries which product is the board's data.
"""

from __future__ import annotations

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


def target(name: str) -> Target:
    """The target of that name.

    Raises
    ------
    ConfigError: the name is none of the known targets; the message lists them.
    """
    try:
        return TARGETS[name]
    except KeyError:
        raise ConfigError(
            f"there is no target {name!r}",
            cause=Cause.CONFIGURATION,
            hint="use one of " + ", ".join(TARGETS),
        ) from None


def from_config(config: int) -> Target | None:
    """The target a CONFIG word stands for, by product and MACs; None when it is none of ours."""
    product = _PRODUCTS.get(config >> 28)
    macs = 1 << (config & 0xF)
    return next((t for t in _ROWS if t.product == product and t.macs == macs), None)
