"""The gallery's smaller networks on both boards: every bit, and 64 inputs each inside a budget that can be missed.

The transformer block, the recurrent unit over 8 steps and person detection at 224 pixels compile too long to be here:
``scripts/gallery`` runs them.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from corstone.accuracy.budget_file import budgets_of
from corstone.accuracy.many_inputs import Judged, judge_many
from corstone.causes import Outcome
from corstone.formats.pte import read_pte
from corstone.looking.inventory import npu_commands
from corstone.looking.walk import delegate_blobs
from corstone.pipeline import build, check
from corstone.program import Program
from corstone_models.gallery.registry import GALLERY

pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")
SOURCES = {row.name: row.source for row in GALLERY}
CASES = [
    ("keyword-spotting", 8, "ethos-u55-128"),
    ("keyword-spotting", 8, "ethos-u85-256"),
    ("anomaly-detection", 8, "ethos-u55-128"),
    ("anomaly-detection", 8, "ethos-u85-256"),
    ("recurrent-cell-short", 8, "ethos-u55-128"),
    ("recurrent-cell-short", 16, "ethos-u85-256"),
    ("person-detection-96", 8, "ethos-u55-128"),
]
RUNNERS = {"ethos-u55-128": "corstone-300", "ethos-u85-256": "corstone-320"}
"""Ours: the 64 inputs share a boot."""
_SCALE_BYTES = 10
"""A channel's bias, scale and shift; the shift is the last byte."""


def judged(program: Program, source: str, bits: int, folder: Path) -> list[Judged]:
    """The 64 inputs that verdicts come from, against the network's own budget."""
    from corstone_models.gallery.unseen import JUDGED, exact, network_of, unseen

    budgets = budgets_of(source, bits, "fixed")
    assert budgets, f"{source} has no budget of its own"
    sets = unseen(source, JUDGED)
    device = {"provider": "emulator", "runner": RUNNERS[program.target]}
    return judge_many(program, sets, exact(network_of(source), sets), folder, budgets, **device)


@pytest.mark.parametrize(("name", "bits", "target"), CASES)
def test_a_network_is_exact_and_keeps_its_budget_on_every_unseen_input(
    name: str, bits: int, target: str, tmp_path: Path
) -> None:
    from corstone_models.gallery.unseen import JUDGED, unseen

    source, given = SOURCES[name], unseen(SOURCES[name], JUDGED, 1)[0]
    options = {"bits": bits, "target": target, "label": name}
    record = check(source, given, out=tmp_path, provider="emulator", references=("tosa", "float"), **options)
    assert record.verdict.outcome is Outcome.PASSED, record.verdict.reason
    assert any(c.exact and c.passed for c in record.verdict.comparisons)
    found = judged(build(source, given, **options), source, bits, tmp_path / "many")
    assert len(found) == 64
    assert [(i, one.lsb, one.capture.ending.message) for i, one in enumerate(found) if not one.passed] == []


def test_one_layer_with_a_wrong_scale_misses_the_budget(tmp_path: Path) -> None:
    from corstone_models.gallery.unseen import JUDGED, unseen

    source, given = SOURCES["keyword-spotting"], unseen(SOURCES["keyword-spotting"], JUDGED, 1)[0]
    right = build(source, given, bits=8, target="ethos-u55-128", label="keyword-spotting")
    wrong = replace(right, pte=tmp_path / "wrong.pte")
    wrong.pte.write_bytes(with_halved_layer(right.pte))
    found = judged(wrong, source, 8, tmp_path / "many")
    assert {one.capture.ending.outcome for one in found} == {Outcome.PASSED}
    assert sum(not one.passed for one in found) > 32, [one.lsb for one in found]


def with_halved_layer(pte: Path) -> bytes:
    """The program with the channels of its first operation, whose scales a DMA brings, shifted right by one more."""
    (blob,) = delegate_blobs(read_pte(pte)).values()
    written: dict[str, int] = {}
    for command in npu_commands(blob):
        if command.name == "CONV":
            break
        value = command.operands.get("value")
        if isinstance(value, int):
            written.setdefault(command.name, value)
    start = written["DMA0_SRC"] + written["SCALE_BASE"] - written["DMA0_DST"]
    weights = bytearray(blob.weights)
    for at in range(start + _SCALE_BYTES - 1, start + written["SCALE_LENGTH"], _SCALE_BYTES):
        weights[at] += 1
    whole = pte.read_bytes()
    assert whole.count(blob.weights) == 1
    return whole.replace(blob.weights, bytes(weights))
