"""How long a boot may take: start, progress, total, and each step of stopping.

Wall-clock seconds of the host, independent of the simulator's own ``--timelimit``, which is set a little later so that
a simulator stops by itself even when the harness was killed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# FVPs are slower than QEMU: public reports put the 120 s default of ExecuTorch below what ImageNet-sized networks need.
_FACTOR = {"emulator": 1.0, "fvp": 4.0}

# (program bytes up to, factor): a bigger program has more to load and more to compute.
_CLASSES = ((256 << 10, 1.0), (4 << 20, 3.0), (64 << 20, 10.0))


@dataclass(frozen=True)
class Deadlines:
    """Seconds. ``start``: until the target's first byte; ``progress``: between bytes; ``total``: the whole boot.

    ``settle``: for the simulator to stop by itself after the target finished; ``interrupt``, ``terminate`` and
    ``kill``: after each signal.
    """

    start: float = 20.0
    progress: float = 30.0
    total: float = 60.0
    settle: float = 3.0
    interrupt: float = 3.0
    terminate: float = 2.0
    kill: float = 5.0

    def scaled(self, factor: float) -> Deadlines:
        """The same with start, progress and total multiplied."""
        return replace(self, start=self.start * factor, progress=self.progress * factor, total=self.total * factor)

    @property
    def simulator_limit_s(self) -> int:
        """Whole seconds for ``--timelimit``: later than our own total, so that ours decides while we live."""
        return int(self.total + self.settle) + 5


def default_deadlines(kind: str, program_bytes: int) -> Deadlines:
    """Base x provider factor x size class of the program."""
    size = next((factor for limit, factor in _CLASSES if program_bytes <= limit), 30.0)
    return Deadlines().scaled(_FACTOR.get(kind, 1.0) * size)
