"""Pages that people and scripts write together."""

from __future__ import annotations

from pathlib import Path

from corstone.report.marked import write_below

MARK = "<!-- below: a script -->\n"


def test_what_people_wrote_above_the_mark_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{MARK}\nold table\n")
    for text in ("new\n", "newer\n"):
        write_below(page, MARK, text)
        assert page.read_text() == f"# Title\n\n{MARK}\n{text}"


def test_a_page_without_the_mark_is_the_scripts_own(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for text in ("first\n", "second\n"):
        write_below(page, MARK, text)
        assert page.read_text() == text
