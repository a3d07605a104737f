"""Feature maps found among a graph's tensors: whole, in other orders, in part, nearly, and not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from corstone.formats.pte import read_pte
from corstone.looking.matching import inner_tensors, match
from corstone.looking.walk import walk
from corstone.program import Program

DATA = Path(__file__).parents[2] / "data"
Array = npt.NDArray[Any]


def _tensors() -> dict[str, Array]:
    rng = np.random.default_rng(5)
    shapes = {"first": (1, 6, 5, 8), "second": (1, 6, 5, 8), "third": (1, 12)}
    return {name: rng.integers(-128, 128, shape, dtype=np.int8) for name, shape in shapes.items()}


def test_a_whole_tensor_is_found_in_its_own_shape_and_in_another() -> None:
    tensors = _tensors()
    found = match([tensors["second"].reshape(6, 5, 8), tensors["second"].reshape(2, 15, 8)], tensors)
    assert [m.tensor for m in found if m] == ["second", "second"]
    assert all(m and m.equal and m.part == "whole" for m in found)


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_a_transposed_map_is_found(order: tuple[int, int, int]) -> None:
    tensors = _tensors()
    (found,) = match([tensors["first"][0].transpose(order)], tensors)
    assert found
    assert found.tensor == "first"
    assert found.equal


def test_a_stripe_of_rows_and_some_channels_are_parts() -> None:
    tensors = _tensors()
    image = tensors["first"][0]
    stripe, channels = match([image[2:4], image[:, :, 3:5]], tensors)
    assert stripe
    assert (stripe.tensor, stripe.part) == ("first", f"elements {2 * 40}:{4 * 40}")
    assert channels
    assert (channels.tensor, channels.part) == ("first", "channels 3:5")


def test_a_nearly_equal_map_says_where_it_differs_first() -> None:
    tensors = _tensors()
    wrong = tensors["second"][0].copy()
    wrong[3, 1, 2] ^= 1
    wrong[5, 4, 7] ^= 1
    good, bad = match([tensors["first"][0], wrong], tensors)
    assert good
    assert good.equal
    assert bad
    assert (bad.tensor, bad.differing, bad.first) == ("second", 2, (0, 3, 1, 2))
    assert bad.expected == tensors["second"][0, 3, 1, 2]
    assert bad.got == wrong[3, 1, 2]


def test_a_strange_map_another_type_and_no_map_are_nothing() -> None:
    tensors = _tensors()
    strange = np.random.default_rng(6).integers(-128, 128, (6, 5, 8), dtype=np.int8)
    assert match([strange, tensors["first"][0].astype(np.int16), None], tensors) == [None, None, None]


def test_equal_tensors_are_told_apart_by_their_order() -> None:
    one = np.arange(8, dtype=np.int8).reshape(1, 8)
    tensors = {"a": one, "between": one + 1, "b": one.reshape(2, 4)}
    found = match([one.reshape(1, 1, 8), (one + 1).reshape(1, 1, 8), one.reshape(1, 1, 8)], tensors)
    assert [m.tensor for m in found if m] == ["a", "between", "b"]


def test_bool_tensors_are_bytes_on_the_npu() -> None:
    flags = np.array([[True, False, True, True]])
    (found,) = match([flags.astype(np.int8).reshape(1, 1, 4)], {"flags": flags})
    assert found
    assert found.tensor == "flags"


def test_a_compiled_program_walks_and_its_feature_map_is_the_table() -> None:
    path = DATA / "acos-int8-u55-128.pte"
    pte = read_pte(path)
    program = Program(path, "ethos-u55-128", pte.input_specs, pte.output_specs, (DATA / "acos-int8.tosa",))
    (spec,) = pte.input_specs
    walked = walk(pte, [np.linspace(-1, 1, spec.count).astype(np.float32).reshape(spec.shape)])
    (tensors,) = inner_tensors(program, walked)
    (commands,) = walked.commands
    named = {c.name: m.tensor for c, m in zip(commands, match([c.ofm for c in commands], tensors), strict=True) if m}
    assert named == {"POOL.AVERAGE": tuple(tensors)[-1]}
    assert walked.calls[0].outputs[0].view(np.int8).tobytes() == tensors[named["POOL.AVERAGE"]].tobytes()
    pool = next(c for c in commands if c.name == "POOL.AVERAGE")
    assert pool.tensors["OFM"]["format"] in ("NHWC", "NHCWB16")
    assert commands[0].registers
    assert commands[-1].name == "STOP"
    assert walked.stats[0].ops == 2
