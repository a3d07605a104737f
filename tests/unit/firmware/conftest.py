"""The runner's loader as a host process, one for the whole session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corstone.errors import ToolError
from corstone.firmware.host_loader import HostLoader, build_host


@pytest.fixture(scope="session")
def loader() -> Iterator[HostLoader]:
    try:
        executable = build_host()
    except ToolError as error:
        pytest.skip(f"no compiler for the host: {error.message}")
    with HostLoader(executable) as host:
        yield host
