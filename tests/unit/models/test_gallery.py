"""The gallery's networks: seeded, deterministic, alive, and of the shapes their rows say."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from corstone_models.gallery.registry import GALLERY, Entry

LIGHT = [row for row in GALLERY if not row.heavy]


def _made(row: Entry) -> tuple[Any, tuple[Any, ...]]:
    where, _, attribute = row.source.partition(":")
    home = importlib.import_module(where)
    module = getattr(home, attribute)()
    given = getattr(module, "example_inputs", None) or home.example_inputs
    return module, given()


@pytest.mark.parametrize("row", LIGHT, ids=lambda row: row.name)
def test_a_network_answers_the_same_each_time_it_is_made(row: Entry) -> None:
    answers = []
    for _ in range(2):
        module, inputs = _made(row)
        assert not module.training
        answers.append(module(*inputs).detach().numpy())
    assert np.array_equal(*answers)
    assert np.isfinite(answers[0]).all()
    assert answers[0].std() > 0.01


def test_names_and_sources_are_unique_and_one_of_each_kind_is_there() -> None:
    assert len({row.name for row in GALLERY}) == len({row.source for row in GALLERY}) == len(GALLERY) == 6
    assert [row.name for row in GALLERY if row.heavy] == ["person-detection-224"]
