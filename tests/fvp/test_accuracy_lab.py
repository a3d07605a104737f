"""Heads of real use on two boards, and what is done with their captures: compare, bundle, replay, budgets."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corstone.accuracy.budget_file import load, save
from corstone.accuracy.compare import Kind, compare
from corstone.accuracy.curve import load_curve
from corstone.accuracy.scrub import Personal
from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.cli import main
from corstone.judge import divergences
from corstone.judge.divergences import Divergence
from corstone.pipeline import CheckRequest, check_all
from corstone.report.record import CaseRecord
from corstone_models.budgets import FILE

pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing")

HEADS = ("joint-angle", "orientation", "fisher-z")
U55, U85 = "ethos-u55-128", "ethos-u85-256"
ACOS = CheckRequest("acos", stimulus="codes", provider="emulator")
SEGMENTED = CheckRequest("orientation", 16, "segmented", stimulus="random", provider="emulator")
FIVE = ("float", "fake-quantized", "tosa", "command stream", "device")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run: the heads at int8 on both NPUs, acos on one."""
    out = tmp_path_factory.mktemp("lab")
    requests = [
        CheckRequest(head, stimulus="random", target=target, provider="emulator", out=out)
        for head in HEADS
        for target in (U55, U85)
    ]
    check_all([*requests, replace(ACOS, out=out), replace(SEGMENTED, out=out)])
    return out


@pytest.fixture
def acos(run: Path, tmp_path: Path) -> Path:
    """The acos case, in a folder of the test's own."""
    return Path(shutil.copytree(run / "cases" / ACOS.case_id, tmp_path / "case"))


def record(folder: Path) -> CaseRecord:
    return CaseRecord.from_json(json.loads((folder / "record.json").read_text()))


@pytest.mark.parametrize("target", [U55, U85])
@pytest.mark.parametrize("head", HEADS)
def test_a_head_is_exact_and_within_its_budget(run: Path, head: str, target: str) -> None:
    (folder,) = (run / "cases").glob(f"{head}-int8-fixed-{target}-*")
    found = record(folder)
    assert found.verdict.outcome is Outcome.PASSED, found.verdict.reason
    assert any(c.exact and c.passed for c in found.verdict.comparisons)
    (share,) = {c.budget_share for c in found.verdict.comparisons if c.reference == "float"}
    assert share is not None
    assert 0.3 < share <= 1
    assert stages(found) == FIVE
    # One delegate: nothing but quantize and dequantize is left to the CPU.
    assert len(json.loads((folder / "program.json").read_text())["tosa"]) == 1


def stages(found: CaseRecord) -> tuple[str, ...]:
    """The stages between which a verdict has distances; ``table`` is of one operator alone."""
    steps = found.verdict.stages
    assert all(a.later == b.earlier for a, b in itertools.pairwise(steps))
    return (steps[0].earlier, *(step.later for step in steps))


def test_a_segmented_head_has_every_stage_and_no_range_is_cut(run: Path) -> None:
    found = record(run / "cases" / SEGMENTED.case_id)
    assert found.verdict.outcome is Outcome.PASSED, found.verdict.reason
    assert stages(found) == FIVE
    first, *rest = found.verdict.stages
    assert first.first_index is not None
    assert [step.max_lsb for step in rest][1:] == [0.0, 0.0]
    # It was 813 steps while calibration saw less than was judged, and a histogram cut the ends off.
    (worst,) = (c.max_lsb for c in found.verdict.comparisons if not c.exact)
    assert worst < 8


def test_the_same_networks_on_two_targets_answer_the_same(run: Path) -> None:
    report = compare(run)
    assert len(report.pairs) == len(HEADS)
    assert report.same, [p.message for p in report.pairs]


def altered(case: Path, into: Path, codes: dict[int, int]) -> Path:
    """The case with other answers at some input codes, as another version might give them."""
    folder = Path(shutil.copytree(case, into))
    output = folder / "out-0.bin"
    values = np.fromfile(output, np.float32)
    program = json.loads((folder / "program.json").read_text())
    scale = program["output_qparams"][0]["scale"]
    for code, steps in codes.items():
        values[code + 128] += np.float32(steps * scale)
    values.tofile(output)
    return folder


