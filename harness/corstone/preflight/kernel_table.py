"""Which runner has which CPU kernel.

An image registers its kernels by name as text; ours is known from the table in its source, so that nothing is built to
answer. Leaves out images that a user brings: ``runner_checks`` looks into the one that is to be booted.
"""

from __future__ import annotations

import mmap
import re
from functools import lru_cache
from pathlib import Path

from corstone.errors import HarnessError
from corstone.runners import RUNNERS, BuiltImage, Runner
from corstone.setup import image_path

_ROW = re.compile(r'\{"([\w.:]+)", kernel_\w+\}')


def registers(image: Path, name: str) -> bool:
    """Whether an image has this text."""
    return _contains(str(image), image.stat().st_mtime_ns, name.encode())


def image_has(image: Path, kernel: str) -> bool:
    """Whether an image registers a kernel: ExecuTorch's by the whole name, others by the part before the overload."""
    return any(registers(image, name + "\0") for name in (kernel, kernel.rpartition(".")[0]))


def our_kernels() -> frozenset[str]:
    """The kernels of our runner, from its source."""
    from corstone import firmware

    table = Path(firmware.__file__ or "").parent / "src" / "kernels.c"
    return frozenset(_ROW.findall(table.read_text())) if table.is_file() else frozenset()


def has(runner: Runner, kernel: str) -> bool | None:
    """Whether a runner has a kernel; None when its image is not on this machine."""
    if isinstance(runner.image, BuiltImage):
        return kernel in our_kernels()
    try:
        return image_has(image_path(runner, fetch=False), kernel)
    except HarnessError:
        return None


def runners_with(kernel: str, product: str = "") -> tuple[str, ...]:
    """Names of the runners (for an NPU product, or all) that have a kernel."""
    return tuple(row.name for row in RUNNERS if (not product or product in row.products) and has(row, kernel))


@lru_cache(maxsize=4096)
def _contains(path: str, _mtime_ns: int, name: bytes) -> bool:
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(name) >= 0
