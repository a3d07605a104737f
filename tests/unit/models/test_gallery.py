"""The gallery's networks: seeded, deterministic, alive, with budgets that were measured."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import torch

from corstone.accuracy.budget_file import file_of, key, load, name_in_file
from corstone.accuracy.derive_budget import rounded_up
from corstone_models.gallery.pictures import pictures
from corstone_models.gallery.registry import GALLERY, Entry
from corstone_models.gallery.unseen import JUDGED, MEASURED, network_of, unseen

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
    assert len({row.name for row in GALLERY}) == len({row.source for row in GALLERY}) == len(GALLERY) == 7
    heavy = [row.name for row in GALLERY if row.heavy]
    assert heavy == ["person-detection-224", "transformer-block", "recurrent-cell"]


@pytest.mark.parametrize("row", GALLERY, ids=lambda row: row.name)
def test_every_width_has_a_budget_that_was_measured_and_is_no_looser_than_the_default(row: Entry) -> None:
    stored = load(file_of(row.source))
    for bits in row.bits:
        (found,) = stored[key(name_in_file(row.source), bits, "fixed")]
        assert found.measured_lsb is not None
        assert found.measured_lsb < found.budget.max_lsb <= rounded_up(1.5 * found.measured_lsb) < 2**bits / 16


@pytest.mark.parametrize("row", LIGHT, ids=lambda row: row.name)
def test_no_unseen_input_is_a_calibration_input_or_of_another_draw(row: Entry) -> None:
    module = network_of(row.source)
    home = importlib.import_module(row.source.partition(":")[0])
    calibrated = (getattr(module, "calibration_inputs", None) or home.calibration_inputs)()
    draws = [unseen(row.source, draw, 8) for draw in (MEASURED, JUDGED)]
    sets = [[x.numpy() for x in one] for one in calibrated] + [list(one) for draw in draws for one in draw]
    assert len({b"".join(x.tobytes() for x in one) for one in sets}) == len(sets)


@pytest.mark.parametrize("row", LIGHT, ids=lambda row: row.name)
def test_no_example_has_a_stride_of_nothing(row: Entry) -> None:
    # A new axis of numpy has stride 0, which ExecuTorch refuses when the program is written.
    _, inputs = _made(row)
    assert all(0 not in x.stride() for x in inputs)


def test_person_detection_tells_the_drawn_classes_apart_and_is_unsure_of_mixtures() -> None:
    drawn, shares = pictures(5, 32, 96)
    with torch.no_grad():
        found = network_of("corstone_models.gallery.person:person_96")(torch.from_numpy(drawn)).numpy()[:, 1]
    sure = np.isin(shares, (0, 1))
    assert ((found > 0.5) == (shares > 0.5))[sure].mean() > 0.9
    assert np.corrcoef(found, shares)[0, 1] > 0.8
    assert found[sure].min() < 0.2
    assert found[sure].max() > 0.8
