"""Pages of which a script writes the end: what people wrote above a mark stays."""

from __future__ import annotations

from pathlib import Path


def write_below(page: Path, mark: str, text: str) -> None:
    """Replace what is below ``mark`` (a line) by ``text``; a page that is not there or lacks the mark, as a whole.

    Raises
    ------
    OSError: the page cannot be written.
    """
    above, found, _ = (page.read_text() if page.is_file() else "").partition(mark)
    page.write_text(f"{above}{found}\n{text}" if found else text)
