"""CPU kernels by hand: signs of zero, NaN, equal values, fused products; and which kernels stay unknown."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import TensorValue
from corstone.reference.kernels import KERNELS
from corstone.reference.kernels.fused import fused
from corstone.reference.kernels.topk import first_of
from corstone.reference.kernels.unknown import unknown


def run(name: str, *operands: Any, shape: tuple[int, ...] = (), dtype: str = "float32") -> Any:
    """The first output of a kernel on operands in which lists stand for float32 arrays."""
    given = [np.array(x, np.float32) if isinstance(x, list) else x for x in operands]
    out = TensorValue(dtype, shape, tuple(range(len(shape))), None, None)
    kernel = KERNELS[f"aten::{name}"]
    return kernel.compute(given, (out,) * max(kernel.out_args, 1))[0]


def signs(array: Any) -> Any:
    return np.signbit(array).tolist()


def test_of_equal_zeros_the_first_stays() -> None:
    assert signs(run("maximum.out", [-0.0, 0.0], [0.0, -0.0])) == [True, False]
    assert signs(run("minimum.out", [-0.0, 0.0], [0.0, -0.0])) == [True, False]
    assert signs(run("clamp.out", [-0.0, 0.0], 0.0, None)) == [True, False]
    assert signs(run("hardtanh.out", [-0.0], 0.0, 6.0)) == [True]
    assert signs(run("relu.out", [-0.0, -1.0])) == [True, False]
    assert signs(run("amax.out", [[-0.0, 0.0], [0.0, -0.0]], (1,), False, shape=(2,))) == [True, False]


def test_abs_keeps_the_sign_of_zero_and_sign_keeps_nan() -> None:
    assert signs(run("abs.out", [-0.0, -2.0])) == [True, False]
    assert np.isnan(run("sign.out", [np.nan])[0])
    assert signs(run("sign.out", [-0.0])) == [False]


def test_a_nan_wins_in_bounds_but_not_in_a_window() -> None:
    assert np.isnan(run("maximum.out", [np.nan, 1.0], [1.0, np.nan])).all()
    x = np.array([[[1.0, np.nan], [0.0, 2.0]]], np.float32)
    pool = ((2, 2), (), (0,), (1,), False)
    assert run("max_pool2d_with_indices.out", x, *pool, shape=(1, 1, 1)).tolist() == [[[2.0]]]
    first = np.array([[[np.nan, 1.0], [0.0, 2.0]]], np.float32)
    assert np.isnan(run("max_pool2d_with_indices.out", first, *pool, shape=(1, 1, 1))).all()


def test_a_number_is_rounded_to_the_tensors_dtype_before_it_is_compared() -> None:
    assert run("eq.Scalar_out", [0.1], 0.1, shape=(1,), dtype="bool").tolist() == [True]
    small = np.array([3], np.int8)
    assert run("lt.Scalar_out", small, 3.5, shape=(1,), dtype="bool").tolist() == [True]


def test_integers_wrap() -> None:
    x = np.array([127, -128], np.int8)
    assert run("add.out", x, x, 1, dtype="int8").tolist() == [-2, 0]
    assert run("sub.out", x, x, 3, dtype="int8").tolist() == [2, 0]
    assert run("neg.out", x, dtype="int8").tolist() == [-127, -128]


def test_fused_rounds_once() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 2000)).astype(np.float32)
    c = -(a * b) * np.float32(1 + 2.0**-20)  # nearly all of the product goes
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    found = fused(a, b, c)
    for value, wanted in zip(found.tolist(), exact, strict=True):
        gap = abs(Fraction(value) - wanted)
        for side in (-np.inf, np.inf):
            assert gap <= abs(Fraction(float(np.nextafter(np.float32(value), np.float32(side)))) - wanted)
    assert (found != a * b + c).any()


def test_fused_does_not_round_twice() -> None:
    """In float64 the sum falls on a tie of float32 that the exact sum lies above."""
    one = np.ones(1, np.float32)
    tiny = np.float32(2.0**-60)
    assert fused(one * np.float32(1 + 2.0**-12), np.float32(1 + 2.0**-12) * one, tiny * one)[0] == np.float32(
        1 + 2.0**-11 + 2.0**-23
    )


@pytest.mark.parametrize(("count", "k"), [(5, 2), (40, 7), (40, 40), (700, 9), (700, 300)])
def test_topk_gives_the_largest_in_order_each_index_once(count: int, k: int) -> None:
    values = np.random.default_rng(count).integers(-4, 5, count).astype(np.float32)
    for largest in (True, False):
        found = first_of(values.tolist(), k, largest=largest, ordered=True)
        assert [v for v, _ in found] == sorted(values.tolist(), reverse=largest)[:k]
        assert [values[i] for _, i in found] == [v for v, _ in found]
        assert len({i for _, i in found}) == k


def test_cat_of_two_dtypes_is_refused() -> None:
    tensors = (np.zeros(2, np.int32), np.zeros(2, np.float32))
    with pytest.raises(ConfigError, match="into float32") as error:
        run("cat.out", tensors, 0, shape=(4,))
    assert error.value.cause is Cause.UNSUPPORTED


def test_kernels_over_the_c_library_stay_out_and_the_error_says_why() -> None:
    assert not {
        name for name in KERNELS if any(word in name for word in ("exp.", "tanh.out", "softmax", "sigmoid"))
    } - {"aten::hardtanh.out"}
    error = unknown("aten::_softmax.out")
    assert "C library" in error.message
    assert "quantize the operator, so" in error.hint
    assert "no row for it" in unknown("aten::nonzero.out").message
