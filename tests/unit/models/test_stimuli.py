"""Stimuli: every code and nothing else, inside or outside as they say, the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corstone.errors import ConfigError
from corstone.judge.codes import quantize
from corstone.judge.domain import Domain
from corstone.program import Program, QParams, TensorSpec
from corstone_models.networks import network
from corstone_models.stimuli import NAMES, code_values, stimulus, stimulus_sets, upstream

INT8 = QParams(0.007839307188987732, 3, -128, 127, "int8")
INT16 = QParams(3.0518509447574615e-05, 0, -32767, 32767, "int16")
EDGE_EXACT = QParams(1 / 127, 0, -127, 127, "int8")


def program(shape: tuple[int, ...], qparams: QParams | None = INT8, dtype: str = "float32") -> Program:
    return Program(
        Path("p.pte"),
        "ethos-u55-128",
        (TensorSpec("x", dtype, shape),),
        (TensorSpec("y", "float32", shape),),
        input_qparams=(qparams,),
    )


@pytest.mark.parametrize("qparams", [INT8, INT16, EDGE_EXACT])
def test_code_values_quantize_to_their_codes(qparams: QParams) -> None:
    codes = quantize(code_values(qparams), qparams)
    assert np.array_equal(codes, np.arange(qparams.qmin, qparams.qmax + 1))


@pytest.mark.parametrize(
    ("shape", "qparams", "runs"),
    [((256,), INT8, 1), ((256, 256), INT16, 1), ((2, 3, 4), INT8, 11), ((1000,), INT8, 1), ((), EDGE_EXACT, 255)],
)
def test_codes_are_complete_over_their_runs(shape: tuple[int, ...], qparams: QParams, runs: int) -> None:
    sets = stimulus_sets("codes", program(shape, qparams))
    assert len(sets) == runs
    values = np.concatenate([x.reshape(-1) for (x,) in sets])
    assert all(x.shape == shape and x.dtype == np.float32 for (x,) in sets)
    assert set(quantize(values, qparams).tolist()) == set(range(qparams.qmin, qparams.qmax + 1))


def test_one_run_of_a_small_input_keeps_both_ends() -> None:
    (x,) = stimulus("codes", program((2, 3)))
    values = code_values(INT8)
    assert x.shape == (2, 3)
    assert x.reshape(-1)[0] == values[0]
    assert x.reshape(-1)[-1] == values[-1]


@pytest.mark.parametrize("name", ["ramp", "random", "edges"])
@pytest.mark.parametrize("net", ["acos", "atanh"])
def test_stimuli_that_stay_inside(net: str, name: str) -> None:
    domain = network(net).domain
    (x,) = stimulus(name, program((64,)), domain=domain)
    assert domain.holds(x).all()


@pytest.mark.parametrize("name", ["ramp", "random", "edges"])
@pytest.mark.parametrize("net", ["log", "acosh", "sqrt", "log1p"])
@pytest.mark.parametrize("qparams", [QParams(0.016, -128, -128, 127, "int8"), None])
def test_a_domain_without_an_end_is_asked_as_far_as_the_program_was_calibrated(
    net: str, name: str, qparams: QParams | None
) -> None:
    domain = network(net).domain
    assert np.isinf(domain.hi)
    (x,) = stimulus(name, program((64,), qparams), domain=domain)
    assert domain.holds(x).all()
    assert np.isfinite(x).all()
    highest = max(1.0, domain.lo + 1) if qparams is None else code_values(qparams)[-1]
    assert highest / 2 < x.max() <= highest


def test_edges_hold_the_ends_zero_and_their_neighbours() -> None:
    domain = network("asin").domain
    values = set(np.concatenate([x for (x,) in stimulus_sets("edges", program((8,)), domain=domain)]).tolist())
    one = np.float32(1)
    assert {-1.0, 0.0, 1.0, float(np.nextafter(one, np.float32(0)))} <= values
    open_end = network("atanh").domain
    values = set(np.concatenate([x for (x,) in stimulus_sets("edges", program((8,)), domain=open_end)]).tolist())
    assert 1.0 not in values
    assert float(np.nextafter(one, np.float32(0))) in values


def test_outside_is_outside_and_finite() -> None:
    domain = network("acos").domain
    sets = stimulus_sets("outside", program((4,)), domain=domain)
    values = np.concatenate([x for (x,) in sets])
    assert not domain.holds(values).any()
    assert np.isfinite(values).all()


def test_outside_of_a_domain_without_an_end_leaves_that_side_out() -> None:
    domain = network("log1p").domain
    values = np.concatenate([x for (x,) in stimulus_sets("outside", program((4,)), domain=domain)])
    assert not domain.holds(values).any()
    assert np.isfinite(values).all()
    with pytest.raises(ConfigError, match="domain with an end"):
        stimulus("outside", program((4,)), domain=Domain())


def test_seeds() -> None:
    def draw(seed: int) -> bytes:
        return stimulus("random", program((256,)), seed=seed)[0].tobytes()

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_zeros_and_ones() -> None:
    assert not stimulus("zeros", program((5,)))[0].any()
    assert (stimulus("ones", program((5,)))[0] == 1).all()


def test_unknown_names_and_impossible_wishes_are_refused() -> None:
    with pytest.raises(ConfigError) as error:
        stimulus("all", program((4,)))
    assert all(name in error.value.hint for name in NAMES)
    with pytest.raises(ConfigError, match="needs a quantized input"):
        stimulus("codes", program((4,), None))
    with pytest.raises(ConfigError, match="for float inputs"):
        stimulus("ramp", program((4,), None, "int64"))


def test_integer_inputs_get_their_own_codes() -> None:
    (x,) = stimulus("codes", program((256,), None, "int8"))
    assert sorted(x.tolist()) == list(range(-128, 128))
    assert stimulus("random", program((9,), None, "bool"))[0].dtype == np.bool_


def test_without_a_domain_the_codes_range_is_taken() -> None:
    (x,) = stimulus("ramp", program((11,), QParams(0.5, 0, -10, 10, "int8")), domain=None)
    assert (x[0], x[-1]) == (-5.0, 5.0)
    (x,) = stimulus("ramp", program((11,), None), domain=Domain(0.0, 2.0))
    assert (x[0], x[-1]) == (0.0, 2.0)


@pytest.mark.parametrize("net", ["acos", "asin", "atanh"])
def test_upstream_data(net: str) -> None:
    data = upstream(net)
    assert {x.ndim for x in data.values()} >= ({1, 2, 4} if net == "atanh" else {1, 3, 4})
    assert all(x.dtype == np.float32 for x in data.values())
    again = upstream(net)
    assert all(np.array_equal(data[name], again[name]) for name in data)
    assert "randn" in data
    with pytest.raises(ConfigError):
        upstream("cosh")
