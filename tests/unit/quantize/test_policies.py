"""Policies and operator rows as data: what exists, what is refused, and with which words."""

from __future__ import annotations

import numpy as np
import pytest

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.judge.codes import dequantize
from corstone.program import QParams
from corstone.quantize.operators import OPERATORS, RESTRICTED_DOMAIN, check_bits, operator
from corstone.quantize.policies import Policy, fingerprint, input_parameters, policy

DTYPE = {8: "int8", 16: "int16"}


def test_unknown_names_are_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="no such quantization policy: 'exact'") as error:
        policy("exact", 8)
    assert "edge_exact" in error.value.hint
    with pytest.raises(ConfigError, match="'cosh'") as error:
        operator("cosh")
    assert "atanh" in error.value.hint
    assert error.value.cause is Cause.UNSUPPORTED


@pytest.mark.parametrize("bits", [0, 4, 32, -8])
def test_widths_other_than_8_and_16_are_refused(bits: int) -> None:
    with pytest.raises(ConfigError, match="no such activation width"):
        check_bits(bits)
    with pytest.raises(ConfigError, match="no such activation width"):
        policy("fixed", bits)


def test_edge_exact_at_int16_is_refused_with_reason_and_alternative() -> None:
    with pytest.raises(ConfigError, match="int8 only") as error:
        policy("edge_exact", 16)
    assert "NaN" in error.value.message
    assert "segmented" in error.value.hint


def test_operators_are_frozen_sets() -> None:
    assert isinstance(RESTRICTED_DOMAIN, frozenset)
    assert {"acos", "asin", "atanh"} == RESTRICTED_DOMAIN


@pytest.mark.parametrize(
    ("name", "bits", "scale"),
    [
        ("acos", 8, 2 / 2**8),
        ("acos", 16, 2 / 2**16),
        ("asin", 8, 2 / 2**8),
        ("asin", 16, 2 / 2**16),
        ("atanh", 8, 1.998 / 2**8),
        ("atanh", 16, 1.99998 / 2**16),
    ],
)
def test_fixed_scales(name: str, bits: int, scale: float) -> None:
    stated = input_parameters(name, bits, Policy.FIXED)
    assert stated is not None
    assert stated.scale == pytest.approx(scale, rel=1e-15)
    assert input_parameters(name, bits, Policy.OBSERVER) is None


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_code_of_fixed_is_inside_the_domain(name: str, bits: int) -> None:
    stated = input_parameters(name, bits, Policy.FIXED)
    assert stated is not None
    qparams = QParams(stated.scale, 0, -(1 << bits - 1), (1 << bits - 1) - 1, DTYPE[bits])
    assert OPERATORS[name].domain.holds(dequantize(np.arange(qparams.qmin, qparams.qmax + 1), qparams)).all()


def test_edge_exact_has_the_ends_and_zero_as_codes() -> None:
    stated = input_parameters("acos", 8, Policy.EDGE_EXACT)
    assert stated is not None
    codes = np.array([stated.qmin, 0, stated.qmax])
    values = dequantize(codes, QParams(stated.scale, 0, -127, 127, "int8"))
    assert values.tolist() == [-1.0, 0.0, 1.0]
    open_end = input_parameters("atanh", 8, Policy.EDGE_EXACT)
    assert open_end is not None
    assert open_end.scale * 127 < 1


def test_fingerprints_tell_policies_and_widths_apart() -> None:
    prints = {fingerprint(Policy(p), b) for p in ("observer", "fixed", "upstream") for b in (8, 16)}
    assert len(prints) == 6
