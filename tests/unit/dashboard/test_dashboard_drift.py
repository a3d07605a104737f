"""The drift rule: real steps are found with their first night, noise is not."""

from __future__ import annotations

import random

import pytest

from corstone.dashboard.drift import RULES, WINDOW, find_drift

LSB, SECONDS = RULES


@pytest.mark.parametrize("nights", [1, 2, 9, 20])
def test_a_step_of_the_error_is_found_at_its_first_night(nights: int) -> None:
    values = [1.5] * (WINDOW - nights) + [2.0] * nights
    found = find_drift(values, LSB)
    assert found is not None
    assert found.first == WINDOW - nights
    assert (found.before, found.since) == (1.5, 2.0)


def test_the_index_is_that_of_the_whole_series() -> None:
    values = [1.0] * 300 + [None, 3.0, None, 3.0]
    found = find_drift(values, LSB)
    assert found is not None
    assert found.first == 301


def test_an_improvement_is_news_as_well() -> None:
    found = find_drift([2.0] * 10 + [0.5], LSB)
    assert found is not None
    assert found.since < found.before


def test_what_went_back_is_no_drift() -> None:
    assert find_drift([1.0] * 10 + [5.0] * 4 + [1.0], LSB) is None


def test_too_few_nights_say_nothing() -> None:
    assert find_drift([1.0, 1.0, 9.0], LSB) is None
    assert find_drift([], LSB) is None
    assert find_drift([None] * 40, LSB) is None


def test_one_slow_night_is_no_drift_and_three_are() -> None:
    assert find_drift([1.0] * 20 + [3.0], SECONDS) is None
    assert find_drift([1.0] * 20 + [3.0] * 2, SECONDS) is None
    found = find_drift([1.0] * 20 + [3.0] * 3, SECONDS)
    assert found is not None
    assert found.first == 20


def test_noise_of_a_host_gives_no_warnings() -> None:
    """5,000 series of 30 nights with 10 % of noise and slow nights in between: not one in a thousand warns."""
    rng = random.Random(7)
    warned = 0
    for _ in range(5000):
        values = [rng.lognormvariate(0, 0.1) * (3 if rng.random() < 0.02 else 1) for _ in range(WINDOW)]
        warned += find_drift(values, SECONDS) is not None
    assert warned <= 5


def test_a_step_of_twice_the_time_is_found_in_noise() -> None:
    rng = random.Random(8)
    found = 0
    for _ in range(200):
        values = [rng.lognormvariate(0, 0.08) for _ in range(25)] + [rng.lognormvariate(0, 0.08) * 2 for _ in range(5)]
        drift = find_drift(values, SECONDS)
        found += drift is not None and drift.first == 25
    assert found >= 190
