"""Budgets as data: read, written, found beside a network, tightened, and never loosened."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from corstone.accuracy.budget_file import Row, Rows, budgets_of, file_of, key, load, name_in_file, save
from corstone.accuracy.derive_budget import rounded_up
from corstone.accuracy.tighten import measured_regions, start_rows, tighten
from corstone.cli import main
from corstone.errors import ConfigError
from corstone.judge.budget import EVERYWHERE, Budget, Region
from corstone.judge.verdict import RegionResult
from corstone.program import QParams
from corstone_models.budgets import FILE, budgets

EDGE = Region(0.9, 1.0, "edge")


def row(limit: float, region: Region = EVERYWHERE, table: float | None = None) -> Row:
    return Row(Budget(region, limit, "a reason of its own"), None, table)


def seen(worst: float, name: str = "everywhere", count: int = 5) -> RegionResult:
    return RegionResult(name, count, worst, 10.0, worst / 10, "")


def test_a_file_comes_back_as_it_was_with_infinite_ends(tmp_path: Path) -> None:
    rows: Rows = {key("mine", 8, "fixed"): (row(3.0, EDGE, 2.5), row(1.5))}
    save(tmp_path / "b.json", rows)
    assert load(tmp_path / "b.json") == rows
    assert json.loads((tmp_path / "b.json").read_text())["budgets"]["mine/8/fixed"][1]["hi"] == "inf"
    assert load(tmp_path / "none.json") == {}


@pytest.mark.parametrize("text", ["{", '{"schema": 99, "budgets": {}}', '{"schema": 1, "budgets": {"a": [{}]}}', "[]"])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(ConfigError, match=r"b\.json"):
        load(tmp_path / "b.json")


def test_the_file_lies_beside_the_network() -> None:
    assert file_of("acos") == FILE
    assert file_of("nets/mine.py:Net") == Path("nets/mine.budgets.json")
    assert file_of("mine.pt2") == Path("mine.budgets.json")
    assert file_of("corstone_models.unary:Acos").name == "unary.budgets.json"
    assert [name_in_file(n) for n in ("acos", "nets/mine.py:Net", "a/mine.pt2")] == ["acos", "Net", "mine"]
    with pytest.raises(ConfigError, match="cannot be found"):
        file_of("no.such.module:Net")


def test_the_judge_gets_what_is_stored(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    save(source.with_suffix(".budgets.json"), {"Net/8/fixed": (row(3.0),)})
    assert [b.max_lsb for b in budgets_of(f"{source}:Net", 8, "fixed")] == [3.0]
    assert [b.max_lsb for b in budgets_of(f"{source}:Net", 8, "observer")] == [3.0]
    assert budgets_of(f"{source}:Net", 16, "fixed") == ()
    assert budgets_of("acos", 8, "fixed") == budgets("acos", 8, "fixed")


def test_every_stored_budget_of_one_operator_is_its_derived_bound() -> None:
    for name, rows in load(FILE).items():
        for stored in rows:
            if stored.input_lsb is not None and stored.table_lsb is not None:
                whole = rounded_up(stored.input_lsb + stored.table_lsb)
                assert stored.budget.max_lsb == pytest.approx(whole, rel=0.01), name
            assert not stored.budget.reason.startswith("measured: not yet"), name


def test_tightening_takes_what_was_measured_and_a_tenth() -> None:
    made, (change,) = tighten([row(10.0)], {"everywhere": seen(2.0)})
    assert (made[0].budget.max_lsb, made[0].measured_lsb) == (2.2, 2.0)
    assert change.share == pytest.approx(1 / 1.1)
    assert str(change) == "everywhere: 10 -> 2.2 LSB, 91% used (measured 2)"


def test_a_derived_bound_is_where_tightening_ends() -> None:
    bound = {"everywhere": row(4.0, table=3.0)}
    made, _ = tighten([row(10.0)], {"everywhere": seen(2.0)}, bound)
    assert (made[0].budget.max_lsb, made[0].table_lsb) == (4.0, 3.0)


def test_nothing_gets_looser() -> None:
    made, (change,) = tighten([row(1.0)], {"everywhere": seen(2.0)})
    assert made == (row(1.0),)
    assert "raising it is an edit by hand" in change.refused
    _, (derived,) = tighten([row(1.0)], {}, {"everywhere": row(4.0)})
    assert "derived 4 LSB, over the budget of 1" in derived.refused
    # 0.95 and a tenth would be more than there is.
    made, (kept,) = tighten([row(1.0)], {"everywhere": seen(0.95)})
    assert (made[0].budget.max_lsb, kept.after) == (1.0, 1.0)


def test_regions_without_inputs_stay_as_they_are() -> None:
    worst = measured_regions([[seen(2.0, "edge"), seen(9.0, "pole", count=0)], [seen(3.0, "edge")]])
    assert {name: r.max_lsb for name, r in worst.items()} == {"edge": 3.0}
    made, _ = tighten([row(5.0, Region(0, 1, "pole"))], worst)
    assert made[0].budget.max_lsb == 5.0


def test_a_network_without_budgets_starts_from_the_default() -> None:
    (first,) = start_rows(QParams(0.1, 0, -128, 127, "int8"))
    assert first.budget.max_lsb == 16
    made, _ = tighten([first], {"everywhere": seen(2.0)}, None, captures=3)
    assert made[0].budget.reason.startswith("measured: the largest error of 3 captures")


@pytest.mark.parametrize(("value", "up"), [(10.041, 10.1), (0.98765, 0.988), (8345.1, 8350.0), (2.0, 2.0), (0.0, 0.0)])
def test_limits_are_rounded_up_to_three_digits(value: float, up: float) -> None:
    assert rounded_up(value) == pytest.approx(up)
    assert rounded_up(value) >= value or math.isclose(rounded_up(value), value)


def test_show_prints_budgets_with_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", "show", "acos", "--bits", "8,16"]) == 0
    out = capsys.readouterr().out
    assert "acos/8/fixed" in out
    assert "acos/16/fixed" in out
    assert "127/128" in out
    assert main(["budget", "show", "nosuch.py:Net"]) == 0
    assert "Net/8/fixed: none in nosuch.budgets.json" in capsys.readouterr().out
