"""The plan interpreter and its kernels: by hand, and on every program captured from ExecuTorch's suite."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import (
    DelegateCall,
    Instruction,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    PteFile,
    TensorValue,
    Value,
    read_pte,
)
from corstone.reference.kernels.quant import dequantize_per_tensor, quantize_per_tensor
from corstone.reference.plan import from_memory, run_plan, to_memory

ARCHIVE = Path(__file__).parents[4] / "shared" / "corpus" / "programs-dev.tar.xz"


def tensor(shape: tuple[int, ...], dtype: str = "float32", order: tuple[int, ...] = ()) -> Value:
    return Value("tensor", TensorValue(dtype, shape, order or tuple(range(len(shape))), None, (1, 0)))


def plan(values: list[Value], inputs: tuple[int, ...], outputs: tuple[int, ...], *steps: Instruction) -> PteFile:
    return PteFile("forward", tuple(values), inputs, outputs, steps, (), (0,), "", 0)


def refuse(*_: Any) -> Any:
    raise AssertionError("no delegate is called here")


def test_quantize_rounds_ties_to_even_and_clamps() -> None:
    out = TensorValue("int8", (7,), (0,), None, None)
    x = np.array([0.25, 0.75, -0.25, 1e9, -np.inf, np.nan, 3.0], np.float32)
    assert quantize_per_tensor([x, 0.5, 3, -127, 127], out).tolist() == [3, 5, 3, 127, -127, 3, 9]


def test_quantize_multiplies_by_the_float32_reciprocal() -> None:
    # 0.5 / 0.007839307... is a hair from a tie; the product with the rounded reciprocal decides.
    scale = 0.007839307188987732
    x = np.arange(-128, 128).astype(np.float32) * np.float32(scale) + np.float32(scale / 2)
    out = TensorValue("int8", (256,), (0,), None, None)
    expected = np.clip(np.rint(x * (np.float32(1) / np.float32(scale))), -128, 127)
    assert np.array_equal(quantize_per_tensor([x, scale, 0, -128, 127], out), expected.astype(np.int8))


def test_dequantize_is_one_float32_product() -> None:
    out = TensorValue("float32", (2,), (0,), None, None)
    result = dequantize_per_tensor([np.array([-128, 127], np.int8), 0.1, 7], out)
    assert result.dtype == np.float32
    assert result.tolist() == [float(np.float32(-135) * np.float32(0.1)), float(np.float32(120) * np.float32(0.1))]


def test_memory_order_and_back() -> None:
    x = np.arange(24, dtype=np.int8).reshape(1, 2, 3, 4)
    channels_last = (0, 2, 3, 1)
    flat = to_memory(x, channels_last)
    assert flat[:4].tolist() == [0, 12, 1, 13]
    assert np.array_equal(from_memory(flat, x.shape, channels_last), x)
    scalar = np.array(5, np.int8)
    assert from_memory(to_memory(scalar, ()), (), ()) == scalar


def test_moves_and_jumps() -> None:
    values = [tensor((2,)), tensor((1,), "bool"), tensor((2,))]
    steps = (JumpFalseCall(1, 2), MoveCall(0, 2), JumpFalseCall(1, 4), MoveCall(0, 2))
    x = np.array([1.0, 2.0], np.float32)
    program = plan(values, (0, 1), (2,), *steps)
    result = run_plan(program, [x, np.array([True])], refuse, ())
    assert result.outputs[0].tolist() == [1.0, 2.0]
    with pytest.raises(ConfigError, match="before anything wrote it"):
        run_plan(program, [x, np.array([False])], refuse, ())


def test_a_plan_that_never_ends_is_refused() -> None:
    program = plan([tensor((1,), "bool")], (0,), (0,), JumpFalseCall(0, 0))
    with pytest.raises(ConfigError, match="does not end") as error:
        run_plan(program, [np.array([False])], refuse, ())
    assert error.value.cause is Cause.BAD_PROGRAM


def test_an_unknown_kernel_is_named() -> None:
    program = plan([tensor((1,)), tensor((1,))], (0,), (1,), KernelCall("aten::cosh.out", (0, 1)))
    with pytest.raises(ConfigError, match=r"aten::cosh\.out") as error:
        run_plan(program, [np.zeros(1, np.float32)], refuse, ())
    assert error.value.cause is Cause.UNSUPPORTED


def test_lists_name_values_and_a_kernel_may_write_several_outputs() -> None:
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    values = [tensor((5, 2)), Value("int", 2), Value("int", 3), Value("int_list", (1, 2)), Value("int", -2)]
    values += [tensor((2, 2)), tensor((3, 2)), Value("tensor_list", (5, 6)), Value("tensor_list", (5, 6))]
    split = KernelCall("aten::split_with_sizes_copy.out", (0, 3, 4, 7, 8))
    result = run_plan(plan(values, (0,), (6, 5), split), [x], refuse, ())
    assert [o.tolist() for o in result.outputs] == [x[2:].tolist(), x[:2].tolist()]


def test_values_and_indices_are_two_outputs() -> None:
    values = [tensor((2, 3)), Value("int", 1), Value("bool", False)]
    values += [tensor((2,)), tensor((2,), "int64"), Value("tensor_list", (3, 4))]
    program = plan(values, (0,), (3, 4), KernelCall("aten::max.dim_max", (0, 1, 2, 3, 4, 5)))
    largest, index = run_plan(program, [np.array([[1, 3, 3], [5, 4, 0]], np.float32)], refuse, ()).outputs
    assert (largest.tolist(), index.tolist()) == ([3, 5], [1, 0])


def test_an_item_of_an_optional_list_may_be_none() -> None:
    values = [tensor((2, 3)), tensor((2,), "int64"), Value("optional_tensor_list", (-1, 1)), tensor((2, 2))]
    program = plan(values, (0, 1), (3,), KernelCall("aten::index.Tensor_out", (0, 2, 3, 3)))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert run_plan(program, [x, np.array([2, -3])], refuse, ()).outputs[0].tolist() == x[:, [2, 0]].tolist()


def test_a_view_has_no_instruction_but_the_memory_of_another_tensor() -> None:
    def planned(shape: tuple[int, ...], offset: int, dtype: str = "float32") -> Value:
        return Value("tensor", TensorValue(dtype, shape, tuple(range(len(shape))), None, (1, offset)))

    x = np.arange(4, dtype=np.float32)
    for other, expected in ((planned((2, 2), 16), [[0, -1], [-2, -3]]), (planned((2, 2), 32), None)):
        values = [planned((4,), 0), planned((4,), 16), other, planned((2, 2), 64)]
        steps = (KernelCall("aten::neg.out", (0, 1, 1)), KernelCall("aten::clone.out", (2, 3, 3)))
        program = plan(values, (0,), (3,), *steps)
        if expected is None:
            with pytest.raises(ConfigError, match="before anything wrote it"):
                run_plan(program, [x], refuse, ())
        else:
            assert run_plan(program, [x], refuse, ()).outputs[0].tolist() == expected


@pytest.mark.parametrize(("args", "what"), [((0, 1, 1), "does not fit"), ((0, 2, 1, 1), r"float32 \[2\]")])
def test_a_kernel_on_operands_that_do_not_fit_is_named(args: tuple[int, ...], what: str) -> None:
    program = plan([tensor((2,)), tensor((3,)), tensor((1,))], (0, 2), (1,), KernelCall("aten::mul.out", args))
    with pytest.raises(ConfigError, match=what) as error:
        run_plan(program, [np.zeros(2, np.float32), np.zeros(1, np.float32)], refuse, ())
    assert error.value.cause is Cause.BAD_PROGRAM


def test_a_delegate_gets_memory_and_its_answer_must_fit() -> None:
    order = (0, 2, 1)
    values = [tensor((1, 2, 3), "int8", order), tensor((1, 2, 3), "int8", order)]
    program = plan(values, (0,), (1,), DelegateCall(0, (0, 1)))
    x = np.arange(6, dtype=np.int8).reshape(1, 2, 3)
    seen = []

    def answer(number: int, delegate: int, given: Sequence[Any]) -> list[Any]:
        seen.append((number, delegate, given[0].tolist()))
        return [given[0] + 1]

    result = run_plan(program, [x], answer, (1,))
    assert seen == [(0, 0, [0, 3, 1, 4, 2, 5])]
    assert np.array_equal(result.outputs[0], x + 1)
    assert result.calls[0].outputs[0].tolist() == [1, 4, 2, 5, 3, 6]
    with pytest.raises(ConfigError, match="its TOSA graph gives"):
        run_plan(program, [x], lambda *_: [np.zeros(5, np.int8)], (1,))
    with pytest.raises(ConfigError, match="has 1 outputs"):
        run_plan(program, [x], lambda *_: [], (1,))
    with pytest.raises(ConfigError, match="more often"):
        run_plan(program, [x], answer, ())


def captured() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Cases of the archive, one after the other, as files in memory."""
    name = ""
    files: dict[str, bytes] = {}
    with tarfile.open(ARCHIVE, "r|xz") as archive:
        for member in archive:
            parts = Path(member.name).parts
            if len(parts) != 4 or not member.isfile():
                continue
            case = f"{parts[1]}/{parts[2]}"
            if case != name and files:
                yield name, files
                files = {}
            name = case
            source = archive.extractfile(member)
            assert source is not None
            files[parts[3]] = source.read()
    if files:
        yield name, files


