"""``scripts/bench`` offers every benchmark that the documentation quotes, and every file of benchmarks is reachable."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGES = [TOP / "README.md", TOP / "CHANGELOG.md", *sorted((TOP / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def offered() -> set[str]:
    done = subprocess.run(
        [sys.executable, str(TOP / "scripts" / "bench"), "--list"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return {line.split()[0] for line in done.stdout.splitlines()}


def test_what_the_documentation_quotes_is_there(offered: set[str]) -> None:
    quoted: set[str] = set()
    for page in PAGES:
        for words in re.findall(r"(?:`|^ {4})scripts/bench((?: (?!  )[a-z]+)*)", page.read_text(), re.MULTILINE):
            quoted |= set(words.split())
    assert quoted, "no page quotes a benchmark"
    assert quoted <= offered


def test_every_file_of_benchmarks_is_reachable(offered: set[str]) -> None:
    files = {path.stem.removeprefix("benchmarks_") for path in (TOP / "scripts" / "lib").glob("benchmarks_*.py")}
    assert files, "no file of benchmarks"
    assert files <= offered
