"""The cache's store: whole or not there, whoever writes at once, dies in the middle, or spoils it later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corstone.causes import Cause
from corstone.errors import ConfigError, ToolError
from corstone.lowering.cache import MANIFEST, Store, sweep, write_whole

KEY = "ab" * 32

WRITER = """
import os, sys
from pathlib import Path
from corstone.lowering.cache import Store
store = Store(Path(sys.argv[1]), "programs")
print("ready", flush=True)
for i in range(100000):
    built = store.aside() / "entry"
    built.mkdir()
    for n in range(20):
        (built / f"{n}.bin").write_bytes(bytes([i % 256]) * 5000)
    key = f"{i % 5:064x}"
    store.publish(key, built)
    if i % 3 == 0:
        store.discard(store.path(key))
"""

BUILDER = """
import sys, time
from pathlib import Path
from corstone.lowering.cache import Store
root = Path(sys.argv[1])
store = Store(root, "programs")
with store.locked("one", 60):
    if store.get("one" + "0" * 61) is None:
        with (root / "builds").open("a") as log:
            log.write("x")
        built = store.aside() / "entry"
        built.mkdir()
        (built / "program.pte").write_bytes(b"program" * 1000)
        time.sleep(0.2)
        store.publish("one" + "0" * 61, built)
assert (store.get("one" + "0" * 61) / "program.pte").stat().st_size == 7000
"""


def publish(store: Store, key: str = KEY, data: bytes = b"program") -> Path:
    built = store.aside() / "entry"
    built.mkdir()
    (built / "program.pte").write_bytes(data)
    return store.publish(key, built)


def start(script: str, root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script, str(root)], stdout=subprocess.PIPE)


def test_published_is_found_again(tmp_path: Path) -> None:
    store = Store(tmp_path, "programs")
    assert store.get(KEY) is None
    folder = publish(store)
    assert store.get(KEY) == folder == tmp_path / "programs" / "ab" / KEY
    assert (folder / "program.pte").read_bytes() == b"program"


@pytest.mark.parametrize("damage", ["changed", "cut", "gone", "manifest-cut", "manifest-gone", "manifest-other"])
def test_damage_is_found_and_the_entry_removed(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path, "programs")
    folder = publish(store)
    target = folder / (MANIFEST if damage.startswith("manifest") else "program.pte")
    match damage.removeprefix("manifest-"):
        case "changed":
            target.write_bytes(b"Program")
        case "cut":
            target.write_bytes(target.read_bytes()[:5])
        case "gone":
            target.unlink()
        case "other":
            target.write_text('{"files": []}')
    assert store.damage(folder) is not None
    assert store.get(KEY) is None
    assert not folder.exists()
    publish(store, data=b"again")
    assert store.get(KEY) is not None


def test_lazy_files_are_checked_by_size_and_thoroughly_on_request(tmp_path: Path) -> None:
    store = Store(tmp_path, "programs", lazy=frozenset({"program.pte"}))
    folder = publish(store)
    (folder / "program.pte").write_bytes(b"Program")
    assert store.get(KEY) == folder
    assert "sha256" in str(store.damage(folder, thorough=True))
    (folder / "program.pte").write_bytes(b"longer than it was")
    assert store.get(KEY) is None


def test_second_writer_of_a_key_keeps_the_first_entry(tmp_path: Path) -> None:
    store = Store(tmp_path, "programs")
    publish(store, data=b"first")
    folder = publish(store, data=b"second")
    assert (folder / "program.pte").read_bytes() == b"first"


def test_a_writer_replaces_a_damaged_entry(tmp_path: Path) -> None:
    store = Store(tmp_path, "programs")
    (publish(store) / "program.pte").write_bytes(b"Program")
    assert (publish(store, data=b"second") / "program.pte").read_bytes() == b"second"


def test_kill_9_in_the_middle_leaves_whole_entries_or_none(tmp_path: Path) -> None:
    store = Store(tmp_path, "programs")
    for round_ in range(8):
        with start(WRITER, tmp_path) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.03 + 0.017 * round_)
            writer.kill()
        for i in range(5):
            folder = store.path(f"{i:064x}")
            assert not folder.is_dir() or store.damage(folder, thorough=True) is None


def test_eight_processes_build_a_key_once(tmp_path: Path) -> None:
    processes = [start(BUILDER, tmp_path) for _ in range(8)]
    assert [p.wait(timeout=60) for p in processes] == [0] * 8
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
    assert (tmp_path / "builds").read_text() == "x"


def test_lock_of_a_killed_process_is_free_again(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom corstone.lowering.cache import Store\n"
        "with Store(Path(sys.argv[1]), 'programs').locked('k', 5):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    store = Store(tmp_path, "programs")
    with start(script, tmp_path) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(ToolError, match="holds the lock") as error, store.locked("k", 0.1):
            pass
        assert error.value.cause is Cause.COMPILE_TIMEOUT
        holder.send_signal(signal.SIGKILL)
    with store.locked("k", 5):
        pass


def test_a_cache_that_cannot_be_written_is_the_callers_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigError, match="cannot be written") as error:
        Store(tmp_path / "file" / "cache", "programs").aside()
    assert error.value.cause is Cause.NOT_WRITABLE
    assert "CORSTONE_CACHE" in error.value.hint


def test_sweep_takes_only_what_dead_processes_left_long_ago(tmp_path: Path) -> None:
    work = tmp_path / "tmp"
    work.mkdir()
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    old_dead, new_dead, old_alive = work / f"{int(dead.stdout)}-a", work / f"{int(dead.stdout)}-b", work / "1-c"
    for folder in (old_dead, new_dead, old_alive):
        folder.mkdir()
    for folder in (old_dead, old_alive):
        os.utime(folder, (0, 0))
    sweep(tmp_path, time.time())
    assert sorted(work.iterdir()) == sorted([new_dead, old_alive])


def test_write_whole_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "f.json", "one")
    write_whole(tmp_path / "a" / "f.json", "two")
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["f.json"]
    assert (tmp_path / "a" / "f.json").read_text() == "two"