def differences(files: dict[str, bytes]) -> list[str]:
    """Where the plan, answered with the captured delegate outputs, differs from what torch computed."""
    case = json.loads(files["case.json"])
    pte = read_pte(files["program.pte"])
    kept = case["tosa"]["files"]
    into = [f for f in kept if f["role"] == "delegate_input"]
    out = [f for f in kept if f["role"] == "delegate_output"]
    whole = [f for f in kept if f["role"] not in ("delegate_input", "delegate_output")]
    found = []

    def answer(number: int, _: int, given: Sequence[Any]) -> list[Any]:
        expected = [files[f["file"]] for f in into if f["delegate_call"] == number]
        if [g.tobytes() for g in given] != expected:
            found.append(f"inputs of call {number}")
        return [np.frombuffer(files[f["file"]], f["dtype"]) for f in out if f["delegate_call"] == number]

    taken = tuple(index for index in pte.inputs if pte.values[index].kind != "null")
    inputs = [
        from_memory(np.frombuffer(files[given["file"]], spec.dtype), spec.shape, spec.dim_order)
        for spec, given in zip(pte.specs(taken, "in"), case["inputs"], strict=False)  # unused ones have no place in it
    ]
    calls = len({f["delegate_call"] for f in out})
    counts = [sum(f["delegate_call"] == number for f in into) for number in range(calls)]
    result = run_plan(pte, inputs, answer, counts)
    for spec, output, expected in zip(pte.output_specs, result.outputs, whole, strict=True):
        if to_memory(output, spec.dim_order).tobytes() != files[expected["file"]]:
            found.append(expected["file"])
    return found


@pytest.mark.shared
@pytest.mark.skipif(not ARCHIVE.is_file(), reason="the captured programs are not beside the project")
def test_the_plan_of_every_captured_program_computes_what_torch_does() -> None:
    wrong, count = {}, 0
    for name, files in captured():
        if json.loads(files["case.json"])["tosa"].get("files"):
            count += 1
            if found := differences(files):
                wrong[name] = found
    assert wrong == {}
    assert count == 906
