"""Every report of a run in one folder, and records read back from one.

``report.html``, ``report.json``, ``junit.xml`` and ``summary.md``; each case's own files are in ``cases/<case id>/``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.report.record import CaseRecord


def write_folder(folder: Path, records: Sequence[CaseRecord], exit_status: int) -> Path:
    """Write all reports; returns the page to open.

    Raises
    ------
    ConfigError: the folder cannot be written.
    """
    from corstone.report.html_report import write_html
    from corstone.report.json_file import summary, write_json
    from corstone.report.junit import write_junit
    from corstone.report.markdown import write_markdown

    make_folder(folder)
    page = folder / "report.html"
    try:
        write_json(folder / "report.json", summary(records, exit_status))
        write_junit(folder / "junit.xml", records)
        write_markdown(folder / "summary.md", records)
        write_html(page, records)
    except OSError as error:
        raise not_writable(folder, error) from error
    return page


def make_folder(folder: Path) -> None:
    """Make a folder and see that a file can be written into it, before any work is done.

    Raises
    ------
    ConfigError: it cannot be, with the reason.
    """
    probe = folder / ".corstone-probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise not_writable(folder, error) from error


def not_writable(place: Path, error: OSError) -> ConfigError:
    """The error of a folder or file that cannot be written."""
    return ConfigError(
        f"cannot write to {place}: {error.strerror or error}",
        cause=Cause.NOT_WRITABLE,
        hint="name a folder you can write with --out",
    )


def load_records(places: Iterable[Path]) -> list[CaseRecord]:
    """Records of the given files and folders, in the order of their paths, each case once (the last one counts).

    A folder is searched for ``record.json`` and a file may also be a ``report.json`` of ours.

    Raises
    ------
    ConfigError: nothing there, or a file that is no record.
    """
    found: dict[str, CaseRecord] = {}
    for place in places:
        if not place.exists():
            raise ConfigError(f"there is no {place}", cause=Cause.BAD_INPUT)
        for file in sorted(place.rglob("record.json")) if place.is_dir() else [place]:
            for record in _records(file):
                found[record.case_id] = record
    if not found:
        raise ConfigError(
            "no case records found",
            cause=Cause.BAD_INPUT,
            hint="give the folder of a run (it has cases/*/record.json), or a report.json",
        )
    return list(found.values())


def _records(file: Path) -> list[CaseRecord]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        cases = data.get("cases", [data])
        return [CaseRecord.from_json(case) for case in cases]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{file} is no case record: {type(error).__name__}: {error}", cause=Cause.BAD_INPUT
        ) from error
