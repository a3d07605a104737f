"""The loader for the host is built where the home cannot be written, as in a container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corstone.firmware.host_loader import HostLoader, build_host

pytest.importorskip("ziglang", reason="ziglang builds the loader")


def test_zig_builds_the_loader_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", os.devnull)  # no folder: nothing can be made below it, not even by root
    monkeypatch.setenv("PATH", str(tmp_path))  # and no cc
    for name in ("XDG_CACHE_HOME", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    with HostLoader(build_host(tmp_path / "cache")) as loader:
        assert loader.run(b"no program at all").code != 0
