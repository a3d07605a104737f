"""The catalogue page is the code's, and the catalogue's rows are well formed."""

from __future__ import annotations

from pathlib import Path

from corstone.boards.endings import RESIDUAL, RULES, UNKNOWN
from corstone.boards.endings.page import page
from corstone.causes import Cause, Outcome

ALL = (*RULES, *RESIDUAL, UNKNOWN)


def test_page_is_current() -> None:
    path = Path(__file__).parents[3] / "docs" / "verdicts.md"
    assert path.read_text() == page(), "run: python -m corstone.boards.endings > docs/verdicts.md"


def test_ids_are_unique_and_every_row_is_on_the_page() -> None:
    ids = [rule.id for rule in ALL]
    assert len(set(ids)) == len(ids)
    text = page()
    assert all(f"`{name}`" in text for name in ids)


def test_no_row_is_green_or_without_a_hint() -> None:
    for rule in ALL:
        assert rule.outcome not in {Outcome.PASSED, Outcome.SKIPPED}
        assert rule.cause is not Cause.NONE
        assert rule.hint
        assert rule.title
