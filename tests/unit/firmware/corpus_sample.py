"""A sample of the development corpus beside the project, unpacked without the rest."""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path

import pytest

ARCHIVE = Path(__file__).parents[4] / "shared" / "corpus" / "programs-dev.tar.xz"


def unpack_sample(folder: Path, every: int, always: tuple[str, ...] = (), largest: int = 1 << 20) -> list[Path]:
    """Case folders whose name's CRC is a multiple of ``every``, or that start with one of ``always``; sorted.

    Skips the test where the corpus is not there. Cases with a file of more than ``largest`` bytes are left out.
    """
    if not ARCHIVE.exists():
        pytest.skip("the development corpus is not beside the project")
    big: set[Path] = set()
    cases: set[Path] = set()
    with tarfile.open(ARCHIVE, "r|xz") as archive:
        for member in archive:
            parts = Path(member.name).parts
            if len(parts) != 4 or not member.isfile():
                continue
            target, case = parts[1], parts[2]
            name = case.rpartition("-")[0]
            if zlib.crc32(case.encode()) % every and name not in always:
                continue
            path = folder / target / case
            if member.size > largest:
                big.add(path)
                continue
            path.mkdir(parents=True, exist_ok=True)
            source = archive.extractfile(member)
            assert source is not None
            (path / parts[3]).write_bytes(source.read())
            cases.add(path)
    return sorted(cases - big)
