"""What a board is: memory map, simulator names, parameter names, UART, NPU and the targets it can carry.

A board is one frozen object in its own short file beside this one; the registry finds it there. Leaves out how a
command line is built from the parameters (``parameters.py``) and which program plays the board (``providers``).
"""

from __future__ import annotations

from dataclasses import dataclass

from corstone.causes import Cause
from corstone.errors import ConfigError


@dataclass(frozen=True)
class Region:
    """A range of memory by its secure address; ``alias`` is the non-secure one, ``npu`` whether the NPU reaches it."""

    name: str
    base: int
    size: int
    alias: int | None = None
    npu: bool = True

    def holds(self, address: int, size: int = 1) -> bool:
        """Whether ``[address, address + size)`` lies inside, by either alias."""
        starts = (self.base,) if self.alias is None else (self.base, self.alias)
        return any(start <= address and address + size <= start + self.size for start in starts)


@dataclass(frozen=True)
class Uart:
    """A CMSDK APB UART, secure and non-secure base."""

    base: int
    alias: int


@dataclass(frozen=True)
class NpuPort:
    """Where the NPU's registers and interrupt are."""

    base: int
    alias: int
    irq: int


@dataclass(frozen=True)
class Parameter:
    """One simulator parameter and the model versions that know it.

    ``role`` is what we call it, the same on every board. ``value`` is a format string over the facts of a boot
    (``{macs}``, ``{cwd}``, ``{line}``). ``since`` and ``until`` bound the version, both included, compared on the
    numbers given: ``until="11.12"`` holds for 11.12.57. ``assumed`` marks what no public log shows.
    """

    role: str
    name: str
    value: str
    source: str
    since: str = ""
    until: str = ""
    assumed: bool = False


@dataclass(frozen=True)
class Board:
    """A platform described as data.

    ``simulators`` maps an NPU product (``U55``) to the FVP's file name. ``vectors`` is the initial secure vector
    table. ``images`` are address ranges a linker may use that tell a board's ELFs apart from another's.
    """

    name: str
    title: str
    cpu: str
    simulators: dict[str, str]
    vectors: int
    regions: tuple[Region, ...]
    uart: Uart
    npu: NpuPort
    targets: tuple[str, ...]
    default_target: str
    parameters: tuple[Parameter, ...]

    def region_of(self, address: int, size: int = 1) -> Region | None:
        """The region that holds the whole range, or None."""
        return next((r for r in self.regions if r.holds(address, size)), None)

    def simulator_for(self, product: str) -> str:
        """File name of the FVP that has this NPU.

        Raises
        ------
        ConfigError: no simulator of this board has the product.
        """
        try:
            return self.simulators[product]
        except KeyError:
            raise ConfigError(
                f"{self.name} has no simulator with an Ethos-{product}",
                cause=Cause.WRONG_TARGET,
                hint="products of this board: " + ", ".join(self.simulators),
            ) from None
