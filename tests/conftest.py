"""``pytest -m fvp`` boots boards and nothing else, so it need not import the thousand unit tests to find that out."""

from __future__ import annotations

from pathlib import Path

import pytest

WITHOUT_BOARDS = (Path(__file__).parent / "unit", Path(__file__).parent / "acceptance")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.option.markexpr == "fvp" and collection_path in WITHOUT_BOARDS and not _named(collection_path, config):
        return True
    return None


def _named(folder: Path, config: pytest.Config) -> bool:
    """Whether the command line asks for something inside the folder."""
    return any(Path(arg.partition("::")[0]).resolve().is_relative_to(folder) for arg in config.args)
