"""Host targets: from a network to a verdict without a board, and never counted as a device."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError, HarnessError
from corstone.pipeline import CheckRequest, check_all, check_one, judge_capture
from corstone.report import terminal
from corstone.report.record import CaseRecord
from corstone.targets import target
from corstone.vgf import find_tools
from pytest_corstone.tally import TestTally


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CaseRecord]:
    """acos on every host target there are tools for, out of one compile child."""
    out = tmp_path_factory.mktemp("host")
    names = ["tosa-fp", "tosa-int"]
    with contextlib.suppress(HarnessError):
        find_tools()
        names += ["vgf-fp", "vgf-int"]
    requests = [CheckRequest("acos", target=name, out=out) for name in names]
    return {record.target: record for record in check_all(requests)}


def test_tosa_int_is_judged_by_table_and_float(records: dict[str, CaseRecord]) -> None:
    record = records["tosa-int"]
    assert record.verdict.outcome is Outcome.PASSED, record.verdict.reason
    compared = {c.reference: (c.exact, c.count) for c in record.verdict.comparisons}
    assert compared == {"table": (True, 256), "float": (False, 256)}
    assert (record.board, record.bits, record.case_id) == ("host", 8, "acos-int8-fixed-tosa-int-host-codes")
    assert any(note.startswith("no board: host reference") for note in record.verdict.notes)


def test_tosa_fp_has_no_width_and_is_judged_by_distance_alone(records: dict[str, CaseRecord]) -> None:
    record = records["tosa-fp"]
    assert record.verdict.outcome is Outcome.PASSED, record.verdict.reason
    (comparison,) = record.verdict.comparisons
    assert (comparison.reference, comparison.exact) == ("float", False)
    assert 0 < comparison.max_abs < 4e-3
    assert (record.bits, record.policy, record.case_id) == (0, "", "acos-float-tosa-fp-host-ramp")


def test_a_host_target_is_no_device(records: dict[str, CaseRecord]) -> None:
    assert terminal.ran_on_device(list(records.values())).startswith(f"0 of {len(records)} ran on a device")
    assert TestTally("test", records=list(records.values())).kinds == set()
    with pytest.raises(ConfigError, match="has no board"):
        target("tosa-int")


def test_a_stored_host_capture_with_another_bit_fails(records: dict[str, CaseRecord]) -> None:
    for name, cause in (("tosa-int", Cause.BITS), ("tosa-fp", Cause.ACCURACY)):
        folder = Path(records[name].capture)
        output = folder / "out-0.bin"
        before = output.read_bytes()
        try:
            output.write_bytes(b"\x00\x00\x80\x40" + before[4:])
            assert judge_capture(folder).verdict.cause is cause
        finally:
            output.write_bytes(before)
    assert judge_capture(Path(records["tosa-fp"].capture)).verdict.outcome is Outcome.PASSED


def test_vgf_plain_and_quantized(records: dict[str, CaseRecord]) -> None:
    if "vgf-int" not in records:
        pytest.skip("the VGF tools are not installed: corstone setup --vgf")
    found = [records["vgf-fp"], records["vgf-int"]]
    assert [record.verdict.outcome for record in found] == [Outcome.PASSED] * 2, found
    exact = [{c.reference for c in record.verdict.comparisons if c.exact} for record in found]
    assert exact == [set(), {"table", "tosa"}]


def test_vgf_without_its_tools_is_an_error_with_the_way_out(
    records: dict[str, CaseRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del records
    import corstone.vgf.tools

    monkeypatch.setattr(corstone.vgf.tools, "cache_dir", lambda: tmp_path / "empty")
    request = CheckRequest("acos", target="tosa-int", out=tmp_path)
    verdict = check_one(replace(request, references=("table", "tosa", "vgf", "float"))).verdict
    assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.MISSING_TOOL)
    assert "corstone setup --vgf" in verdict.hint


CONVOLUTION = """
import torch


class Convolution(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Conv2d(2, 3, 3)

    def forward(self, x):
        return torch.relu(self.layer(x))


example_inputs = (torch.linspace(-1, 1, 72).reshape(1, 2, 6, 6),)
"""


def test_a_convolution_is_judged_by_vgf_or_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference model does not judge itself, and ``table`` has no convolution."""
    import corstone.vgf.tools

    source = tmp_path / "net.py"
    source.write_text(CONVOLUTION)
    request = CheckRequest(f"{source}:Convolution", target="tosa-int", out=tmp_path, stimulus="example")
    with monkeypatch.context() as patch:
        patch.setattr(corstone.vgf.tools, "_folder", lambda _cache: tmp_path / "empty")
        # An answer of an earlier run would need no tools.
        patch.setattr("corstone.reference.answers.kept", lambda *parts: parts[-1]())
        verdict = check_one(request).verdict
    assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.REFERENCE)
    assert "does not interpret CONV2D" in verdict.reason
    assert "corstone setup --vgf" in " ".join(verdict.notes)
    try:
        find_tools()
    except HarnessError as error:
        pytest.skip(f"the VGF tools are not installed: {error}")
    verdict = check_one(request).verdict
    assert verdict.outcome is Outcome.PASSED, verdict.reason
    assert {c.reference for c in verdict.comparisons if c.exact} == {"vgf"}
