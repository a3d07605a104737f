"""VGF: the tools are fetched once, and the acos table comes back as the TOSA graph holds it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corstone.causes import Cause
from corstone.errors import StageError, ToolError
from corstone.formats.flatbuf import Buffer
from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela
from corstone.vgf import TensorType, VgfTools, fetch_tools, find_tools, run_graph
from corstone.vgf.graph import retag

DATA = Path(__file__).parents[2] / "data"
CODES = np.arange(-128, 128).astype(np.int8)
OUTPUT = [TensorType((256,), "int8")]


@pytest.fixture(scope="module")
def tools() -> VgfTools:
    try:
        return fetch_tools(say=lambda _: None)
    except ToolError as error:
        pytest.skip(f"VGF tools: {error.message}")


def test_missing_tools_name_the_command_that_fetches_them(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        find_tools(tmp_path)
    assert caught.value.cause is Cause.MISSING_TOOL
    assert "corstone setup --vgf" in caught.value.hint


def test_retag_changes_the_serializer_release_and_nothing_else() -> None:
    before = (DATA / "acos-int8.tosa").read_bytes()
    after = retag(before)
    software = Buffer(after).root().table(2)
    assert software is not None
    assert [software.scalar(i, "i") for i in range(3)] == [2026, 2, 1]
    assert sum(a != b for a, b in zip(before, after, strict=True)) <= 12


def test_acos_through_vgf_is_the_table_that_vela_gives_the_npu(tools: VgfTools) -> None:
    (got,) = run_graph(DATA / "acos-int8.tosa", [CODES], OUTPUT, tools)
    # The first operation rescales by 1.0034 (both -128 and -127 land on -128), then the table answers.
    weights = read_vela(read_pte(DATA / "acos-int8-u55-128.pte").ethos_u[0].data).weights
    table = np.frombuffer(weights, np.int8)
    scaled = np.clip(np.floor(CODES.astype(np.int64) * 0x40383800 / 2**30 + 0.5), -128, 127).astype(int)
    np.testing.assert_array_equal(got, table[scaled + 128])


def test_a_graph_that_is_none_is_refused_by_step(tools: VgfTools, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tosa"
    broken.write_bytes((DATA / "acos-int8.tosa").read_bytes()[:400])
    with pytest.raises(StageError):
        run_graph(broken, [CODES], OUTPUT, tools)


def test_a_wrong_input_type_is_refused(tools: VgfTools) -> None:
    with pytest.raises(StageError, match="dispatch"):
        run_graph(DATA / "acos-int8.tosa", [CODES.astype(np.int16)], OUTPUT, tools)
