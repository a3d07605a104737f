"""The cause of the first difference, by name: planted faults in tables, and each stage of one operator."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.accuracy.making import int8, int16, table, with_entries

from corstone.accuracy.tables import TableUse, expected_entries
from corstone.judge.fake import answers, exact_codes
from corstone.judge.first import Why, _entry, _quantization, table_fault

ACOS = table("acos", int8(2 / 256), int8(math.pi / 255, -128))
ASIN_16 = table("asin", int16(2 / 65536), int16(math.pi / 2 / 32767))


def test_a_planted_wrong_entry_is_found_and_named() -> None:
    planted = with_entries(ACOS, e40=ACOS.entries[40] + 9)
    assert table_fault(planted) is None
    why, detail = _entry(planted, 40 - 128)
    assert why is Why.WRONG_ENTRY
    assert f"entry 40 behind code -88 is {ACOS.entries[40] + 9}, expected {ACOS.entries[40]}" in detail
    assert _entry(planted, 41 - 128)[0] is Why.ROUNDING


def test_a_planted_wrong_scale_is_found_and_named() -> None:
    half = replace(ASIN_16, entries=np.rint(ASIN_16.entries * 0.5).astype(np.int64))
    found = table_fault(half)
    assert found is not None
    assert found[0] is Why.WRONG_SCALE
    assert "times 0.5" in found[1]


def test_a_planted_wrong_operator_is_found_and_named() -> None:
    other = replace(ASIN_16, operator="atan")
    found = table_fault(replace(ASIN_16, entries=expected_entries(other)))
    assert found is not None
    assert found == (Why.WRONG_OPERATOR, "the table of asin holds atan")


def test_constant_and_truncated_tables() -> None:
    constant = table_fault(replace(ACOS, entries=np.zeros(256, np.int64)))
    assert constant is not None
    assert constant[0] is Why.CONSTANT
    small = table("sigmoid", int16(8 / 32768), int16(1 / 4096))
    truncated = table_fault(replace(small, entries=small.entries >> 5))
    assert truncated is not None
    assert truncated[0] is Why.TRUNCATED


@pytest.mark.parametrize(
    ("use", "code", "why"),
    [
        (ASIN_16, -32735, Why.INTERPOLATION),
        (table("asin", int16(1 / 32767), int16(math.pi / 2 / 32767)), -32700, Why.NAN),
        (table("atanh", int16(1 / 32768), int16(1e-4)), 32700, Why.INFINITY),
        (table("acos", int8(1 / 127), int8(math.pi / 21)), 0, Why.SCALE_TIE),
        (ACOS, 5, Why.ROUNDING),
    ],
)
def test_what_entries_behind_a_code_explain(use: TableUse, code: int, why: Why) -> None:
    assert _entry(use, code)[0] is why


@pytest.mark.parametrize(
    ("use", "x", "code", "why"),
    [
        (ACOS, 1.0, 127, Why.INPUT_CLIPPED),
        (table("acos", int8(0.007839), int8(math.pi / 255, -128)), -1.0, -128, Why.CODE_OUTSIDE),
        (table("acos", int8(0.02), int8(math.pi / 255, -128)), -1.2, -60, Why.NAN),
        (table("atanh", int8(1 / 127), int8(0.03)), 1.0, 127, Why.INFINITY),
        (table("asin", int8(1 / 127), int8(0.01)), 1.0, 127, Why.OUTPUT_CLIPPED),
        (ACOS, 0.3, 38, Why.ROUNDING),
    ],
)
def test_input_and_output_clipping_are_told_apart(use: TableUse, x: float, code: int, why: Why) -> None:
    assert _quantization(use, x, code)[0] is why


def test_the_sentence_of_rounding_says_how_far_a_steep_operator_moves_the_answer() -> None:
    """atanh int8 at its fixed scale: the last code stands for 127/128, 8 output steps from the input beside it."""
    atanh = table("atanh", int8(1 / 128), int8(math.atanh(127 / 128) / 127))
    x = 127 * 2 / 255
    why, detail = _quantization(atanh, x, 127)
    output = atanh.output
    assert output is not None
    moved = (math.atanh(x) - math.atanh(127 / 128)) / output.scale
    assert moved > 8
    assert why is Why.ROUNDING
    assert f"moves by {(x * 128 - 127):.2g} of its steps, which atanh makes {moved:.2g} output steps" in detail
    why, detail = _quantization(table("log", int8(1 / 128), int8(0.04)), 0.0, 0)
    assert why is Why.INFINITY
    why, detail = _quantization(table("log", int8(1 / 128), int8(0.04)), -0.5 / 128 + 1 / 128 + 1e-6, 1)
    assert why is Why.ROUNDING
    assert "which log makes 17 output steps" in detail


def test_the_fake_quantized_answer_of_one_operator_is_its_table() -> None:
    codes = np.arange(-128, 128)
    assert ACOS.output is not None
    want = (ACOS.entries - ACOS.output.zero_point) * np.float32(ACOS.output.scale)
    assert np.abs(answers(ACOS, codes) - want).max() < 1e-6
    assert np.isfinite(exact_codes(ACOS, codes)).all()
