"""A browser for the tests that look at pages, and where their screenshots go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance import chromium


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium, one for each module."""
    with chromium.browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of screenshots: ``CORSTONE_ARTIFACTS``, where they stay, else a temporary one."""
    named = os.environ.get("CORSTONE_ARTIFACTS")
    return Path(named) if named else tmp_path_factory.mktemp("shots")