def test_differences_are_listed_by_code(acos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = altered(acos, tmp_path / "other", {100: 1, -5: 3})
    (pair,) = compare(acos, other).pairs
    assert pair.kind is Kind.BITS
    (output,) = pair.outputs
    assert output.differing == 2
    assert output.max_lsb == pytest.approx(3, rel=1e-3)
    found = [(e.input_code, (e.b_code or 0) - (e.a_code or 0)) for e in output.elements]
    assert found == [(-5, 3), (100, 1)]
    assert main(["compare", str(acos), str(other), "--json", str(tmp_path / "c.json")]) == 1
    assert "2 of 256 elements differ, by up to 3 output steps" in capsys.readouterr().out
    assert json.loads((tmp_path / "c.json").read_text())["same"] is False
    assert main(["compare", str(acos), str(acos)]) == 0


def test_a_failure_that_passes_now_is_news_and_the_reverse_is_worse(acos: Path, tmp_path: Path) -> None:
    failed = Path(shutil.copytree(acos, tmp_path / "failed"))
    old = record(failed)
    verdict = replace(old.verdict, outcome=Outcome.FAILED, cause=Cause.ACCURACY)
    replace(old, verdict=verdict, versions={**old.versions, "vela": "5.0.0"}).save(failed / "record.json")
    report = compare(failed, acos)
    assert [p.kind for p in report.pairs] == [Kind.NEWS]
    assert report.versions == {"vela": ("5.0.0", old.versions["vela"])}
    assert main(["compare", str(failed), str(acos)]) == 1
    assert main(["compare", str(failed), str(acos), "--accept-news"]) == 0
    assert [p.kind for p in compare(acos, failed).pairs] == [Kind.WORSE]
    assert main(["compare", str(acos), str(failed), "--accept-news"]) == 1


def test_a_known_divergence_that_is_not_seen_is_news(
    acos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Divergence("made-up", "TABLE", "int8", ("ethos-u55",), "tables are reported to be upside down", "this test")
    monkeypatch.setattr(divergences, "KNOWN", (row,))
    # No FVP is here: the emulator's results stand for one's.
    fvp = Path(shutil.copytree(acos, tmp_path / "fvp"))
    mine = record(fvp)
    assert mine.executor is not None
    replace(mine, executor=replace(mine.executor, kind="fvp")).save(fvp / "record.json")
    (pair,) = compare(fvp, acos).pairs
    assert pair.kind is Kind.NEWS
    assert "a known divergence is not seen" in pair.message
    assert any("made-up" in note for note in pair.notes)
    assert [p.kind for p in compare(fvp, altered(acos, tmp_path / "other", {3: 1})).pairs] == [Kind.BITS]
    assert [p.kind for p in compare(acos, acos).pairs] == [Kind.SAME]


def test_results_that_lack_a_side_or_their_outputs_are_not_the_same(run: Path, acos: Path, tmp_path: Path) -> None:
    lacking = compare(run, acos)
    assert {p.kind for p in lacking.pairs} == {Kind.MISSING, Kind.SAME}
    assert not lacking.same
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(acos / "record.json", bare)
    (pair,) = compare(acos, bare).pairs
    assert pair.kind is Kind.MISSING
    assert "has no capture here" in pair.message
    (tmp_path / "empty").mkdir()
    assert main(["compare", str(tmp_path / "empty"), str(acos)]) == 2


def test_a_bundle_replays_elsewhere(acos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = tmp_path / "acos.zip"
    assert main(["bundle", str(acos), "-o", str(bundle)]) == 0
    elsewhere = tmp_path / "elsewhere"
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(elsewhere)
    names = {str(p.relative_to(elsewhere)) for p in elsewhere.rglob("*") if p.is_file()}
    assert {
        "README.md", "bundle.json", "qparams.json", "source/unary.py", "stream/delegate-0.txt", "program/program.pte",
        "program/delegate-0.tosa", "program/exported.pt2", "capture/in-0.bin", "capture/out-0.bin",
    } <= names  # fmt: skip
    assert " POOL " in (elsewhere / "stream" / "delegate-0.txt").read_text()
    shutil.rmtree(acos)
    done = subprocess.run(
        [sys.executable, "-m", "corstone.cli", "bundle", "--replay", ".", "--provider", "emulator"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "bundle says PASSED (none); now PASSED (none)" in done.stdout
    capsys.readouterr()


def test_a_bundle_of_other_bytes_says_so(acos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    altered(acos, tmp_path / "other", {100: 1})
    bundle = tmp_path / "other.zip"
    assert main(["bundle", str(tmp_path / "other"), "-o", str(bundle)]) == 0
    assert main(["bundle", "--replay", str(bundle), "--provider", "emulator"]) == 1
    assert "bundle says FAILED (bits); now PASSED (none)" in capsys.readouterr().out


def test_a_bundle_that_was_changed_or_is_none_is_refused(acos: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "acos.zip"
    assert main(["bundle", str(acos), "-o", str(bundle)]) == 0
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path / "open")
    (tmp_path / "open" / "capture" / "in-0.bin").write_bytes(b"\0" * 1024)
    assert main(["bundle", "--replay", str(tmp_path / "open")]) == 2
    (tmp_path / "no.zip").write_text("no zip")
    assert main(["bundle", "--replay", str(tmp_path / "no.zip")]) == 2
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
        archive.writestr("../outside.txt", "x")
    assert main(["bundle", "--replay", str(tmp_path / "out.zip")]) == 2
    assert not (tmp_path.parent / "outside.txt").exists()


@pytest.fixture
def alice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Somebody with a home and a name of her own."""
    home = tmp_path / "homes" / "alice.liddell"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("LOGNAME", "USER"):
        monkeypatch.setenv(name, "alice.liddell")
    monkeypatch.setattr("socket.gethostname", lambda: "rabbit-hole-7")
    return (yield home)


def everything(bundle: Path) -> Iterator[tuple[str, bytes]]:
    """Every file in a zip, and in the zips in it."""
    with zipfile.ZipFile(bundle) as archive:
        for entry in archive.namelist():
            data = archive.read(entry)
            yield entry, data
            if entry.endswith(".pt2"):
                (inner := bundle.parent / "inner.zip").write_bytes(data)
                yield from everything(inner)


def test_nothing_personal_is_in_a_bundle(acos: Path, alice: Path, tmp_path: Path) -> None:
    case = Path(shutil.copytree(acos, alice / "runs" / "case"))
    with (case / "console.log").open("ab") as console:
        console.write(f"\nloaded {alice}/models/x.bin on rabbit-hole-7 for alice.liddell\n".encode())
    stored = Capture.load(case)
    replace(stored, command=(*stored.command, f"{alice}/bin/fvp", "/tmp/scratch-99/x")).save()
    bundle = tmp_path / "b.zip"
    assert main(["bundle", str(case), "-o", str(bundle)]) == 0
    words = [str(alice), "alice", "rabbit-hole", str(tmp_path), "/tmp/", str(Path(__file__).parents[2]), sys.prefix]
    files = list(everything(bundle))
    assert any(name.endswith("model.json") for name, _ in files)
    for name, data in files:
        for word in words:
            assert word.encode() not in data, f"{word} in {name}"
    assert main(["bundle", "--replay", str(bundle), "--provider", "emulator"]) in (0, 3)


def test_an_exported_program_still_loads_after_its_paths_were_taken_out(acos: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    assert main(["bundle", str(acos), "-o", str(tmp_path / "b.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        archive.extract("program/exported.pt2", tmp_path)
    graph = torch.export.load(tmp_path / "program" / "exported.pt2").module()
    assert float(graph(torch.full((256,), 1.0))[0]) == 0.0


def test_words_that_only_look_personal_stay() -> None:
    personal = Personal((("/home/eve", "<home>"),), (("eve", "<user>"),))
    text = "every level, https://github.com/a/b, /usr/bin/env, a/b, /home/eve/x /srv/data/net.py eve"
    assert personal.text(text) == (
        "every level, https://github.com/a/b, /usr/bin/env, a/b, <home>/x <path>/net.py <user>"
    )


def test_captures_tighten_a_budget_and_never_loosen_one(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "budgets.json"
    wide = {
        name: tuple(replace(r, budget=replace(r.budget, max_lsb=100.0)) for r in rows)
        for name, rows in load(FILE).items()
        if name == "fisher-z/8/fixed"
    }
    save(file, wide)
    captures = [str(p) for p in sorted((run / "cases").glob("fisher-z-*"))]
    assert main(["budget", "tighten", *captures, "--file", str(file)]) == 0
    assert "100 -> " in capsys.readouterr().out
    (row,) = load(file)["fisher-z/8/fixed"]
    assert row.measured_lsb is not None
    assert row.measured_lsb < row.budget.max_lsb < row.measured_lsb * 1.12
    save(file, {"fisher-z/8/fixed": (replace(row, budget=replace(row.budget, max_lsb=0.5)),)})
    before = file.read_bytes()
    assert main(["budget", "tighten", *captures, "--file", str(file)]) == 1
    assert "raising it is an edit by hand" in capsys.readouterr().out
    assert file.read_bytes() == before
    assert main(["budget", "show", *captures, "--file", str(file)]) == 0
    assert os.linesep in capsys.readouterr().out


def test_a_sweep_compares_codes_towards_a_pole_with_the_ranges_end_as_the_verdict_does(tmp_path: Path) -> None:
    request = CheckRequest("reciprocal", policy="fixed", stimulus="codes", provider="emulator", out=tmp_path)
    (found,) = check_all([request])
    assert found.verdict.outcome is Outcome.PASSED
    curve = load_curve(found)
    assert curve.max_lsb < 1
    assert curve.count == 255
    assert ["pole" in note for note in curve.notes] == [True]


def test_without_an_exact_answer_a_table_at_a_pole_is_no_device_fault(tmp_path: Path) -> None:
    """int16 reciprocal: TOSA calls its nodes at 0 unpredictable, so nothing exact stands before the device."""
    request = CheckRequest("reciprocal", 16, "fixed", stimulus="codes", provider="emulator", out=tmp_path)
    (found,) = check_all([request])
    assert found.verdict.outcome is Outcome.FAILED
    curve = load_curve(found)
    assert curve.first_difference
    assert "device fault" not in curve.first_difference
    assert curve.first_difference.startswith("lowering or device: ")


def test_a_code_below_acoshs_domain_that_an_input_inside_becomes_is_no_pass(tmp_path: Path) -> None:
    """acosh starts at 1 and its observed range at 0: input 1.0 becomes code -65, which stands for 0.9928."""
    whole = CheckRequest("acosh", policy="observer", stimulus="codes", provider="emulator", out=tmp_path)
    log, fixed = replace(whole, network="log"), replace(whole, policy="fixed")
    found = check_all([whole, log, fixed])
    assert [record.verdict.cause for record in found] == [Cause.OUT_OF_DOMAIN, Cause.NONE, Cause.NONE]
    assert "1 input codes from -65 (0.992812)" in found[0].verdict.reason
