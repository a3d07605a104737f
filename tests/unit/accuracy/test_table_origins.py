"""Which operator a TABLE was made from, where names and order leave it open."""

from __future__ import annotations

from dataclasses import asdict, replace

from tests.unit.accuracy.making import int8, table, with_entries

from corstone.accuracy.tables import _origins


def test_a_table_belongs_to_the_operator_that_it_holds_where_another_of_its_kind_was_folded_away() -> None:
    """A division by a constant is a reciprocal, too, and leaves no table: the only one is the second operator's."""
    folded = table("reciprocal", int8(4 / 255, -128), int8(0.25 / 255, -128))
    kept = table("reciprocal", int8(0.03, -128), int8(0.0007, -128))
    alone = replace(kept, constant="b_aten_reciprocal_default_table_constant", node="", input=None, output=None)
    rows = [
        {
            "name": name,
            "target": "aten.reciprocal.default",
            "inputs": [asdict(use.input)],
            "output": asdict(use.output),
            "constants": [],
        }
        for name, use in (("reciprocal", folded), ("reciprocal_1", kept))
        if use.input is not None and use.output is not None
    ]
    (found,) = _origins([alone], rows)
    assert found is not None
    assert found["name"] == "reciprocal_1"
    # One that holds neither is the first's, and wrong.
    (wrong,) = _origins([with_entries(alone, e40=1)], rows)
    assert wrong is not None
    assert wrong["name"] == "reciprocal"
