"""The CPU kernels against torch, bit for bit, on the host build of the device's own sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.firmware.pte_maker import DTYPES, PteMaker

from corstone.firmware.host_loader import HostLoader
from corstone.formats.pte import TensorValue
from corstone.reference.kernels import KERNELS

Array = np.ndarray[Any, Any]
NUMBERS = {number: name for name, number in DTYPES.items()}


def f32(values: Sequence[float]) -> Array:
    return np.array(values, np.float32)


def run(loader: HostLoader, maker: PteMaker, inputs: Sequence[Array]) -> Array:
    result = loader.run(maker.build(), [np.ascontiguousarray(array).tobytes() for array in inputs])
    assert result.code == 0, result.text
    (output,) = result.outputs
    return np.frombuffer(output.data, NUMBERS[output.dtype]).reshape(output.shape)


def quantize(loader: HostLoader, x: Array, scale: float, zero: int, low: int, high: int, dtype: str) -> Array:
    m = PteMaker()
    a, out = m.tensor("float32", x.shape), m.tensor(dtype, x.shape)
    args = [a, m.double(scale), m.integer(zero), m.integer(low), m.integer(high), m.integer(DTYPES[dtype]), out, out]
    m.kernel("quantized_decomposed::quantize_per_tensor", "out", args)
    m.inputs, m.outputs = [a], [out]
    return run(loader, m, [x])


def dequantize(loader: HostLoader, q: Array, scale: float, zero: int) -> Array:
    m = PteMaker()
    info = np.iinfo(q.dtype)
    a, out = m.tensor(q.dtype.name, q.shape), m.tensor("float32", q.shape)
    args = [a, m.double(scale), m.integer(zero), m.integer(int(info.min)), m.integer(int(info.max))]
    args += [m.integer(DTYPES[q.dtype.name]), m.null(), out, out]
    m.kernel("quantized_decomposed::dequantize_per_tensor", "out", args)
    m.inputs, m.outputs = [a], [out]
    return run(loader, m, [q])


def floats() -> Array:
    """Values that round in every way: halves, powers, denormals, extremes, noise."""
    rng = np.random.default_rng(7)
    halves = np.arange(-300, 300, dtype=np.float32) + 0.5
    powers = np.ldexp(np.float32(1), np.arange(-149, 31)).astype(np.float32)
    near = np.nextafter(halves, np.float32(0), dtype=np.float32)
    noise = rng.normal(0, 50, 3000).astype(np.float32)
    return np.concatenate([halves, near, powers, -powers, noise, f32([0.0, -0.0, np.inf, -np.inf])])


@pytest.mark.parametrize(
    ("scale", "zero", "low", "high", "dtype"),
    [
        (1.0, 0, -128, 127, "int8"),
        (0.1, 3, -128, 127, "int8"),
        (1 / 127, 0, -127, 127, "int8"),
        (0.012313955463469028, -128, -128, 127, "int8"),
        (1 / 3, 200, 0, 255, "uint8"),
        (2.0**-15, 0, -32767, 32767, "int16"),
        (1.99998 / 65536, 0, -32767, 32767, "int16"),
        (0.7, -5, -1000, 1000, "int32"),
        (3e-41, 0, -128, 127, "int8"),
        (1e30, 0, -128, 127, "int8"),
    ],
)
def test_quantize_is_torchs(loader: HostLoader, scale: float, zero: int, low: int, high: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.ao.quantization.fx._decomposed")  # registers the operators

    x = floats()
    op = torch.ops.quantized_decomposed.quantize_per_tensor
    expected = op(torch.from_numpy(x), scale, zero, low, high, getattr(torch, dtype)).numpy()
    np.testing.assert_array_equal(quantize(loader, x, scale, zero, low, high, dtype), expected)


def test_quantize_of_nan_is_zero_and_out_of_range_saturates(loader: HostLoader) -> None:
    x = f32([np.nan, 1e20, -1e20])
    assert quantize(loader, x, 1.0, 0, -128, 127, "int8").tolist() == [0, 127, -128]
    low, high = -(2**31), 2**31 - 1
    # Torch's own result is undefined here: float(2^31 - 1) is 2^31. The device's conversion saturates.
    assert quantize(loader, x, 1.0, 0, low, high, "int32").tolist() == [0, high, low]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize(("scale", "zero"), [(0.1, 0), (1 / 3, 7), (2.0**-140, 0), (123456.789, 100)])
def test_dequantize_is_torchs(loader: HostLoader, dtype: str, scale: float, zero: int) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.ao.quantization.fx._decomposed")  # registers the operators

    info = np.iinfo(dtype)
    q = np.unique(np.linspace(info.min, info.max, 5001).astype(np.int64)).astype(dtype)
    op = torch.ops.quantized_decomposed.dequantize_per_tensor
    expected = op(torch.from_numpy(q), scale, zero, int(info.min), int(info.max), getattr(torch, dtype)).numpy()
    got = dequantize(loader, q, scale, zero)
    np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))


def copy(loader: HostLoader, x: Array, dtype: str, order: Sequence[int] | None = None) -> Array:
    m = PteMaker()
    a, out = m.tensor(x.dtype.name, x.shape), m.tensor(dtype, x.shape, order=order)
    dims = m.int_list(order or range(x.ndim))
    m.kernel("dim_order_ops::_to_dim_order_copy", "out", [a, m.boolean(False), dims, out, out])
    m.inputs, m.outputs = [a], [out]
    return run(loader, m, [x])


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "int32", "int64", "float32", "float64", "bool"])
@pytest.mark.parametrize("source", ["int8", "uint8", "int16", "int32", "int64", "float32", "float64", "bool"])
def test_conversion_is_torchs(loader: HostLoader, source: str, target: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    if source in ("float32", "float64"):
        # Inside int32: beyond it C, and so torch, leaves the result open.
        values = rng.uniform(-2e9, 2e9, 500) if target != "uint8" else rng.uniform(0, 255, 500)
        x = np.concatenate([values, [0.0, -0.0, 0.5, 1.5, -0.9 if target != "uint8" else 0.9]]).astype(source)
    elif source == "bool":
        x = rng.integers(0, 2, 50).astype(bool)
    else:
        info = np.iinfo(source)
        x = rng.integers(int(info.min), int(info.max), 2000, dtype=np.int64, endpoint=True).astype(source)
    expected = torch.from_numpy(x).to(getattr(torch, target)).numpy()
    np.testing.assert_array_equal(copy(loader, x, target), expected)


def test_copy_to_channels_last_permutes_memory(loader: HostLoader) -> None:
    x = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    got = copy(loader, x, "float32", (0, 2, 3, 1))
    np.testing.assert_array_equal(got.reshape(2, 4, 5, 3), x.transpose(0, 2, 3, 1))


def binary(loader: HostLoader, name: str, a: Array, b: Array, shape: Sequence[int], dtype: str) -> Array:
    m = PteMaker()
    left, right = m.tensor(a.dtype.name, a.shape), m.tensor(b.dtype.name, b.shape)
    out = m.tensor(dtype, shape)
    operator, overload = name.split(".")
    m.kernel(operator, overload, [left, right, out, out])
    m.inputs, m.outputs = [left, right], [out]
    return run(loader, m, [a, b])


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 4), (3, 1)), ((5,), ()), ((), ())])
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("int32", "int32"), ("float32", "int64")])
def test_comparisons_broadcast_like_torch(
    loader: HostLoader, shapes: tuple[tuple[int, ...], tuple[int, ...]], dtypes: tuple[str, str]
) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    a = np.array(rng.integers(-3, 3, shapes[0])).astype(dtypes[0])
    b = np.array(rng.integers(-3, 3, shapes[1])).astype(dtypes[1])
    out = np.broadcast_shapes(*shapes)
    for name, op in (("aten::gt.Tensor_out", torch.gt), ("aten::lt.Tensor_out", torch.lt)):
        expected = op(torch.from_numpy(a), torch.from_numpy(b)).numpy()
        np.testing.assert_array_equal(binary(loader, name, a, b, out, "bool"), expected)


def test_a_nan_is_neither_greater_nor_less(loader: HostLoader) -> None:
    a, b = f32([np.nan, 1, np.nan]), f32([1, np.nan, np.nan])
    for name in ("aten::gt.Tensor_out", "aten::lt.Tensor_out"):
        assert not binary(loader, name, a, b, (3,), "bool").any()


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3), (2, 3)), ((3,), (2, 1), (1, 3)), ((2, 1), (), (3,))])
def test_where_broadcasts(loader: HostLoader, shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(2)
    condition = np.array(rng.integers(0, 2, shapes[0])).astype(bool)
    a = np.array(rng.normal(size=shapes[1])).astype(np.float32)
    b = np.array(rng.normal(size=shapes[2])).astype(np.float32)
    m = PteMaker()
    args = [m.tensor("bool", shapes[0]), m.tensor("float32", shapes[1]), m.tensor("float32", shapes[2])]
    out = m.tensor("float32", np.broadcast_shapes(*shapes))
    m.kernel("aten::where", "self_out", [*args, out, out])
    m.inputs, m.outputs = args, [out]
    np.testing.assert_array_equal(run(loader, m, [condition, a, b]), np.where(condition, a, b))


def test_mm_of_whole_numbers_is_exact(loader: HostLoader) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(-50, 50, (7, 11)).astype(np.float32), rng.integers(-50, 50, (11, 5)).astype(np.float32)
    np.testing.assert_array_equal(binary(loader, "aten::mm.out", a, b, (7, 5), "float32"), a @ b)


def test_mm_fuses_product_and_sum_as_the_reference_does(loader: HostLoader) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(7, 11)).astype(np.float32), rng.normal(size=(11, 5)).astype(np.float32)
    out = TensorValue("float32", (7, 5), (0, 1), None, None)
    (expected,) = KERNELS["aten::mm.out"].compute((a, b), (out,))
    np.testing.assert_array_equal(binary(loader, "aten::mm.out", a, b, (7, 5), "float32"), expected)


@settings(max_examples=60, deadline=None)
@given(
    x=st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20),
    scale=st.floats(min_value=1e-6, max_value=1e6),
    zero=st.integers(-128, 127),
)
def test_quantize_is_the_formula_of_numpy(loader: HostLoader, x: list[float], scale: float, zero: int) -> None:
    values = np.array(x, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(values * np.float32(1.0 / scale)) + np.float32(zero)
    expected = np.clip(scaled, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(quantize(loader, values, scale, zero, -128, 127, "int8"), expected)


def argmax(loader: HostLoader, x: Array, dim: int | None, keep: bool, order: Sequence[int] | None = None) -> Array:
    m = PteMaker()
    shape = np.argmax(x, axis=dim, keepdims=keep).shape
    a, out = m.tensor(x.dtype.name, x.shape, order=order), m.tensor("int64", shape)
    m.kernel("aten::argmax", "out", [a, m.null() if dim is None else m.integer(dim), m.boolean(keep), out, out])
    m.inputs, m.outputs = [a], [out]
    return run(loader, m, [x if order is None else x.transpose(order)])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dim", [None, 0, 1, 2, -1, -3])
def test_argmax_is_torchs(loader: HostLoader, dtype: str, dim: int | None, keep: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    # Few values, so that many are equal: the first of them counts.
    x = rng.integers(0, 3, (2, 5, 3)).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.random(x.shape) < 0.1] = np.nan
    expected = torch.argmax(torch.from_numpy(x), dim, keep).numpy()
    np.testing.assert_array_equal(argmax(loader, x, dim, keep), expected)


def test_argmax_counts_in_the_order_of_dimensions_not_of_memory(loader: HostLoader) -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)[:, ::-1].copy()
    for dim in (None, 1, 2, 3):
        got = argmax(loader, x, dim, False, (0, 2, 3, 1))
        np.testing.assert_array_equal(got, np.argmax(x, axis=dim))
