"""A short run of the differential fuzzer: random networks through Vela, against the TOSA reference model."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from corstone.emulator.npu.fuzz import campaign
from corstone.emulator.npu.fuzz.compiler import CompileFailed, Compiler
from corstone.emulator.npu.fuzz.differential import Outcome, judge, reference, run_case
from corstone.emulator.npu.fuzz.known import known_divergence
from corstone.emulator.npu.fuzz.networks import draw
from corstone.emulator.npu.fuzz.special import condition, loop
from corstone.emulator.npu.fuzz.store import load
from corstone.emulator.npu.offline import run_delegate
from corstone.targets import TARGETS

pytest.importorskip("tosa_reference_model", reason="the TOSA tools are not installed")
pytest.importorskip("ethosu.vela", reason="Vela is not installed")


def test_random_networks_are_equal_on_every_target() -> None:
    targets = list(TARGETS)
    with Compiler() as compiler:
        outcomes = [run_case(seed, targets[seed % len(targets)], compiler) for seed in range(900_000, 900_066)]
    wrong = [case for case in outcomes if case.kind in ("different", "stopped") and not case.known]
    equal = {case.target for case in outcomes if case.kind == "equal"}
    assert wrong == []
    assert equal == set(targets)


def test_loops_and_conditions_are_equal_for_taken_and_fallen_through_branches() -> None:
    networks = [*(loop(start) for start in (0, 1, 4, 5, 9)), condition(True), condition(False)]
    with Compiler() as compiler:
        for network in networks:
            expected = reference(network)
            assert expected is not None
            blob = compiler.compile(network.graph, "ethos-u85-512", "Sram_Only")
            assert judge(0, "ethos-u85-512", (), blob, network.inputs, expected).kind == "equal"


def test_a_seed_is_one_network() -> None:
    first, second = draw(12, "U85"), draw(12, "U85")
    assert first.graph == second.graph
    assert [x.tobytes() for x in first.inputs] == [x.tobytes() for x in second.inputs]


def test_what_vela_refuses_is_named() -> None:
    with Compiler() as compiler, pytest.raises(CompileFailed, match=r"\w+"):
        compiler.compile(b"not a graph", "ethos-u55-128", "Sram_Only")


def test_a_compiler_that_does_not_end_is_stopped() -> None:
    network = draw(3, "U55")
    with Compiler(deadline_s=0.0) as compiler, pytest.raises(CompileFailed, match="did not end"):
        compiler.compile(network.graph, "ethos-u55-128", "Sram_Only")


def test_only_a_listed_combination_explains_a_difference() -> None:
    assert known_divergence(("slice", "conv"), "ethos-u55-128", "output 0") == "slice-window"
    assert known_divergence(("conv", "add"), "ethos-u55-128", "output 0") == ""
    assert known_divergence(("matmul", "concat"), "ethos-u65-256", "output 0") == "matmul-concat"
    assert known_divergence(("matmul", "concat"), "ethos-u85-256", "output 0") == ""
    both = ("reduce_sum", "reduce_extreme")
    assert known_divergence(both, "ethos-u65-512", "NPU overlap fault in CONV") == "reduce-bricks"
    assert known_divergence(both, "ethos-u65-512", "output 0") == ""
    assert known_divergence(("conv_apart", "add"), "ethos-u85-256", "output 0") == ""
    assert known_divergence(("conv_apart", "transpose"), "ethos-u85-256", "output 0") == "apart-write"
    assert Outcome(0, "ethos-u55-128", ("slice", "conv"), "equal").known == ""


def test_a_campaign_counts_every_case_and_stores_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = ["ethos-u55-128", "ethos-u85-256"]
    counts = campaign.run(range(900_000, 900_006), targets, 100.0, tmp_path / "kept.npz", print)
    assert sum(counts.outcomes.values()) == 6
    assert counts.total("different") == 0
    assert not (tmp_path / "kept.npz").exists()
    # What is taken for a difference is stored with the reference's answer.
    real = run_case
    monkeypatch.setattr(campaign, "run_case", lambda *a: dataclasses.replace(real(*a), kind="different", operators=()))
    shown: list[Outcome] = []
    campaign.run(range(900_001, 900_002), targets, 100.0, tmp_path / "kept.npz", shown.append)
    (case,) = load(tmp_path / "kept.npz")
    assert len(shown) == 1
    assert run_delegate(case.blob, case.inputs).outputs == case.outputs
