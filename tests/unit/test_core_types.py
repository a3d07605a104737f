"""The shared types survive their way through JSON, and outcomes order as documented."""

from __future__ import annotations

from pathlib import Path

from corstone.capture import Capture, Ending, Executor
from corstone.causes import Cause, Outcome, worst
from corstone.errors import ConfigError
from corstone.judge.verdict import Comparison, Verdict, WorstElement
from corstone.program import Program, Provenance, QParams, TensorSpec
from corstone.report.record import CaseRecord


def test_program_round_trip_keeps_paths_relative_to_its_folder(tmp_path: Path) -> None:
    spec = TensorSpec("x", "float32", (2, 3))
    program = Program(
        pte=tmp_path / "p.pte",
        target="ethos-u55-128",
        inputs=(spec,),
        outputs=(TensorSpec("y", "int8", ()),),
        tosa=(tmp_path / "a.tosa",),
        input_qparams=(QParams(0.5, 0, -128, 127, "int8"),),
        output_qparams=(None,),
        provenance=(Provenance("vela", "aa", "bb", "vela", "5.1.0", {"--x": "1"}),),
    )
    program.save(tmp_path / "program.json")
    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / "program.json").rename(moved / "program.json")
    loaded = Program.load(moved / "program.json")
    assert loaded.pte == moved / "p.pte"
    assert loaded.inputs == program.inputs
    assert loaded.outputs[0].count == 1
    assert loaded.provenance == program.provenance
    assert loaded.input_qparams == program.input_qparams


def test_capture_round_trip(tmp_path: Path) -> None:
    (tmp_path / "out-0.bin").write_bytes(b"abc")
    capture = Capture(
        folder=tmp_path,
        executor=Executor("emulator", "corstone-emulator", "0.1.0"),
        board="corstone-300",
        target="ethos-u55-128",
        runner="mlek",
        runner_sha256="00",
        ending=Ending(Outcome.PASSED, Cause.NONE, "finished"),
        outputs=("out-0.bin",),
        counters={"NPU ACTIVE": 3},
    )
    capture.save()
    assert Capture.load(tmp_path) == capture
    assert capture.output_bytes() == (b"abc",)


def test_record_round_trip() -> None:
    element = WorstElement((0, 1), 1.0, 2.0, 3.0, 0.5, 64)
    verdict = Verdict(
        Outcome.FAILED,
        Cause.BITS,
        "differs",
        comparisons=(Comparison("tosa", 0, 4, 1, 3.0, 1.0, True, False, worst=(element,)),),
    )
    record = CaseRecord("id", "acos", 8, "fixed", "ethos-u55-128", "corstone-300", "codes", verdict)
    assert CaseRecord.from_json(record.to_json()) == record


def test_worst_outcome_wins_and_nothing_is_an_error() -> None:
    assert worst([Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED]) is Outcome.FAILED
    assert worst([Outcome.TIMED_OUT, Outcome.CRASHED]) is Outcome.CRASHED
    assert worst([]) is Outcome.ERROR


def test_exit_codes() -> None:
    def code(outcome: Outcome, cause: Cause) -> int:
        return Verdict(outcome, cause, "").exit_code

    assert code(Outcome.PASSED, Cause.NONE) == 0
    assert code(Outcome.FAILED, Cause.BITS) == 1
    assert code(Outcome.ERROR, Cause.BAD_INPUT) == 2
    assert code(Outcome.ERROR, Cause.COMPILE) == 3
    assert code(Outcome.CRASHED, Cause.CPU_FAULT) == 4
    assert code(Outcome.TIMED_OUT, Cause.NO_PROGRESS) == 4
    assert code(Outcome.NO_OUTPUT, Cause.CANARY) == 4
    assert code(Outcome.SKIPPED, Cause.NO_DEVICE) == 5


def test_error_prints_message_facts_and_what_to_do() -> None:
    text = str(ConfigError("no such target 'x'", hint="use one of a, b", evidence={"got": "x"}))
    assert "no such target" in text
    assert "got: x" in text
    assert "what to do: use one of a, b" in text
