"""The cache's limits: what was used longest ago goes, what is damaged is found, a shared cache is only read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from corstone.cli import main
from corstone.errors import ConfigError
from corstone.lowering import prune as limits
from corstone.lowering.cache import MANIFEST, Store

NOW = time.time()


def put(root: Path, key: str, *, age_s: float = 0, kind: str = "programs", data: bytes = bytes(1000)) -> Path:
    store = Store(root, kind)
    built = store.aside() / "entry"
    built.mkdir()
    (built / "program.pte").write_bytes(data)
    folder = store.publish(key, built)
    os.utime(folder / MANIFEST, (NOW - age_s, NOW - age_s))
    return folder


def test_the_entries_used_longest_ago_go_first_over_all_kinds(tmp_path: Path) -> None:
    old = put(tmp_path, "aa", age_s=9000)
    older = put(tmp_path, "bb", age_s=20000, kind="tosa")
    new = put(tmp_path, "cc", age_s=5000)
    size = sum(entry.size for entry in limits.entries(tmp_path))
    assert limits.prune(tmp_path, size, now=NOW) == []
    removed = limits.prune(tmp_path, size - 500, now=NOW)
    assert [entry.folder for entry in removed] == [older]
    assert [entry.folder for entry in limits.prune(tmp_path, 1500, now=NOW)] == [old]
    assert new.is_dir()


def test_reading_makes_an_entry_young(tmp_path: Path) -> None:
    used, unused = put(tmp_path, "aa", age_s=9000), put(tmp_path, "bb", age_s=8000)
    assert Store(tmp_path, "programs").get("aa") == used
    assert [entry.folder for entry in limits.prune(tmp_path, 1500, now=NOW)] == [unused]


def test_what_was_just_used_stays_whatever_the_limit(tmp_path: Path) -> None:
    folder = put(tmp_path, "aa", age_s=10)
    assert limits.prune(tmp_path, 0, now=NOW) == []
    assert limits.prune(tmp_path, 0, idle_s=0, now=NOW) != []
    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("12", 12), ("1k", 1024), ("1.5M", 3 << 19), ("4G", 4 << 30), (" 2 GiB ", 2 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    assert limits.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "4X", "1e9", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ConfigError, match="is no size"):
        limits.parse_size(text)


def test_a_shared_cache_is_read_and_neither_written_nor_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, own = tmp_path / "shared" / "lowering", tmp_path / "own"
    monkeypatch.setenv("CORSTONE_CACHE_SHARED", str(tmp_path / "shared"))
    theirs, spoilt = put(shared, "aa", age_s=9000), put(shared, "bb", age_s=9000)
    (spoilt / "program.pte").write_bytes(b"poison" + bytes(994))
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in shared.rglob("*")}
    store = Store(own, "programs")
    assert store.get("aa") == theirs
    assert store.get("bb") is None
    mine = put(own, "bb")
    assert store.get("bb") == mine
    (mine / "program.pte").write_bytes(b"poison" + bytes(994))
    assert store.get("bb") is None
    assert not mine.exists()
    assert before == {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in shared.rglob("*")}


def test_the_command_lists_prunes_and_finds_poison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path))
    root = tmp_path / "lowering"
    put(root, "aa" * 32, age_s=9000)
    bad = put(root, "bb" * 32, kind="tosa")
    assert main(["cache", "verify"]) == 0
    (bad / "program.pte").write_bytes(b"poison" + bytes(994))
    assert main(["cache", "verify", "--keep"]) == 1
    assert bad.is_dir()
    assert main(["cache", "verify"]) == 1
    assert not bad.exists()
    assert main(["cache", "verify"]) == 0
    capsys.readouterr()
    assert main(["cache", "list"]) == 0
    assert "programs: 1 entries" in capsys.readouterr().out
    assert main(["cache", "prune", "--size", "0"]) == 0
    assert "removed 1 entries" in capsys.readouterr().out
    assert main(["cache", "prune", "--size", "much"]) == 2
