"""Many input sets in one boot of our runner: the bits of single boots; what ran before a bad set stays."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corstone.boards import BootRequest, boot
from corstone.boards.many import boot_many
from corstone.causes import Outcome
from corstone.errors import ConfigError
from corstone.formats.pte import read_pte
from corstone.program import Program

ACOS = Path(__file__).parents[1] / "data" / "acos-int8-u55-128.pte"
pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")


def request(out: Path) -> BootRequest:
    whole = read_pte(ACOS)
    program = Program(ACOS, "ethos-u55-128", whole.input_specs, whole.output_specs)
    return BootRequest(program, (), out, provider="emulator", runner="corstone-300")


def sets(count: int) -> list[tuple[bytes, ...]]:
    (spec,) = read_pte(ACOS).input_specs
    draws = np.random.default_rng(7).integers(-128, 128, (count, spec.size_bytes), np.int64).astype(np.int8)
    return [(draw.tobytes(),) for draw in draws]


def test_each_set_gets_the_bits_of_a_boot_of_its_own(tmp_path: Path) -> None:
    given = sets(3)
    captures = boot_many(request(tmp_path / "many"), given)
    assert [capture.ending.outcome for capture in captures] == [Outcome.PASSED] * 3
    together = [(tmp_path / "many" / f"set-{i}" / "out-0.bin").read_bytes() for i in range(3)]
    assert len(set(together)) == 3
    alone = boot(replace(request(tmp_path / "alone"), inputs=given[1]))
    assert alone.ending.outcome is Outcome.PASSED
    assert (tmp_path / "alone" / "out-0.bin").read_bytes() == together[1]
    assert len(list((tmp_path / "many").glob("boot-*.log"))) == 1


def test_a_set_that_does_not_fit_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        boot_many(request(tmp_path / "many"), [*sets(1), (b"short",)])
    assert not list(tmp_path.glob("many/boot-*.log"))
